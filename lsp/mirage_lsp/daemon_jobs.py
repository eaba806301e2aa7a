"""Jobs that the server has at the daemon, submitted again when the daemon died meanwhile; no search begins anew."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from mirage.errors import DaemonUnavailable, MirageError, UnknownJob
from mirage.ir.json_value import JsonObject
from mirage.link import protocol
from mirage.link.answers import CacheAnswer, CacheRow, DaemonStatus
from mirage.link.async_client import AsyncClient
from mirage.link.client import dial
from mirage.results.codec import structure
from mirage.results.result import Result
from mirage_lsp import observed_shapes
from mirage_lsp.observed_shapes import Seen

log = logging.getLogger(__name__)
PAUSES_S = (0.1, 0.5, 2.0)  # between attempts to reach a daemon that went away
AT_ONCE = 8  # questions that travel; each carries a whole text
BACK_S = 30.0  # a newer daemon listens after at most so long


@dataclass(frozen=True)
class Ask:
    """What is asked of the daemon for one function."""

    text: str
    path: str
    function: str
    target: str
    interpreter: str = ""
    fresh: bool = False  # though the daemon has an answer


@dataclass(frozen=True)
class JobEnd:
    """How a job ended: a final state of `protocol.STATES`, and the result, or the error as on the wire."""

    state: str
    result: Result | None = None
    error: JsonObject | None = None


def _read(result: JsonObject | None) -> Result | None:
    return None if result is None else structure(result, Result)


class DaemonJobs:
    """The server's one connection to the daemon. What several functions ask for can be one job; it is cancelled with the
    last of them."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        self._sent: set[asyncio.Task[None]] = set()  # cancellations that are under way
        self._wishes: Counter[str] = Counter()  # by job
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._looking: asyncio.Task[bool] | None = None

    async def optimize(
        self,
        ask: Ask,
        on_event: Callable[[protocol.Event], None],
        on_away: Callable[[], None],
        stopped: Callable[[], bool] = lambda: False,
    ) -> JobEnd:
        """Submit and follow a job to its end. `on_away` is called whenever the daemon is not there and is tried again.
        Raises the daemon's MirageError, DaemonUnavailable after the last attempt. Cancelling the task cancels the job;
        `stopped` says whether it was the user who did it."""
        for pause in (*PAUSES_S, None):
            submitted, mine = asyncio.ensure_future(self._submit(ask)), True
            try:
                job, state = await asyncio.shield(submitted)  # a job that is to be cancelled has to be known
                on_event(protocol.Event(job=job, state=state))
                end = await self._client.subscribe(job, on_event)
                if end["state"] != "cancelled":
                    return JobEnd(end["state"], _read(end["result"]), end["error"])
                on_away()  # nothing was cancelled here: the daemon ends
                if pause is None or not await self._comes_back():
                    return JobEnd("away")
            except (DaemonUnavailable, UnknownJob):
                if pause is None:
                    raise
                on_away()
                await asyncio.sleep(pause)
            except asyncio.CancelledError:
                mine = False
                task = asyncio.ensure_future(self._take_back(submitted, stopped()))
                self._sent.add(task)
                task.add_done_callback(self._sent.discard)
                raise
            finally:
                if mine:
                    self._release(submitted)
        raise AssertionError("the loop returns or raises")

    async def lookup(self, ask: Ask) -> Result | None:
        """The cached result, or None. Runs nothing of the workspace."""
        async with self._turns:
            found = await self._client.lookup(
                ask.text, ask.path, ask.function, target=ask.target, interpreter=ask.interpreter
            )
        return _read(found)

    async def shapes(self, path: str) -> dict[str, Seen]:
        """What each function of a file was called with last."""
        found = await self._client.shapes(path)
        return {name: observed_shapes.read(calls[-1]) for name, calls in found.items() if calls}

    async def status(self) -> DaemonStatus:
        """The daemon's jobs, of all clients, and its cache."""
        return await self._client.status()

    async def results(self) -> list[CacheRow]:
        """What the cache holds, of all projects: the lines of `mirage cache list`."""
        rows: list[CacheRow] = []
        after = ""
        while True:
            page = await self._client.cache("list", after=after)
            rows += page["results"]
            after = page["after"]
            if not after:
                return rows

    async def cached(self, key: str) -> CacheAnswer:
        """One result of the cache, whole."""
        return await self._client.cache("show", key=key)

    async def close(self, patience_s: float = 1.0) -> None:
        """Send the cancellations that are under way, then close."""
        if self._sent:
            await asyncio.wait(self._sent, timeout=patience_s)
        await self._client.close()

    async def _submit(self, ask: Ask) -> tuple[str, str]:
        """The job and its state, after the cancellations so far: they could be of the same job."""
        if self._sent:
            await asyncio.wait(set(self._sent))
        async with self._turns:
            reply = await self._client.submit(
                ask.text,
                ask.path,
                ask.function,
                target=ask.target,
                priority=0,
                interpreter=ask.interpreter,
                fresh=ask.fresh,
            )
        job = reply["job"]
        self._wishes[job] += 1
        log.info("job %s: `%s` of %s", job, ask.function, ask.path)  # the daemon's log and a node's have this name too
        return job, reply["state"]

    def _release(self, submitted: asyncio.Task[tuple[str, str]]) -> str:
        """A wish is over; its job, if nothing else here wishes for it."""
        if not submitted.done() or submitted.cancelled() or submitted.exception() is not None:
            return ""
        job, _ = submitted.result()
        self._wishes -= Counter([job])  # drops what nobody wishes for
        return "" if self._wishes[job] else job

    async def _take_back(self, submitted: asyncio.Task[tuple[str, str]], by_user: bool) -> None:
        await asyncio.wait([submitted])
        job = self._release(submitted)
        if not job or not self._client.connected:  # a wish ends with its connection
            return
        try:
            await (self._client.abandon(job) if by_user else self._client.cancel(job))
        except MirageError as error:
            log.info("job %s was not cancelled: %s", job, error)

    async def _comes_back(self) -> bool:
        """Whether a daemon is there again, soon. One that gives way to a newer one is followed by it; one that was
        stopped is not started again by work that was asked for before. Whoever listens is the next one: a daemon that
        ends has stopped to listen before it says that a job is cancelled."""
        if self._looking is None or self._looking.done():
            self._looking = asyncio.ensure_future(_look())
        return await asyncio.shield(self._looking)


async def _look() -> bool:
    loop = asyncio.get_running_loop()
    until = loop.time() + BACK_S
    while loop.time() < until:
        try:
            (await loop.run_in_executor(None, dial)).close()
            return True
        except MirageError:
            await asyncio.sleep(0.1)
    return False
