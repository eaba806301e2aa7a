"""`python -m mirage_daemon [--cluster ADDRESS]`: the daemon process, as clients start it."""

import argparse
import sys

from mirage_daemon.lifecycle import main

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m mirage_daemon")
    parser.add_argument("--cluster", default="", help="the address of a Ray cluster that searches, or auto")
    sys.exit(main(cluster_address=parser.parse_args().cluster))
