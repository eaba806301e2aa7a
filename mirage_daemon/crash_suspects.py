"""Back-off for jobs that were under way at many of the daemon's deaths in a row and got no further between them.

One of them may be what ends the daemon: after MAX_STARTS deaths it is given up. Most only ran while something else did (the
machine was switched off, somebody killed the daemon), and their first durable part takes longer than the daemon lived. So from
FREE_STARTS deaths on such a job waits: the daemon serves the others meanwhile, for longer each time, and a life too short to
show anything does not count. They begin one at a time, so that one that ends the daemon takes no other with it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

log = logging.getLogger("mirage.daemon.jobs")
MAX_STARTS, FREE_STARTS = 20, 10
FIRST_S, LONGEST_S = 1.0, 64.0
AGAIN_S = 0.5  # between two looks at whether another suspect is still at work


class Held(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def starts(self) -> int: ...
    @property
    def final(self) -> bool: ...


J = TypeVar("J", bound=Held)


def pause_s(starts: int) -> float:
    """How long the daemon lives before it begins a job that was under way at its last `starts` deaths."""
    return 0.0 if starts < FREE_STARTS else min(LONGEST_S, FIRST_S * 2.0 ** (starts - FREE_STARTS))


class Suspects(Generic[J]):
    """`let_in` is called, in the event loop, with each job whose time has come."""

    def __init__(self, let_in: Callable[[J], None]) -> None:
        self._let_in = let_in
        self._at_work: J | None = None

    def hold(self, job: J) -> bool:
        """Whether the job has to wait; it is let in later. Not one that is to be given up: it does not begin."""
        pause = pause_s(job.starts)
        if not pause or job.starts >= MAX_STARTS:
            return False
        log.info("job %s waits %g s: the daemon died %d times while it ran", job.id, pause, job.starts)
        asyncio.get_running_loop().call_later(pause, self._look, job)
        return True

    def _look(self, job: J) -> None:
        if job.final:  # cancelled while it waited
            return
        if self._at_work is None or self._at_work.final:
            self._at_work = job
            self._let_in(job)
        else:
            asyncio.get_running_loop().call_later(AGAIN_S, self._look, job)
