"""Handlers of the requests about projects: watching their files, and the inputs that their functions were called with."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
from typing import TYPE_CHECKING, TypeVar

import attrs

from mirage.errors import FileUnreadable, MissingShape, UnknownJob, UntrustedWorkspace
from mirage.link import answers, protocol
from mirage.link.requests import Requests
from mirage.source.observed_shapes import completed
from mirage_daemon import observed_shapes
from mirage_daemon.handler import answering
from mirage_daemon.job_order import BACKGROUND, DAEMON
from mirage_daemon.watch_projects import Watcher
from mirage_daemon.watched_project import FunctionChange
from mirage_daemon.worker_pool import check_interpreter

if TYPE_CHECKING:
    from mirage_daemon.connection import Connection
    from mirage_daemon.server import AskedQuestion, Server

MAX_SUBMITTED, MAX_ABANDONED = 10_000, 1000
Body = TypeVar("Body", protocol.Submit, protocol.Lookup)


class Projects:
    """The watcher, and the jobs that it asked for."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.watcher = Watcher(self._changed)
        self._wishes = itertools.count(-1, -1)  # as clients that never connect, one for each submission
        self._submitted: dict[tuple[str, str], tuple[str, int]] = {}  # the latest of each function
        self._abandoned: dict[str, None] = {}  # keys that a user stopped, the oldest first

    def take_back(self, root: str) -> None:
        """What saves below a root asked for is no longer wanted here."""
        for place in [p for p in self._submitted if p[0].startswith(root + os.sep)]:
            self._cancel(self._submitted.pop(place))

    def abandon(self, ident: str, client: int) -> bool:
        """A user stopped a job: neither that client nor any save wants it. Whether it was stopped."""
        job = self._server.jobs.find(ident)
        if not job.final:
            self._abandoned[job.key] = None
            while len(self._abandoned) > MAX_ABANDONED:
                del self._abandoned[next(iter(self._abandoned))]
        for wish in [w for w in job.wanted if w < 0]:
            self._server.jobs.cancel(ident, wish)
        return self._server.jobs.cancel(ident, client)

    def _cancel(self, submitted: tuple[str, int]) -> None:
        with contextlib.suppress(UnknownJob):  # it was over long ago
            self._server.jobs.cancel(*submitted)

    async def _changed(self, change: FunctionChange) -> None:
        """Submit a changed function; what its earlier text asked for is no longer wanted here."""
        wish = next(self._wishes)
        body = protocol.Submit(
            change.text, change.path, change.function, change.target, BACKGROUND, True, change.interpreter
        )
        body, question = await asked(self._server, body)
        if question.key in self._abandoned:
            return
        job = await self._server.take(body, wish)
        place = (change.path, change.function)
        earlier = self._submitted.pop(place, None)
        if not self.watcher.watches(change.path):  # no longer: `take_back` came before the job had its number
            self._cancel((job.id, wish))
        elif not job.final:
            self._submitted[place] = (job.id, wish)
        if len(self._submitted) > MAX_SUBMITTED:
            del self._submitted[next(iter(self._submitted))]
        if earlier is not None:
            self._cancel(earlier)


async def asked(server: Server, body: Body, process: int = DAEMON) -> tuple[Body, AskedQuestion]:
    """What is asked, and its question. A function that does not say its shapes has those that come with the
    request, or else those of its latest call."""
    try:
        return body, await server._ask(body, process)
    except MissingShape:
        inputs = (
            body.inputs
            or (await server._in_store(observed_shapes.of, server._store, body.path)).get(body.function, [[]])[-1]
        )
        text = await asyncio.to_thread(completed, body.text, body.function, inputs, body.path)
        body = attrs.evolve(body, text=text)
        return body, await server._ask(body, process)


async def watch(server: Server, connection: Connection, ident: int, body: protocol.Watch) -> answers.WatchedProject:
    if not body.trusted:
        raise UntrustedWorkspace("nothing of this workspace may run, so its files are not watched")
    if not os.path.isabs(body.root) or not os.path.isdir(body.root):
        raise FileUnreadable(f"{body.root} is not the full path of a folder", path=body.root)
    interpreter = check_interpreter(body.interpreter)
    return await server.projects.watcher.add(os.path.realpath(body.root), interpreter, body.target)


async def unwatch(server: Server, connection: Connection, ident: int, body: protocol.Unwatch) -> answers.Unwatched:
    if "\0" in body.root:  # no folder has such a name
        return {"watched": False}
    root = os.path.realpath(body.root)
    watched = await server.projects.watcher.remove(root)
    server.projects.take_back(root)
    return {"watched": watched}


async def abandon(server: Server, connection: Connection, ident: int, body: protocol.Abandon) -> answers.CancelAnswer:
    return {"cancelled": server.projects.abandon(body.job, connection.id)}


async def seen(server: Server, connection: Connection, ident: int, body: protocol.Seen) -> answers.Recorded:
    new = await server._in_store(observed_shapes.record, server._store, body.path, body.function, body.inputs)
    if new:
        server.projects.watcher.learned(body.path, body.function)
    return {"new": new}


async def shapes(server: Server, connection: Connection, ident: int, body: protocol.Shapes) -> answers.ObservedShapes:
    return {"shapes": await server._in_store(observed_shapes.of, server._store, body.path)}


HANDLERS = dict(
    (
        answering(Requests.watch, watch),
        answering(Requests.unwatch, unwatch),
        answering(Requests.abandon, abandon),
        answering(Requests.seen, seen),
        answering(Requests.shapes, shapes),
    )
)
