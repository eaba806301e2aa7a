"""How much is heard of a process: the sizes of its messages, and the share of a processor that reading them may take.

Whoever reads for many has to be done with each message soon: to unpack one holds up all other threads, and a process that talks without
end holds them up again and again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

MAX_MESSAGE = 64 * 1024 * 1024  # bytes of one message of a worker
MAX_ITEMS = 1_000_000
LONGEST_REST_S = 0.1


@dataclass(frozen=True)
class Patience:
    """At most so many bytes and values of a message, values of an event; and seconds of a processor that reading may take at once, and in
    each second from then on (0: any)."""

    size: int = MAX_MESSAGE
    items: int = MAX_ITEMS
    event_items: int = MAX_ITEMS
    burst_s: float = 0.0
    share: float = 0.0


WITH_EVERYTHING = Patience()  # of one's own worker, for which nobody else waits
# Of one beside whom others wait: what it answers goes on in a frame (16 MiB, 100,000 values), its longest event is a part (16 MiB)
WITH_ONE_OF_MANY = Patience(17 << 20, 100_000, 1_000, 0.25, 0.2)


class Listener:
    """Lets the thread that reads a process rest, so that reading takes no more than its share. For one thread."""

    def __init__(
        self,
        patience: Patience,
        clock: Callable[[], float] = time.monotonic,
        worked: Callable[[], float] = time.thread_time,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._patience, self._clock, self._worked, self._sleep = patience, clock, worked, sleep
        self._owed, self._at, self._until = 0.0, clock(), worked()

    def begin(self) -> None:
        """What this thread did before is no reading."""
        self._until = self._worked()

    def rest(self) -> None:
        """After reading, for up to LONGEST_REST_S: whoever reads has more to look at."""
        share = self._patience.share
        if not share:
            return
        now, until = self._clock(), self._worked()
        self._owed = max(0.0, self._owed - (now - self._at) * share) + until - self._until
        self._at, self._until = now, until
        rest = (self._owed - self._patience.burst_s) / share
        if rest > 0:
            self._sleep(min(rest, LONGEST_REST_S))
