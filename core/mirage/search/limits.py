"""The guard of a search, asked between its steps: cancellation, and the bounds on time and memory.

The steps are short (one reduction, one block graph, one combination), so that a cancelled search ends within 100 ms.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from pathlib import Path

from mirage.results.progress import CancelToken

LOOK_S = 0.05  # how often the memory is looked at
# Bytes of growth after which what there is is put out of the collector's sight: collections stay short.
FREEZE = 64 << 20
PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
STATM = Path("/proc/self/statm")


class Stopped(Exception):
    """A bound is reached: `bound` in a few words. The search keeps what it has."""

    def __init__(self, bound: str) -> None:
        super().__init__(bound)
        self.bound = bound


def resident() -> int:
    """Bytes of memory that this process holds (where the system does not say: the most that it held), 0 if unknown."""
    try:
        return int(STATM.read_text().split()[1]) * PAGE
    except (OSError, ValueError, IndexError):
        pass
    try:
        import resource
    except ImportError:  # no such module on Windows
        return 0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


class Guard(CancelToken):
    """A cancel token that also raises Stopped: after `seconds` from now once `armed` is set (something was found), and when the
    process holds `memory` bytes more than now. After it has raised Stopped it only cancels, so that what there is can be
    put in order."""

    def __init__(self, cancel: CancelToken, seconds: float, memory: int, *, armed: bool = True) -> None:
        super().__init__()
        self.cancel_token, self.seconds, self.memory, self.armed = cancel, seconds, memory, armed
        self.start = time.monotonic()
        self.before = self.frozen = resident()
        self.stopped = ""
        self._next = 0.0

    @property
    def cancelled(self) -> bool:
        return self._set or self.cancel_token.cancelled

    @property
    def left(self) -> float:
        """Seconds until the bound on time."""
        return self.seconds - (time.monotonic() - self.start)

    def check(self) -> None:
        super().check()
        if self.stopped:
            return
        now = time.monotonic()
        if self.armed and now - self.start > self.seconds:
            self.stop(f"{self.seconds:g} s")
        if now >= self._next:
            self._next = now + LOOK_S
            held = resident()
            if held - self.frozen > FREEZE:
                self.frozen = held
                gc.freeze()  # whoever runs the search thaws it
            if held - self.before > self.memory:
                self.stop(f"{self.memory >> 20} MiB of memory")

    def stop(self, bound: str) -> None:
        self.stopped = bound
        raise Stopped(bound)
