"""A program that tries each wall from inside: `python -I -S wall_trials.py FILE PROCESS SHARED PORT` prints what held, as JSON.

FILE lies outside and may not be read or changed, PROCESS may not be signalled or looked at, SHARED is a file in the shared memory of the
machine, at PORT of this machine somebody listens. Imports the standard library alone.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import socket
import sys
from collections.abc import Callable


def _refused(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except OSError:
        return True
    return False


def _traced() -> None:
    if (
        ctypes.CDLL(None, use_errno=True).ptrace(0, 0, 0, 0) < 0
    ):  # PTRACE_TRACEME: of this process itself, so that it is always possible
        raise OSError(ctypes.get_errno(), "ptrace")


def _read(path: str) -> None:
    with open(path, "rb"):
        return


def _change(path: str) -> None:
    with open(path, "r+b") as file:
        file.write(b"x")


def _status(field: str) -> int:
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1], 16) for line in status if line.startswith(field))


def trials(outside: str, process: int, shared: str, port: int) -> dict[str, bool]:
    """What held, by name."""
    return {
        "filesystem": _refused(lambda: _read(outside)) and _refused(lambda: _change(outside)),
        "calls": _refused(_traced),
        "network": _refused(lambda: socket.create_connection(("127.0.0.1", port), timeout=2).close()),
        "signals": _refused(lambda: os.kill(process, 0)),
        "other_processes": not os.path.exists(f"/proc/{process}"),
        "shared_memory": not shared or not os.path.exists(shared),
        "no_new_privileges": _status("NoNewPrivs:") == 1,
        "no_capabilities": _status("CapPrm:") == 0 and _status("CapBnd:") == 0,
        "memory": resource.getrlimit(resource.RLIMIT_DATA)[0] != resource.RLIM_INFINITY,
        "file_size": resource.getrlimit(resource.RLIMIT_FSIZE)[0] != resource.RLIM_INFINITY,
    }


if __name__ == "__main__":
    print(json.dumps(trials(sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))))
