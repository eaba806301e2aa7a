"""Which processes of this machine belong to a MIRAGE_HOME: the server and the daemon by their environment, the workers
(whose environment is made anew) by their descent."""

from __future__ import annotations

import os
from pathlib import Path

PROC = Path("/proc")


def _parents() -> dict[int, tuple[int, str]]:
    """Process -> (parent, state) of all that run."""
    found = {}
    for folder in PROC.iterdir():
        if folder.name.isdigit():
            try:
                state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
            except OSError:  # it ended meanwhile
                continue
            found[int(folder.name)] = (int(parent), state)
    return found


def of_home(home: Path) -> set[int]:
    """All processes of a home, this one left out."""
    parents = _parents()
    mark = b"MIRAGE_HOME=" + os.fsencode(home)
    found = set()
    for pid, (_, state) in parents.items():
        try:
            variables = (PROC / str(pid) / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if mark in variables and state not in "ZX":
            found.add(pid)
    found.discard(os.getpid())
    while more := {p for p, (parent, _) in parents.items() if parent in found} - found:
        found |= more
    return found


def alive(pids: set[int]) -> set[int]:
    """Those that still run."""
    parents = _parents()
    return {p for p in pids if p in parents and parents[p][1] not in "ZX"}
