"""How soon a cancelled search ends: cancelled at 200 random moments, and the longest time between two looks at the token.

Seconds are of the processor (the thread that cancels only sleeps); wall seconds are given beside them.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator

from mirage.devices.table import Device
from mirage.errors import Cancelled
from mirage.results.progress import CancelToken
from searching.rows import Clock, Row, at_most, row, search_for
from searching.times import WORKLOADS

MOMENTS = 20  # for each workload
LEAST_S = 0.1


class Watched(CancelToken):
    """Keeps the longest processor time between two looks at it."""

    def __init__(self) -> None:
        super().__init__()
        self.longest, self._last = 0.0, time.process_time()

    @property
    def cancelled(self) -> bool:
        now = time.process_time()
        self.longest, self._last = max(self.longest, now - self._last), now
        return False


def whole(name: str, device: Device) -> tuple[float, float]:
    """The wall seconds of a search that is not cancelled, and the longest time between two looks at its token."""
    clock, token = Clock(), Watched()
    for _ in search_for(name, device, cancel=token).run():
        pass
    token.cancelled  # noqa: B018  (the time since the last look counts too)
    return clock.read()[1], token.longest


def cancelled(name: str, device: Device, after: float) -> tuple[float, float] | None:
    """Processor and wall seconds from the cancellation to the end of the search, None if it had ended before."""
    token = CancelToken()
    at: list[tuple[float, float]] = []

    def cancel() -> None:
        at.append((time.process_time(), time.perf_counter()))
        token.cancel()

    timer = threading.Timer(after, cancel)
    timer.start()
    try:
        for _ in search_for(name, device, cancel=token).run():
            pass
    except Cancelled:
        return time.process_time() - at[0][0], time.perf_counter() - at[0][1]
    finally:
        timer.cancel()
        timer.join()
    return None


def rows(device: Device) -> Iterator[Row]:
    rng = random.Random(0)
    longest, cpu, wall = 0.0, [], []
    for name in WORKLOADS:
        seconds, gap = whole(name, device)
        longest = max(longest, gap)
        done = 0
        while done < MOMENTS:
            found = cancelled(name, device, rng.uniform(0.0, seconds))
            if found is not None:
                done += 1
                cpu.append(found[0])
                wall.append(found[1])
    yield row("cancelled at random moments", len(cpu), "", "== 200", len(cpu) == 200)
    yield at_most("cancelled: longest until the end", max(cpu), "s", LEAST_S)
    yield row("cancelled: longest until the end, wall", max(wall), "s")
    yield at_most("longest between two looks at the token", longest, "s", LEAST_S)
