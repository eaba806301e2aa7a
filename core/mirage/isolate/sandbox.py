"""The sandbox of a worker: it reads the files that Python and torch need, writes its private folder, and reaches nobody.

A worker holds no file of its user's that it did not bring along: it gets the function's text by its pipe.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from mirage.isolate import landlock, seccomp

LOCKS = "MIRAGE_LOCKS"  # the environment's name for the folder of the GPUs' locks
# what an installed system consists of; none of them holds a user's own files
_SYSTEM = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/etc",
    "/opt",
    "/proc",
    "/sys",
    "/nix/store",
    "/gnu/store",
)
# /dev/shm: semaphores between processes lie there
_DEVICES = ("/dev",)
# CUDA names its threads, and does not start where it may not: the threads of this process alone, since a rule is about a
# folder that is there (landlock(7)). Held open: the kernel forgets the folder, and with it the rule, once nobody knows it
_THREADS = "/proc/self/task"
_held: list[int] = []


def _read() -> Iterator[str]:
    """Folders of the interpreter and of every package that it can import."""
    yield from _SYSTEM
    yield from (sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix)
    yield from filter(None, sysconfig.get_paths().values())
    yield from filter(os.path.isabs, sys.path)
    yield str(Path(__file__).resolve().parent.parent)
    yield from (sys.executable, os.path.realpath(sys.executable))


def _broad(path: str) -> bool:
    """Whether a folder is too much to open for reading because an interpreter lies in it: the root, a home."""
    real = os.path.realpath(path)
    return real in ("/", "/home", "/root", "/tmp", "/var", "/mnt", "/srv") or real == os.path.realpath(Path.home())


def enter(folder: str, *, unix: bool = False) -> dict[str, bool]:
    """Restrict this process and its children, for good; `folder` is the private one, `unix` leaves what a GPU's worker needs:
    sockets of this machine, and for this process alone the names of its threads. Gives what holds."""
    rules = [(path, landlock.READ) for path in dict.fromkeys(_read()) if not _broad(path)]
    rules += [(path, landlock.DEVICE) for path in _DEVICES]
    rules += [("/dev/shm", landlock.EVERYTHING), (folder, landlock.EVERYTHING)]
    if os.environ.get(LOCKS):
        rules.append((os.environ[LOCKS], landlock.LOCKS))
    if unix and os.path.isdir(_THREADS):
        _held.append(os.open(_THREADS, os.O_PATH | os.O_CLOEXEC))
        rules.append((_THREADS, landlock.THREADS))
    files = landlock.restrict(rules)
    network = seccomp.restrict(unix=unix)
    return {"filesystem": files > 0, "signals": files >= 6, "network": network}


def report() -> dict[str, bool]:
    """What `enter` gives on this machine, without entering."""
    files = landlock.version()
    return {"filesystem": files > 0, "signals": files >= 6, "network": seccomp.supported()}
