"""`python -m mirage_daemon`: the daemon process, as clients start it."""

import sys

from mirage_daemon.lifecycle import main

if __name__ == "__main__":
    sys.exit(main())
