"""The process above a worker: it reaps what the worker leaves, counts what all of them hold together, and ends with it.

Imports the standard library and its neighbours alone.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

from mirage.isolate import private_view, process_tree
from mirage.isolate.launch_order import LaunchOrder, ProcessLimits

EVERY_S = 0.1  # how often memory, processes and the private folder are looked at
NEAR_S = 0.02  # how often, once a part of what may be taken is
NEAR_MEMORY, NEAR_DISK, NEAR_TASKS = (
    2,
    4,
    8,
)  # that part, one in so many; a process starts many threads between two looks
MEANWHILE = 16  # a part of the memory, one in so many, is left for what is taken between two looks
MEANWHILE_DISK = 4  # of the folder on disk, which is written to at the speed of memory
FOLDER_SHARE = 50  # of the time, one part in so many at most is spent on walks through a folder on disk


@dataclass(frozen=True)
class HeldResources:
    """Bytes of memory, bytes on disk, threads: of all processes below one together."""

    memory: int
    disk: int
    tasks: int

    def over(self, bounds: ProcessLimits) -> str:
        """What is beyond its bound, in words; "" while nothing is."""
        if self.memory > bounds.total - bounds.total // MEANWHILE:
            return f"its processes reached their limit of {bounds.total >> 20} MiB of memory together"
        if self.disk > bounds.disk - bounds.disk // MEANWHILE_DISK:
            return f"its folder took {self.disk >> 20} MiB: too near the limit of {bounds.disk >> 20}"
        if self.tasks > bounds.tasks:
            return f"it had {self.tasks} processes and threads, over the limit of {bounds.tasks}"
        return ""

    def near(self, bounds: ProcessLimits) -> bool:
        """Whether so much of something is taken that the next look has to come soon."""
        return (
            self.memory > bounds.total // NEAR_MEMORY
            or self.disk > bounds.disk // NEAR_DISK
            or self.tasks > bounds.tasks // NEAR_TASKS
        )


class FolderSize:
    """Bytes of a folder on disk, those of its removed files that are open below this process too. A folder with many files takes
    long to walk through, and is measured less often."""

    def __init__(self, folder: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder, self._clock = folder, clock
        self._bytes, self._next = 0, 0.0

    def now(self) -> int:
        """The bytes, as of the last walk."""
        begun = self._clock()
        if begun >= self._next:
            below = [p.pid for p in process_tree.below(os.getpid())]
            removed = process_tree.nameless_files(below, os.stat(self._folder).st_dev)
            self._bytes = process_tree.size_of(self._folder) + removed
            ended = self._clock()
            self._next = ended + FOLDER_SHARE * (ended - begun)
        return self._bytes


def usage(order: LaunchOrder, *, private: bool, disk: int = 0) -> HeldResources:
    """Of all processes below this one. In a private view what lies in its folders is memory, which the kernel bounds."""
    found = process_tree.below(os.getpid())
    own, shared = process_tree.memory([p.pid for p in found])
    if private:
        shared = max(shared, sum(_used(path) for path in private_view.writable(order.folder)))
    return HeldResources(own + shared, disk, sum(p.threads for p in found))


def _used(path: str) -> int:
    facts = os.statvfs(path)
    return (facts.f_blocks - facts.f_bfree) * facts.f_frsize


def supervise(child: int, order: LaunchOrder, say: Callable[[str], None], *, private: bool) -> int:
    """Wait for `child`, reaping whoever else ends; its wait status. Too much of something ends it, and all below this process."""
    ended = {signal.SIGCHLD}
    signal.pthread_sigmask(signal.SIG_BLOCK, ended)
    folder = FolderSize(order.folder)
    while True:
        status = _reap(child)
        if status is not None:
            return status
        held = usage(order, private=private, disk=0 if private else folder.now())
        too_much = held.over(order.bounds)
        if too_much:
            say(too_much)
            process_tree.kill_below(os.getpid())
            _, status = os.waitpid(child, 0)
            return status
        _wait(ended, NEAR_S if held.near(order.bounds) else EVERY_S)


def _wait(ended: set[signal.Signals], seconds: float) -> None:
    if hasattr(signal, "sigtimedwait"):
        signal.sigtimedwait(ended, seconds)
    else:
        time.sleep(seconds)


def _reap(child: int) -> int | None:
    """The wait status of `child` once it has ended."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return None
        if pid == child:
            return status
        if pid == 0:
            return None
