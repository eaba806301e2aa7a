"""The worker task `selftest`: faults of a worker on demand, for the tests of whatever runs workers."""

from __future__ import annotations

import ctypes
import mmap
import os
import resource
import signal
import subprocess
import sys
import time

from mirage.errors import TraceFailed
from mirage.isolate import gpu_trial
from mirage.isolate.confinement import DEFAULT_MEMORY
from mirage.isolate.runner import Worker
from mirage.isolate.task_table import Emit, Task, Value


def _echo(payload: Value, emit: Emit) -> Value:
    return {"value": payload.get("value")}


def _sleep(payload: Value, emit: Emit) -> Value:
    if payload.get("ignore_terminate"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(float(payload["seconds"]))
    return {}


def _events(payload: Value, emit: Emit) -> Value:
    for i in range(int(payload["count"])):
        emit({"step": i})
    return {"count": payload["count"]}


def _crash(payload: Value, emit: Emit) -> Value:
    print("last words", file=sys.stderr, flush=True)
    os.kill(os.getpid(), int(payload.get("signal", signal.SIGSEGV)))
    return {}


def _leave(payload: Value, emit: Emit) -> Value:
    os._exit(int(payload.get("status", 0)))


def _print(payload: Value, emit: Emit) -> Value:
    """Write `bytes` bytes on file descriptors 1 and 2, past Python's own objects."""
    left = int(payload["bytes"])
    block = b"x" * 65536
    while left > 0:
        part = block[: min(left, len(block))]
        os.write(1, part)
        os.write(2, part)
        left -= len(part)
    return {}


def _allocate(payload: Value, emit: Emit) -> Value:
    return {"size": len(bytearray(int(payload["bytes"])))}


def _fork(payload: Value, emit: Emit) -> Value:
    """Start `count` sleepers, each in a session of its own, and give their process ids; none is waited for."""
    command = [sys.executable, "-c", "import time; time.sleep(600)"]
    pids = [subprocess.Popen(command, start_new_session=True).pid for _ in range(int(payload["count"]))]
    if payload.get("then_sleep"):
        emit({"pids": pids})
        time.sleep(600)
    return {"pids": pids}


def _fork_bare(payload: Value, emit: Emit) -> Value:
    """As `_fork`, each with an empty environment, its parent gone, and no descriptor of this process."""
    for _ in range(int(payload["count"])):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.closerange(0, 100)
                os.execve("/bin/sleep", ["sleep", "600"], {})
            os._exit(0)
        os.wait()
    return {}


def _bomb(payload: Value, emit: Emit) -> Value:
    """2**`depth` processes, each in a session of its own and deaf to SIGTERM, then end without an answer."""
    parent = os.getpid()
    for _ in range(int(payload["depth"])):
        if os.fork() == 0:
            os.setsid()
    if os.getpid() == parent:
        os._exit(1)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(600)
    os._exit(0)


def _hold(payload: Value, emit: Emit) -> Value:
    """Hold `bytes` in the form `kind` for `seconds`: memory that is shared, a file that has no name, three children, a file."""
    size, kind, part = int(payload["bytes"]), payload["kind"], b"x" * (1 << 20)
    if kind == "shared":
        held = mmap.mmap(-1, size)
        for at in range(0, size, len(part)):
            held[at : at + len(part)] = part
    elif kind == "children":
        for _ in range(3):
            if os.fork() == 0:
                kept = bytearray(part) * (size // 3 // len(part))
                time.sleep(float(payload["seconds"]))
                os._exit(len(kept) == 0)
    else:
        file = os.memfd_create("held") if kind == "memfd" else os.open("held", os.O_CREAT | os.O_RDWR, 0o600)
        for _ in range(size // len(part)):
            os.write(file, part)
    time.sleep(float(payload["seconds"]))
    return {"held": size}


def _reserve(payload: Value, emit: Emit) -> Value:
    """Whether `bytes` can be reserved beyond the end of a file in its folder, without writing to it."""
    file = os.open("reserved", os.O_CREAT | os.O_RDWR, 0o600)
    keep_size = 1
    ctypes.CDLL(None).fallocate(file, keep_size, ctypes.c_long(0), ctypes.c_long(int(payload["bytes"])))
    return {"reserved": os.fstat(file).st_blocks > 0}


def _nested(payload: Value, emit: Emit) -> Value:
    """A worker of this worker, of `memory` bytes if that is given, which says who it is and sleeps."""
    with Worker(memory_bytes=int(payload.get("memory", DEFAULT_MEMORY))) as inner:
        emit(inner.call("selftest", {"action": "facts"}, timeout_s=60))
        return inner.call("selftest", {"action": "sleep", "seconds": payload["seconds"]}, timeout_s=600)


def _driver(payload: Value, emit: Emit) -> Value:
    """Whether `driver` starts in a worker of this worker."""
    return {"starts": gpu_trial.starts(tuple(payload["walls"]), payload["driver"], payload["program"])}


def _error(payload: Value, emit: Emit) -> Value:
    raise TraceFailed("asked for", next_step="nothing to do", path="selftest.py", line=7)


def _raise(payload: Value, emit: Emit) -> Value:
    raise RuntimeError(str(payload.get("message", "asked for")))


def _facts(payload: Value, emit: Emit) -> Value:
    with open("/proc/self/status", encoding="utf-8") as status:
        found = dict(line.split()[:2] for line in status if line.startswith(("NoNewPrivs:", "Seccomp:")))
    return {
        "pid": os.getpid(),
        "cwd": os.getcwd(),
        "environment": dict(os.environ),
        "path": list(sys.path),
        "executable": sys.executable,
        "no_new_privileges": found.get("NoNewPrivs:") == "1",
        "seccomp": found.get("Seccomp:") == "2",
        "data_limit": resource.getrlimit(resource.RLIMIT_DATA)[0],
        "file_limit": resource.getrlimit(resource.RLIMIT_FSIZE)[0],
        "descriptors": sorted(int(n) for n in os.listdir("/proc/self/fd")),
    }


_changes: list[int] = []


def _change(payload: Value, emit: Emit) -> Value:
    """Change this process's memory; the answer says how often that was done in it."""
    _changes.append(1)
    return {"changes": len(_changes)}


def _not_data(payload: Value, emit: Emit) -> Value:
    return {"value": object()}


def _forge(payload: Value, emit: Emit) -> Value:
    """Write `bytes` straight to every open channel, as generated code might."""
    for name in os.listdir("/proc/self/fd"):
        descriptor = int(name)
        try:
            if descriptor > 2 and "socket:" in os.readlink(f"/proc/self/fd/{name}"):
                os.write(descriptor, payload["bytes"])
        except OSError:  # the reading end, or the listing's own descriptor: not what we are after
            continue
    return {}


def _run(payload: Value, emit: Emit) -> Value:
    """Run `text`, as a module's; gives what it calls `values`."""
    space: dict[str, object] = {"__name__": "module"}
    exec(compile(str(payload["text"]), "module", "exec"), space)
    return {"values": space.get("values")}


ACTIONS: dict[str, Task] = {
    "echo": _echo,
    "sleep": _sleep,
    "events": _events,
    "crash": _crash,
    "leave": _leave,
    "print": _print,
    "allocate": _allocate,
    "fork": _fork,
    "fork_bare": _fork_bare,
    "bomb": _bomb,
    "hold": _hold,
    "reserve": _reserve,
    "nested": _nested,
    "driver": _driver,
    "error": _error,
    "raise": _raise,
    "facts": _facts,
    "change": _change,
    "not_data": _not_data,
    "forge": _forge,
    "run": _run,
}


def selftest_task(payload: Value, emit: Emit) -> Value:
    """Do `payload["action"]`, one of ACTIONS."""
    return ACTIONS[str(payload["action"])](payload, emit)
