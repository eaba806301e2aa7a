"""The request `verify`: a verdict on two sides, by a worker that waits for the next job and has its imports behind it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, cast

from mirage.errors import DaemonBusy
from mirage.link import answers, protocol
from mirage.link.request_parameters import Verify
from mirage.link.requests import Requests
from mirage.results.progress import CancelToken
from mirage_daemon.fair_turns import FairTurns
from mirage_daemon.handler import answering, check_text
from mirage_daemon.worker_pool import check_interpreter

if TYPE_CHECKING:
    from mirage_daemon.connection import Connection
    from mirage_daemon.server import Server

# (the payload of the task `verify` but "warm", the interpreter, the token of its end) -> its answer
Judge = Callable[[Mapping[str, object], str, CancelToken], Mapping[str, object]]
AT_ONCE, OF_CLIENT = 2, 1
TURN_S = 2.0  # a verdict may take minutes: whoever would wait for others' is sooner done by itself


class Judges:
    """Those who judge for the clients of a server. Made inside the event loop."""

    def __init__(self, judge: Judge | None = None) -> None:
        self._judge, self._turns = judge, FairTurns(AT_ONCE, OF_CLIENT)
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="mirage-judge")

    def close(self) -> None:
        """What is under way ends with its worker."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def verdicts(self, body: Verify, process: int) -> answers.Judged:
        """In the turn of a client's `process`. A client that no longer waits ends the work."""
        if self._judge is None:
            raise DaemonBusy("this daemon judges nothing")
        for side in (body.a, body.b):
            check_text(side.text)
        interpreter = await asyncio.to_thread(check_interpreter, body.interpreter)
        payload = protocol.unstructure(body)
        del payload["interpreter"]
        cancel = CancelToken()
        try:
            await asyncio.wait_for(self._turns.take(process), TURN_S)
        except asyncio.TimeoutError:
            raise DaemonBusy("all that judge are at work") from None
        try:
            return await self._judged(payload, interpreter, cancel)
        finally:
            self._turns.give(process)

    async def _judged(self, payload: Mapping[str, object], interpreter: str, cancel: CancelToken) -> answers.Judged:
        assert self._judge is not None
        work = asyncio.get_running_loop().run_in_executor(self._threads, self._judge, payload, interpreter, cancel)
        try:
            return cast(answers.Judged, await asyncio.shield(work))
        finally:
            if not work.done():
                cancel.cancel()
                work.add_done_callback(lambda done: done.exception())  # of its end nobody wants to hear


async def verify(server: Server, connection: Connection, ident: int, body: Verify) -> answers.Judged:
    return await server.judges.verdicts(body, connection.process)


HANDLERS = dict((answering(Requests.verify, verify),))
