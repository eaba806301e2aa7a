"""Landlock file access rules: this process and its children read only some paths and write fewer (Linux 5.13 or newer).

The kernel's interface, not a library: https://docs.kernel.org/userspace-api/landlock.html. A rule allows; what no rule names
is refused. What the kernel does not know yet is left out, and the caller is told the version that it got.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterable

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same on every architecture
_PATH_BENEATH = 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _MAKE_REG, _TRUNCATE = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 8, 1 << 14
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE  # the rest is about folders
READ = _EXECUTE | _READ_FILE | _READ_DIR
DEVICE = _READ_FILE | _WRITE_FILE | _READ_DIR
THREADS = DEVICE | _TRUNCATE  # files in /proc are ordinary ones
LOCKS = _READ_FILE | _WRITE_FILE | _READ_DIR | _MAKE_REG  # made and opened, never removed or renamed
EVERYTHING = (1 << 15) - 1  # reading, writing, making, removing, renaming; not the control of devices, which CUDA is
_TCP = 0b11  # bind, connect
_SCOPES = 0b11  # abstract sockets and signals stay within the sandbox
_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1}  # those that each version of the interface knows


def version() -> int:
    """The kernel's version of the interface; 0 where there is none."""
    if not sys.platform.startswith("linux"):
        return 0
    return max(0, int(_libc().syscall(_CREATE, None, ctypes.c_size_t(0), 1)))


def restrict(rules: Iterable[tuple[str, int]]) -> int:
    """Allow each path (and what lies below it) its rights, nothing else, for good; a path that is not there is skipped. Needs
    no_new_privs. Gives the version that holds, 0 for none: then nothing is restricted."""
    known = version()
    if not known:
        return 0
    libc = _libc()
    handled = _RIGHTS[min(known, 3)]
    attributes = struct.pack("=QQQ", handled, _TCP if known >= 4 else 0, _SCOPES if known >= 6 else 0)
    size = 8 if known < 4 else 16 if known < 6 else 24
    ruleset = int(libc.syscall(_CREATE, attributes, ctypes.c_size_t(size), 0))
    if ruleset < 0:
        return 0
    try:
        for path, rights in rules:
            _allow(libc, ruleset, path, rights & handled)
        return known if libc.syscall(_RESTRICT, ruleset, 0) == 0 else 0
    finally:
        os.close(ruleset)


def _allow(libc: ctypes.CDLL, ruleset: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not os.path.isdir(path):
            rights &= _OF_FILES
        libc.syscall(_ADD, ruleset, _PATH_BENEATH, struct.pack("=Qi", rights, place), 0)
    finally:
        os.close(place)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
