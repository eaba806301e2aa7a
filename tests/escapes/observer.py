"""Watches from outside while an attempt runs: its processes by their name, their memory and files, and who can be reached."""

from __future__ import annotations

import ctypes
import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

from .arena import Arena
from .attempt import WitnessName
from .listeners import served
from .victim import read

INTERVAL = 0.03
# How long after its job's end a process of an attempt may still be there: a kill takes effect when it is scheduled.
GRACE = 0.6
libc = ctypes.CDLL(None, use_errno=True)
ADD_KEY, KEYCTL, KEYCTL_UNLINK, USER_KEYRING, SIGQUEUE = 248, 250, 9, -4, 129
F_GETPIPE_SZ = 1032


def processes() -> Iterator[int]:
    return (int(name) for name in os.listdir("/proc") if name.isdigit())


def marked(token: str, letter: str = "") -> list[int]:
    """The processes that an attempt has named, zombies left out."""
    name, found = token + letter, []
    for pid in processes():
        stated = read(f"/proc/{pid}/stat")
        end = stated.rfind(")")
        if end < 0 or stated[end + 2 : end + 3] in "ZX":
            continue
        if name in stated[:end] or name in read(f"/proc/{pid}/cmdline"):
            found.append(pid)
    return found


def memory(pids: list[int]) -> int:
    """Bytes of anonymous and shared memory that these processes hold, shared pages and files in memory counted once."""
    anonymous = shared = 0
    for pid in pids:
        for line in read(f"/proc/{pid}/smaps_rollup").splitlines():
            name, _, rest = line.partition(":")
            if name in ("Pss_Anon", "Private_Hugetlb", "SwapPss"):
                anonymous += int(rest.split()[0]) * 1024
            elif name == "Pss_Shmem":
                shared += int(rest.split()[0]) * 1024
    return anonymous + max(shared, sum(blocks(pids, volatile_only=True).values()))


def blocks(pids: list[int], volatile_only: bool = False) -> dict[tuple[int, int], int]:
    """Bytes of the attempt's files by (device, inode): those that its processes hold open, and those in their folders."""
    found = {}
    for pid in pids:
        for s in (*opened(pid), *(s for _, s in own_files(pid))):
            volatile = os.major(s.st_dev) == 0 and s.st_dev != os.stat("/").st_dev
            if stat.S_ISREG(s.st_mode) and (volatile or not volatile_only):
                found[s.st_dev, s.st_ino] = s.st_blocks * 512
    return found


def opened(pid: int) -> Iterator[os.stat_result]:
    """What a process has open for writing."""
    try:
        names = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return
    for name in names:
        flags = [
            line.split()[1] for line in read(f"/proc/{pid}/fdinfo/{name}").splitlines() if line.startswith("flags")
        ]
        try:
            if flags and int(flags[0], 8) & 3:
                yield os.stat(f"/proc/{pid}/fd/{name}")
        except OSError:
            continue


def own_files(pid: int) -> Iterator[tuple[str, os.stat_result]]:
    """The entries of a process's working folder, and of its shared memory, that bear its attempt's name."""
    name = read(f"/proc/{pid}/stat").partition("(")[2][:11]
    for folder in (f"/proc/{pid}/cwd", f"/proc/{pid}/root" + "/dev/shm"):
        try:
            with os.scandir(folder) as entries:
                yield from ((e.path, e.stat(follow_symlinks=False)) for e in entries if e.name.startswith(name))
        except OSError:
            continue


def starved() -> str | None:
    """Something that this user can have no more of, because an attempt holds all of it."""
    probe = b"probe%d" % os.getpid()  # not the attempt's name: a key is listed for a while after it was unlinked
    watch = libc.inotify_init()
    if watch < 0:
        return "no inotify instance is left"
    os.close(watch)
    near, far = os.pipe()
    with open(near, "rb"), open(far, "wb"):
        if libc.fcntl(near, F_GETPIPE_SZ) < 65536:
            return "a new pipe holds less than usual"
    queue = libc.mq_open(b"/" + probe, os.O_RDWR | os.O_CREAT, 0o600, None)
    if queue < 0:
        return "no message queue can be made"
    os.close(queue)
    libc.mq_unlink(b"/" + probe)
    key = libc.syscall(ADD_KEY, b"user", probe, b"1", 1, ctypes.c_int(USER_KEYRING))
    if key < 0:
        return "no key can be added"
    libc.syscall(KEYCTL, KEYCTL_UNLINK, ctypes.c_int(key), ctypes.c_int(USER_KEYRING))
    return None


def resident() -> int:
    """Bytes that this process holds now."""
    return int(read("/proc/self/statm").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def baseline_starved() -> bool:
    """Was something used up before the attempt began? Then nothing is to be said about it."""
    return starved() is not None


class Observer:
    """A thread that samples what the named witness needs until it is stopped. The largest values that it saw are kept."""

    def __init__(self, arena: Arena, witness: WitnessName) -> None:
        self.arena, self.witness = arena, witness
        self.memory = self.disk = self.inodes = self.processes = 0
        self.victim: dict[str, str] = {}
        self.setuid: set[str] = set()
        self.folders: set[str] = set()
        self.served = b""
        self.starved: str | None = None
        self.first_victim = arena.victim.seen()
        self.first_resident = self.resident = resident()
        self.known = witness == "starved" and baseline_starved()
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)

    def __enter__(self) -> Observer:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopped.set()
        self.thread.join()
        self.sample()

    def watch(self) -> None:
        while not self.stopped.wait(INTERVAL):
            self.sample()

    def sample(self) -> None:
        self.arena.listeners.serve()
        name = self.arena.activity / f"n{self.arena.secret}"
        if name.exists():
            name.unlink()
        else:
            name.touch()
        seen = self.arena.victim.seen()
        self.victim |= {k: v for k, v in seen.items() if self.first_victim.get(k) != v and k not in self.victim}
        if self.witness == "served":
            self.served += served(self.arena.port, f"{self.arena.token}serve")
        elif self.witness == "swollen":
            self.resident = max(self.resident, resident())
        elif self.witness == "starved" and not self.known:
            self.starved = self.starved or starved()
        elif self.witness in ("memory", "disk", "inodes", "processes", "setuid", "left"):
            self.sample_processes()

    def sample_processes(self) -> None:
        pids = marked(self.arena.token)
        if self.witness == "memory":
            self.memory = max(self.memory, memory(pids))
        elif self.witness == "disk":
            self.disk = max(self.disk, sum(blocks(pids).values()))
        elif self.witness == "processes":
            threads = (len(os.listdir(f"/proc/{p}/task")) for p in pids if Path(f"/proc/{p}/task").exists())
            self.processes = max(self.processes, sum(threads))
        elif self.witness == "inodes":
            counts = [sum(1 for _ in own_files(p)) for p in pids]
            self.inodes = max([self.inodes, *counts])
        else:
            for pid in pids:
                self.setuid |= {path for path, s in own_files(pid) if s.st_mode & 0o6000}
                folder = f"/proc/{pid}/cwd"
                if os.path.islink(folder) and os.access(folder, os.F_OK):
                    self.folders.add(os.readlink(folder))
