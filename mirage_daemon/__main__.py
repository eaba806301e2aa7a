"""`python -m mirage_daemon`: what clients start."""

import sys

from mirage_daemon.lifecycle import main

if __name__ == "__main__":
    sys.exit(main())
