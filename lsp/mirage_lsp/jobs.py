"""Asking the daemon, and asking again when it died meanwhile. It keeps its searches' state, so none begins anew."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mirage.errors import DaemonUnavailable, MirageError, UnknownJob
from mirage.link import protocol
from mirage.link.aio import AsyncClient
from mirage_lsp import seen
from mirage_lsp.seen import Seen

log = logging.getLogger(__name__)
PAUSES_S = (0.1, 0.5, 2.0)  # between attempts to reach a daemon that went away


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
class Answer:
    """How a job ended: a final state of `protocol.STATES`, and the result or the error, as on the wire."""

    state: str
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


class Jobs:
    """The server's one connection to the daemon."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        self._sent: set[asyncio.Task[None]] = set()

    async def optimize(
        self, ask: Ask, on_event: Callable[[protocol.Event], None], on_away: Callable[[], None]
    ) -> Answer:
        """Submit and follow a job to its end. `on_away` is called whenever the daemon is not there and is tried again.
        Raises the daemon's MirageError, DaemonUnavailable after the last attempt. Cancelling the task cancels the
        job."""
        for pause in (*PAUSES_S, None):
            job = ""
            try:
                reply = await self._client.submit(
                    ask.text,
                    ask.path,
                    ask.function,
                    target=ask.target,
                    priority=0,
                    interpreter=ask.interpreter,
                    fresh=ask.fresh,
                )
                job = str(reply["job"])
                on_event(protocol.Event(job=job, state=str(reply["state"]), counts={}))
                end = await self._client.subscribe(job, on_event)
                return Answer(str(end["state"]), end.get("result"), end.get("error"))
            except (DaemonUnavailable, UnknownJob):
                if pause is None:
                    raise
                on_away()
                await asyncio.sleep(pause)
            except asyncio.CancelledError:
                if job:
                    task = asyncio.ensure_future(self._cancel(job))
                    self._sent.add(task)
                    task.add_done_callback(self._sent.discard)
                raise
        raise AssertionError("the loop returns or raises")

    async def lookup(self, ask: Ask) -> dict[str, Any] | None:
        """The cached result, or None. Runs nothing of the workspace."""
        return await self._client.lookup(
            ask.text, ask.path, ask.function, target=ask.target, interpreter=ask.interpreter
        )

    async def shapes(self, path: str) -> dict[str, Seen]:
        """What each function of a file was called with last."""
        found = await self._client.shapes(path)
        return {name: seen.read(calls[-1]) for name, calls in found.items() if calls}

    async def status(self) -> dict[str, Any]:
        """The daemon's jobs, of all clients, and its cache."""
        return await self._client.status()

    async def close(self, patience_s: float = 1.0) -> None:
        """Send the cancellations that are under way, then close."""
        if self._sent:
            await asyncio.wait(self._sent, timeout=patience_s)
        await self._client.close()

    async def _cancel(self, job: str) -> None:
        try:
            await self._client.cancel(job)
        except MirageError as error:
            log.info("job %s was not cancelled: %s", job, error)
