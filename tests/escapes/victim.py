"""A process with a secret in its memory, environment, arguments and files, and what can be seen of it from outside."""

from __future__ import annotations

import ctypes
import os
import resource
import select
import signal
import subprocess
from pathlib import Path

PROGRAM = """
import ctypes, os, signal, sys
secret, path = sys.argv[1], sys.argv[2]
cell = ctypes.create_string_buffer(secret.encode(), 64)
held = os.open(path, os.O_RDWR)
seen = []
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGIO, signal.SIGURG):
    signal.signal(number, lambda number, frame: seen.append(int(number)))
print(ctypes.addressof(cell), held, flush=True)
for line in sys.stdin:
    print(cell.raw.hex(), *seen, flush=True)
"""
IOPRIO_GET = 252
libc = ctypes.CDLL(None, use_errno=True)


def read(path: str) -> str:
    """What a file of /proc says, or why it says nothing."""
    try:
        return Path(path).read_text("utf-8", "replace").strip()
    except OSError as error:
        return f"errno {error.errno}"


def state(pid: int) -> str:
    """The letter of a process's state (R, S, T, t, Z ...), or X if there is none."""
    line = read(f"/proc/{pid}/stat")
    return line.rpartition(")")[2].split()[0] if ")" in line else "X"


class Victim:
    """A process of the same user that no attempt may touch. `cell` is the address of its secret, `fd` a file that it holds."""

    def __init__(self, python: str, secret: str, path: Path) -> None:
        self.process = subprocess.Popen(
            [python, "-IS", "-c", PROGRAM, secret, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"VICTIM_SECRET": secret},
            text=True,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        first = self.process.stdout.readline().split()
        self.pid, self.cell, self.fd = self.process.pid, int(first[0]), int(first[1])

    def answer(self) -> str:
        """Its memory cell and the signals that came, or that it does not answer."""
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            self.process.stdin.write("\n")
            self.process.stdin.flush()
        except OSError:
            return "gone"
        ready, _, _ = select.select([self.process.stdout], [], [], 1.0)
        return self.process.stdout.readline().strip() if ready else "silent"

    def seen(self) -> dict[str, str]:
        """What can be seen of it while it runs: nothing that its own work changes."""
        try:
            return self.attributes()
        except ProcessLookupError:
            return {"state": "X"}

    def attributes(self) -> dict[str, str]:
        pid = self.pid
        letter = state(pid)
        found = {"state": letter if letter in "TtXZ" else "alive"}
        if found["state"] in "XZ":
            return found
        tracer = [s.split()[1] for s in read(f"/proc/{pid}/status").splitlines() if s.startswith("TracerPid")]
        limits = {name: resource.prlimit(pid, number) for name, number in LIMITS.items()}
        found |= {
            "traced by": tracer[0] if tracer else "?",
            "nice": str(os.getpriority(os.PRIO_PROCESS, pid)),
            "io priority": str(libc.syscall(IOPRIO_GET, 1, pid)),
            "scheduler": f"{os.sched_getscheduler(pid)} {os.sched_getparam(pid)} {sorted(os.sched_getaffinity(pid))}",
            "limits": str(limits),
            "oom_score_adj": read(f"/proc/{pid}/oom_score_adj"),
            "core filter": read(f"/proc/{pid}/coredump_filter"),
            "autogroup": read(f"/proc/{pid}/autogroup"),
            "timer slack": read(f"/proc/{pid}/timerslack_ns"),
            "cgroup": read(f"/proc/{pid}/cgroup"),
            "group": f"{os.getpgid(pid)} {os.getsid(pid)}",
        }
        return found

    def full(self) -> dict[str, str]:
        """`seen`, with what it says itself: asked only when nothing else is measured."""
        found = self.seen()
        return found | {"answer": self.answer()} if found["state"] == "alive" else found

    def end(self) -> None:
        if self.process.poll() is None:
            os.kill(self.pid, signal.SIGKILL)
            self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None and not stream.closed:
                try:
                    stream.close()
                except BrokenPipeError:
                    continue  # what was still to be written to a dead process


LIMITS = {name: getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")}
