"""One thread at a time makes syntax trees: CPython before 3.11.8 and 3.12.2 counts the depth of a tree for all threads together, and
raises SystemError ("AST constructor recursion depth mismatch") where two are made at once (gh-106905 of CPython)."""

from __future__ import annotations

from threading import RLock

PARSING = RLock()  # held by whoever parses in a process of several threads
