"""Reading what is somebody else's: in a thread that nobody waits for longer than a deadline, and that ends with the process.

A file system may hang whatever is asked of it, and a thread in it cannot be ended. So none of these threads is joined, few read
at once, and what has not ended is not read again meanwhile.
"""

from __future__ import annotations

import _thread
import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from mirage.errors import DaemonBusy, FileUnreadable
from mirage_daemon.fair_turns import FairTurns

AT_ONCE, OF_CLIENT, MOST_STUCK, DEADLINE_S = 4, 2, 32, 10.0
P = ParamSpec("P")
T = TypeVar("T")


class Readers:
    """Made inside the event loop, where all calls come from."""

    def __init__(self, deadline_s: float = DEADLINE_S) -> None:
        self._deadline_s, self._turns = deadline_s, FairTurns(AT_ONCE, OF_CLIENT)
        self._stuck: dict[str, int] = {}

    async def read(self, of: str, process: int, call: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """What the call gives or raises, in the turn of a client's `process`. FileUnreadable where it takes too long, or an earlier
        one that read `of` still does; DaemonBusy where many do."""
        if of in self._stuck:
            raise FileUnreadable(f"{of or 'the text'} does not let itself be read", path=of)
        if len(self._stuck) >= MOST_STUCK:
            raise DaemonBusy(f"{len(self._stuck)} places do not let themselves be read")
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()

        def settle(value: T | None, error: BaseException | None) -> None:
            if done.cancelled():
                return
            done.add_done_callback(lambda d: d.exception())  # whether or not somebody waits for it
            if error is not None:
                done.set_exception(error)
            else:
                done.set_result(value)  # type: ignore[arg-type]

        def work() -> None:
            value, error = None, None
            try:
                value = call(*arguments, **named)
            except BaseException as e:  # whatever it is, it is the caller's
                error = e
            if not loop.is_closed():
                loop.call_soon_threadsafe(settle, value, error)

        await self._turns.take(process)
        _thread.start_new_thread(work, ())  # `Thread.start` waits for the thread, and all clients with it
        # A thread goes on where nobody waits for it any more: its turn ends with it, or when it should have.
        await asyncio.shield(loop.create_task(self._give_back(of, process, done)))
        if done.done():
            return done.result()
        raise FileUnreadable(f"{of or 'the text'} was not read within {self._deadline_s:g} s", path=of)

    async def _give_back(self, of: str, process: int, done: asyncio.Future[T]) -> None:
        """End the turn of a thread that reads `of`."""
        await asyncio.wait([done], timeout=self._deadline_s)
        self._turns.give(process)
        if not done.done():
            self._stuck[of] = self._stuck.get(of, 0) + 1
            done.add_done_callback(lambda d: self._free(of, d))

    def _free(self, of: str, done: asyncio.Future[T]) -> None:
        done.exception()  # nobody waits for it any more
        left = self._stuck.pop(of) - 1
        if left:
            self._stuck[of] = left
