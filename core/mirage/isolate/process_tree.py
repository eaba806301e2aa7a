"""The processes below one: who they are, what memory they hold, and their end. Imports the standard library alone."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass

_ROUNDS = 100  # a process that forks as fast as it is killed is met again; each round stops all that exist
_PAUSE_S = 0.005
EACH_FILE = 1 << 13  # bytes that a file counts for at least: an empty one takes room as well


@dataclass(frozen=True)
class Process:
    pid: int
    parent: int
    state: str
    threads: int


def processes() -> list[Process]:
    """All that /proc shows; none on a system without it."""
    found = []
    try:
        names = os.listdir("/proc")
    except FileNotFoundError:
        return []
    for name in names:
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
            except OSError:  # it ended meanwhile
                continue
            found.append(Process(int(name), int(fields[1]), fields[0].decode(), int(fields[17])))
    return found


def below(top: int, *, all_of: list[Process] | None = None) -> list[Process]:
    """The descendants of `top` that still run."""
    rows = processes() if all_of is None else all_of
    children: dict[int, list[Process]] = {}
    for row in rows:
        children.setdefault(row.parent, []).append(row)
    found, waiting = [], [top]
    while waiting:
        more = children.get(waiting.pop(), [])
        found += [p for p in more if p.state not in "ZX"]
        waiting += [p.pid for p in more]
    return found


def kill_below(top: int) -> bool:
    """SIGKILL to all descendants of `top`, until there are none. Whether there are none."""
    for _ in range(_ROUNDS):
        found = below(top)
        if not found:
            return True
        for number in (signal.SIGSTOP, signal.SIGKILL):  # first none can fork any more
            for process in found:
                try:
                    os.kill(process.pid, number)
                except (ProcessLookupError, PermissionError):
                    continue
        time.sleep(_PAUSE_S)
    return not below(top)


def memory(pids: list[int]) -> tuple[int, int]:
    """(private, shared) bytes that they hold: anonymous pages, and pages of shared memory; files in memory that nobody mapped
    count as shared."""
    private = mapped = 0
    unmapped: dict[int, int] = {}
    for pid in pids:
        try:
            with open(f"/proc/{pid}/status", "rb") as file:
                for line in file:
                    if line.startswith((b"RssAnon:", b"VmSwap:")):
                        private += int(line.split()[1]) << 10
                    elif line.startswith(b"RssShmem:"):
                        mapped += int(line.split()[1]) << 10
            unmapped |= _memory_files(pid)
        except OSError:  # it ended meanwhile
            continue
    return private, max(mapped, sum(unmapped.values()))


def _memory_files(pid: int) -> dict[int, int]:
    """Inode -> bytes of the files that have no name anywhere (memfd_create) and are open in it."""
    found, folder = {}, f"/proc/{pid}/fd"
    for name in os.listdir(folder):
        try:
            if os.readlink(f"{folder}/{name}").startswith("/memfd:"):
                facts = os.stat(f"{folder}/{name}")
                found[facts.st_ino] = facts.st_blocks * 512
        except OSError:  # closed meanwhile
            continue
    return found


def nameless_files(pids: list[int], device: int) -> int:
    """Bytes on disk, on that device, of the files that are open in these processes and have no name any more."""
    found: dict[int, int] = {}
    for pid in pids:
        try:
            with os.scandir(f"/proc/{pid}/fd") as entries:
                facts = [os.stat(e.path) for e in entries if os.readlink(e.path).endswith(" (deleted)")]
        except OSError:  # it ended, or closed one, meanwhile
            continue
        found |= {f.st_ino: f.st_blocks * 512 for f in facts if f.st_nlink == 0 and f.st_dev == device}
    return sum(found.values())


def size_of(folder: str) -> int:
    """Bytes on disk below a folder."""
    total = 0
    for at, folders, names in os.walk(folder):
        for name in (*folders, *names):
            try:
                total += max(EACH_FILE, os.lstat(os.path.join(at, name)).st_blocks * 512)
            except OSError:  # removed meanwhile
                continue
    return total
