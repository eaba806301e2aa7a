"""Limits on memory, files, processes and CPU time, which a worker sets on itself before anything else runs.

Memory is RLIMIT_DATA (private writable memory): RLIMIT_AS would also count the address space that CUDA and the
allocator reserve and never touch. Processes are counted by user, so that limit is "as many as there are now, and a
few more".
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
from pathlib import Path

from mirage.isolate import sandbox

DEFAULT_MEMORY = 12 << 30  # bytes
MAX_FILE = 1 << 30  # bytes of one file
MORE_PROCESSES = 512  # beyond those that exist when the worker starts
_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38


def _lower(kind: int, value: int) -> bool:
    """Set soft and hard limit to `value`, or leave a smaller hard limit in force. Whether the kernel has this limit."""
    _, hard = resource.getrlimit(kind)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    try:
        resource.setrlimit(kind, (value, value))
    except (ValueError, OSError):
        return False
    return True


def _tasks_on_machine() -> int | None:
    """Threads on the whole machine (an upper bound of this user's), None where the kernel does not say."""
    try:
        return int(Path("/proc/loadavg").read_text().split()[3].split("/")[1])
    except (OSError, ValueError, IndexError):
        return None


def apply(memory_bytes: int, cpu_seconds: int | None) -> dict[str, bool]:
    """Limit this process and its children. Gives which limits hold; call once, first thing in a worker."""
    held = {
        "memory": _lower(resource.RLIMIT_DATA, memory_bytes) and sys.platform.startswith("linux"),
        "file_size": _lower(resource.RLIMIT_FSIZE, MAX_FILE),
        "no_core": _lower(resource.RLIMIT_CORE, 0),
        "cpu": cpu_seconds is not None and _lower(resource.RLIMIT_CPU, cpu_seconds),
    }
    existing = _tasks_on_machine()
    counted = existing is not None and os.geteuid() != 0  # the superuser's processes are not counted
    held["processes"] = counted and _lower(resource.RLIMIT_NPROC, (existing or 0) + MORE_PROCESSES)
    held.update(_prctl())
    return held


def _prctl() -> dict[str, bool]:
    if not sys.platform.startswith("linux"):
        return {"no_new_privileges": False, "dies_with_parent": False}
    libc = ctypes.CDLL(None, use_errno=True)
    return {
        "no_new_privileges": libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0,
        "dies_with_parent": libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0) == 0,
    }


def sandbox_report() -> dict[str, bool]:
    """What holds for workers on this machine, for `status`: names of the limits, and what stays open."""
    linux = sys.platform.startswith("linux")
    return {
        "no_new_privileges": linux,
        "dies_with_parent": linux,
        "memory": linux,
        "file_size": True,
        "processes": linux and os.geteuid() != 0,
        "private_folder": True,
        **sandbox.report(),
    }
