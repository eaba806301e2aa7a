"""A breaker before a server that fails: after several faults in a row it is left alone, for longer each time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

FAULTS = 3  # in a row
PAUSE_S, LONGEST_S = 30.0, 600.0


class FaultBreaker:
    """`open` says whether to leave the server alone. After a pause one question may try it; `worked` and `failed` say how it went.
    From any threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._faults, self._pause_s, self._until = 0, 0.0, float("-inf")

    @property
    def pause_s(self) -> float:
        """Seconds for which nothing is asked."""
        with self._lock:
            return max(0.0, self._until - self._clock())

    def enter(self) -> bool:
        """Whether to ask. The one that tries after a pause prolongs it for others, as long as it has not said how it went."""
        with self._lock:
            now = self._clock()
            if now < self._until:
                return False
            if self._pause_s:
                self._until = now + self._pause_s
            return True

    def worked(self) -> None:
        with self._lock:
            self._faults, self._pause_s, self._until = 0, 0.0, float("-inf")

    def failed(self) -> bool:
        """Whether the server is left alone from now on, or for longer."""
        with self._lock:
            self._faults += 1
            if self._faults < FAULTS and not self._pause_s:
                return False
            self._pause_s = min(LONGEST_S, self._pause_s * 2 or PAUSE_S)
            self._until = self._clock() + self._pause_s
            return True
