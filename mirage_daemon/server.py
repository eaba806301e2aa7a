"""The daemon's server: accepts connections and answers each request of the table from jobs and cache."""

from __future__ import annotations

import asyncio
import hmac
import itertools
import json
import logging
import os
import resource
import socket
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import msgpack

from mirage.errors import (
    DaemonBusy,
    DaemonReplaced,
    DeadlinePassed,
    MirageError,
    ProtocolError,
    UnknownJob,
    UntrustedSocket,
    UntrustedWorkspace,
)
from mirage.isolate import confinement
from mirage.link import answers, paths, protocol
from mirage.link.frames import Message
from mirage.link.requests import BY_NAME, Requests
from mirage.link.version import is_newer, package_version
from mirage_daemon import (
    cache_requests,
    garbage_collection,
    project_requests,
    question_key,
    status_requests,
    verify_requests,
)
from mirage_daemon.cache_store import CacheStore
from mirage_daemon.connection import Connection, ConnectionLimits, SharedRoom
from mirage_daemon.fair_turns import WITHOUT_BOUND, FairTurns
from mirage_daemon.function_text import FunctionText
from mirage_daemon.handler import Handler, answering, check_text
from mirage_daemon.job_order import DAEMON, project_of
from mirage_daemon.jobs import Job, Jobs, RunJob
from mirage_daemon.journal import JobPayload, Journal, PromisedJob
from mirage_daemon.known_result import KnownResult
from mirage_daemon.readers import Readers
from mirage_daemon.worker_pool import check_interpreter

if TYPE_CHECKING:
    from mirage_daemon.remote_cache import RemoteCache

log = logging.getLogger("mirage.daemon.server")
MAX_CONNECTIONS = 12_000
OWN_DESCRIPTORS = 256  # files, workers and watches; the others are for clients
JOBS_END_S = 2.5  # how long a stop waits for jobs to end; those that do not are killed with the process
BACKLOG = 1024  # clients that wait to be taken in; a project's editors all come at once
REQUESTS_OF_CLIENT = 8  # that are answered at once, but for `subscribe`
PROMISES_AT_ONCE = 1  # what is written holds up what is read
SHORT_TEXT = 1 << 17  # characters whose digest takes less time than a change of threads
CACHE_LIMIT = 1 << 30  # bytes
ELSEWHERE = "elsewhere"  # an alias to what another environment than the daemon's own answered
SHOWN_ENDED = 20  # jobs that are over, in `status`
MAX_DEADLINE_S = 7 * 24 * 3600.0
DEFAULT_DEADLINE_S = 600.0  # of a request that names none, except `subscribe`
T = TypeVar("T")
P = ParamSpec("P")


@dataclass(frozen=True)
class AskedQuestion:
    """The question's key as hex, the interpreter that would answer it, and the key (as hex) under which the daemon's own would,
    "" where that one's packages are others. `by_target`: see question_key.target_key, as hex. `part` is what the text says."""

    key: str
    interpreter: str
    common: str
    by_target: str
    part: FunctionText


class Server:
    """Made inside the event loop; `serve(listener)` runs until `stop` is called or nothing happened for `idle_s`. A client has to
    know the `token`, where there is one: a worker may reach the socket, and cannot read where the token lies."""

    def __init__(
        self,
        make_store: Callable[[], CacheStore],
        run_job: RunJob,
        *,
        workers: int | Callable[[], int],
        idle_s: float,
        limits: ConnectionLimits | None = None,
        clock: Callable[[], float] = time.monotonic,
        token: str = "",
        remote: RemoteCache | None = None,
    ) -> None:
        self._token, self._readers, self._remote = token, Readers(), remote
        self._store_thread = ThreadPoolExecutor(1, thread_name_prefix="mirage-store")
        self._store = self._store_thread.submit(make_store).result()
        self._disk = ThreadPoolExecutor(1, thread_name_prefix="mirage-disk")
        self.journal = Journal(self._store, self._store_thread, self._disk)
        run_job = run_job if remote is None else remote.before(run_job)
        self.jobs = Jobs(run_job, workers=workers, keep=self._keep, journal=self.journal, clock=clock)
        self._idle_s, self._limits, self._clock = idle_s, limits or ConnectionLimits(), clock
        self._began = self._last = clock()
        self._ids = itertools.count(1)
        self._connections: dict[int, asyncio.Task[None]] = {}
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self._most = (
            MAX_CONNECTIONS if files == resource.RLIM_INFINITY else min(MAX_CONNECTIONS, files - OWN_DESCRIPTORS)
        )
        self._room = SharedRoom()
        self._turns = FairTurns(WITHOUT_BOUND, REQUESTS_OF_CLIENT)
        self._promises = FairTurns(PROMISES_AT_ONCE, PROMISES_AT_ONCE)
        self._stopping = asyncio.Event()
        self._earlier: dict[str, None] = {}  # keys of what earlier daemons promised, until it is under way here
        self._earlier_read = asyncio.Event()
        self.projects = project_requests.Projects(self)
        self.nodes: Callable[[], list[answers.NodeNumbers]] = (
            list  # whoever knows the machines that work puts them in its place
        )
        self.judges = verify_requests.Judges()  # whoever has workers that judge puts those in its place

    # ---- life
    async def serve(self, listener: socket.socket) -> None:
        server = await asyncio.start_unix_server(self._accept, sock=listener, limit=1 << 20, backlog=BACKLOG)
        idle = asyncio.create_task(self._watch_idle())
        earlier = asyncio.create_task(self._take_up())
        try:
            await self._stopping.wait()
        finally:
            idle.cancel()
            earlier.cancel()
            server.close()  # new clients are refused from here on, and start the next daemon
            await self.projects.watcher.close()
            self.judges.close()
            await self.jobs.close(JOBS_END_S)
            await asyncio.sleep(0.05)  # subscribers' last replies are queued meanwhile
            for task in self._connections.values():
                task.cancel()
            if self._connections:
                await asyncio.wait(list(self._connections.values()), timeout=1.0)
            await self._in_store(self._store.close)
            if self._remote is not None:
                self._remote.close()
            self._store_thread.shutdown()
            self._disk.shutdown()
            await asyncio.to_thread(question_key.PROCESSES.close)

    def stop(self) -> None:
        self._stopping.set()

    async def stopping(self) -> None:
        """Done when it was told to stop."""
        await self._stopping.wait()

    async def _take_up(self) -> None:
        """Go on with what an earlier daemon promised and did not end, one job after the other: requests have their turn between."""
        try:
            self._earlier = dict.fromkeys(await self._in_store(self.journal.keys))
        finally:
            self._earlier_read.set()
        for key in list(self._earlier):
            try:
                row = await self._in_store(self.journal.row, key)
                if row is None:
                    self._earlier.pop(key, None)
                elif key in self._earlier:
                    await self._take_up_one(row)
            except Exception:  # a mistake of ours with one job is none of the others'
                log.exception("a job of an earlier daemon is left to the next one")

    async def _take_up_one(self, row: PromisedJob) -> None:
        if "question" in row.payload:  # an import: whoever asked for it asks again
            self._forget(row.key)
            return
        try:
            wanted = {name: value for name, value in row.payload.items() if name in protocol.Submit.__annotations__}
            asked = await self._ask_again(protocol.structure(wanted, protocol.Submit), row)
            key = asked.key
        except MirageError as e:
            log.warning("a job of an earlier daemon is given up: %s", e)
            self._forget(row.key)
            return
        known = await self._known(asked) is not None
        if row.key not in self._earlier:
            return  # somebody asked for it meanwhile
        if known or key != row.key:
            self._forget(row.key)
        if not known:  # where the key is another (packages, the code or the machine are others now) it begins anew
            same = key == row.key
            if not same and key in self._earlier:
                return  # its own row comes later
            self.jobs.take_up(row if same else PromisedJob(key, row.payload, row.priority), kept=same)
            self._earlier.pop(key, None)

    async def _ask_again(self, body: protocol.Submit, row: PromisedJob) -> AskedQuestion:
        """The question of an earlier daemon's job. What that one read of the text is believed where it leads to the very key, which
        holds our code's digest too; else the text is parsed."""
        said = row.payload.get("said")
        if said:
            asked = await self._ask(body, DAEMON, FunctionText(said[0], said[1], said[2], ""))
            if asked.key == row.key:
                return asked
        return await self._ask(body)

    def _forget(self, key: str) -> None:
        if self._earlier.pop(key, None) is not None:
            self.journal.end(key)

    async def _watch_idle(self) -> None:
        while True:
            if self.jobs.active:
                self._last = self._clock()
            left = self._last + self._idle_s - self._clock()
            if left <= 0:
                log.info("nothing to do for %g s", self._idle_s)
                self.stop()
                return
            await asyncio.sleep(min(left, 5.0))

    # ---- connections
    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = Connection(next(self._ids), reader, writer, self._limits, self._room)
        task = asyncio.current_task()
        assert task is not None
        self._connections[connection.id] = task
        try:
            # before one byte is read
            connection.process = paths.check_peer(writer.get_extra_info("socket")) or connection.process
            if len(self._connections) > self._most:
                connection.fail(0, DaemonBusy(f"{self._most} clients are connected"))
            elif await self._greet(connection):
                await self._converse(connection)
        except ProtocolError as e:
            log.warning("client %d (%s): %s", connection.id, connection.name, e)
            connection.fail(0, e)
        except MirageError as e:
            log.warning("client %d is refused: %s", connection.id, e)
        except asyncio.TimeoutError:
            log.info("client %d (%s) was too slow", connection.id, connection.name)
        except asyncio.CancelledError:
            pass  # the daemon stops; the connection is closed like any other
        finally:
            self.jobs.drop_client(connection.id)
            del self._connections[connection.id]
            await connection.close()

    async def _greet(self, connection: Connection) -> bool:
        """Whether the first message was a Hello of our protocol version; nothing else is looked at before."""
        message = await connection.read(self._limits.handshake_s)
        if message is None:
            return False
        if message["type"] != "hello":
            raise ProtocolError("the first message has to be hello")
        ident, hello = _ident(message), protocol.structure(message.get("body"), protocol.Hello)
        if self._token and not hmac.compare_digest(hello.token.encode("utf-8", "replace"), self._token.encode()):
            connection.fail(ident, UntrustedSocket("the client does not know this user's token"))
            return False
        refusal = self._refusal(hello)
        if refusal is not None:
            connection.fail(ident, refusal)
            return False
        connection.name = hello.client[:40]
        welcome = protocol.Welcome(protocol.VERSION, package_version(), os.getpid(), self._clock() - self._began)
        connection.send("reply", ident, protocol.unstructure(welcome))
        return True

    def _refusal(self, hello: protocol.Hello) -> MirageError | None:
        """Why this daemon does not serve that client: another protocol, or it is a newer one's turn."""
        ours = package_version()
        newer = hello.version > protocol.VERSION or is_newer(hello.package, ours)
        if self._stopping.is_set() or (newer and hello.replaces):
            log.info("version %s gives way to a client of version %s", ours, hello.package[:40])
            self.stop()  # what it was doing is in the journal, for the next daemon
            return DaemonReplaced(f"the daemon ({ours}) ends, for one of version {hello.package[:40]}")
        if hello.version == protocol.VERSION:
            return None
        return ProtocolError(
            f"the client speaks protocol {hello.version}, the daemon {protocol.VERSION}",
            next_step="run `mirage daemon stop`; the next client starts the present version"
            if newer
            else f"update mirage here: the daemon has version {ours}",
        )

    async def _converse(self, connection: Connection) -> None:
        while not connection.dropped:
            message = await connection.read_request()
            if message is None:
                return
            self._last = self._clock()
            kind, ident = message["type"], _ident(message)
            handler, row = HANDLERS.get(kind), BY_NAME.get(kind)
            if handler is None or row is None:
                raise ProtocolError(f"unknown request {kind[:40]!r}")
            if not set(message) <= {"type", "id", "deadline_s", "body"}:
                raise ProtocolError("a request has a key that the protocol does not know")
            body = protocol.structure(message.get("body"), row.body)
            deadline_s = _deadline(message, None if row.deadline_s is None else DEFAULT_DEADLINE_S)
            if len(connection.tasks) >= self._limits.requests:
                connection.fail(ident, DaemonBusy(f"{self._limits.requests} requests of this client are under way"))
                continue
            task = asyncio.create_task(self._answer(connection, ident, kind, body, deadline_s))
            connection.tasks.add(task)
            task.add_done_callback(connection.tasks.discard)

    async def _answer(
        self, connection: Connection, ident: int, kind: str, body: object, deadline_s: float | None
    ) -> None:
        """Exactly one reply or error."""
        try:
            work = self._in_turn(connection, ident, kind, body)
            connection.send("reply", ident, await asyncio.wait_for(work, deadline_s))
        except asyncio.TimeoutError:
            connection.fail(ident, DeadlinePassed(f"{kind!r} took longer than {deadline_s:g} s"))
        except MirageError as e:
            connection.fail(ident, e)
        except Exception as e:  # a mistake of ours: this request fails, the daemon goes on
            log.exception("request %r failed", kind)
            connection.fail(ident, MirageError(f"the daemon failed on {kind!r}: {type(e).__name__}"))

    async def _in_turn(self, connection: Connection, ident: int, kind: str, body: object) -> Mapping[str, object]:
        """The answer. Of one client few requests are worked on at once; those that only wait for a job's end are no work."""
        handler = HANDLERS[kind]
        if BY_NAME[kind].deadline_s is None:
            return await handler(self, connection, ident, body)
        async with self._turns.turn(connection.process):
            return await handler(self, connection, ident, body)

    # ---- cache
    async def _in_store(self, call: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        work = partial(call, *arguments, **named)
        return await asyncio.get_running_loop().run_in_executor(self._store_thread, work)

    async def _known(self, asked: AskedQuestion) -> tuple[str, KnownResult] | None:
        """(state, result) from the cache: what the asker's own environment answered, or the daemon's own."""
        for question in dict.fromkeys(k for k in (asked.key, asked.common) if k):
            found = await self._in_store(self._follow_alias, "alias", bytes.fromhex(question))
            if found is not None:
                return found[:2]
        return None

    async def _found_elsewhere(self, asked: AskedQuestion) -> str:
        """The µGraph (JSON) with which another environment answered the question; "" for none. It is a proposal, no more."""
        found = None
        if asked.common:
            found = await self._in_store(self._follow_alias, ELSEWHERE, bytes.fromhex(asked.common))
        if found is None or found[1].result.answer != "kernel" or len(found[1].result.mugraphs) != 1:
            return ""
        text = json.dumps(found[1].result.mugraphs[0])
        return text if len(text) <= cache_requests.MAX_MUGRAPH else ""

    def _follow_alias(self, kind: str, question: bytes) -> cache_requests.Found | None:
        """In the store's thread."""
        place = self._store.get(kind, question)
        value = None if place is None else self._store.get("result", place)
        return None if value is None else cache_requests.opened(value)

    async def _keep(self, job: Job) -> None:
        """Store a result, then the alias that leads to it."""
        question = bytes.fromhex(job.payload.get("question", job.key))
        assert job.result is not None  # only what is done or kept is stored
        if "question" in job.payload and job.state != "done":
            return  # a colleague's kernel is no faster here: that says nothing of what a search would find
        origin = await asyncio.to_thread(cache_requests.origin, job)
        place = question_key.result_key(question, job.result.result.program_key)
        await self._in_store(self._store.put, "result", place, msgpack.packb([job.state, job.result.data, origin]))
        await self._in_store(self._store.put, "alias", question, place)
        shared = job.payload.get("common", "")
        if shared and shared != question.hex():
            await self._in_store(self._store.put, ELSEWHERE, bytes.fromhex(shared), place)
        await asyncio.get_running_loop().run_in_executor(self._disk, self._store.sync)
        if self._remote is not None:
            await asyncio.to_thread(self._remote.keep, job.payload, job.result.result)
        await garbage_collection.collect(self, CACHE_LIMIT)

    # ---- requests
    async def _ask(
        self,
        body: protocol.Submit | protocol.Lookup | protocol.Adopt,
        process: int = DAEMON,
        part: FunctionText | None = None,
    ) -> AskedQuestion:
        """The question of a request of a client's `process`. Reads the text and the interpreter's folders in a thread; runs nothing
        of them. `part`: what the text says, where that is known."""
        check_text(body.text)
        options = question_key.as_text(body.options)
        own = body.interpreter in ("", sys.executable)

        def read() -> AskedQuestion:
            interpreter = check_interpreter(body.interpreter)
            said = part or question_key.part_of(body.text, body.path, body.function)
            asked = question_key.ask(body.text, body.path, body.function, body.target, interpreter, options, said)
            key = question_key.key(asked)
            shared = key if not asked.environment else question_key.common(asked)
            by_target = question_key.target_key(asked).hex()
            return AskedQuestion(key.hex(), interpreter, "" if shared is None else shared.hex(), by_target, said)

        if own and part is None and len(body.text) <= SHORT_TEXT:
            part = question_key.known_part(body.text, body.function)
        if own and part is not None:
            return read()  # microseconds: nothing is parsed, and nothing of anybody else's is looked at
        return await self._readers.read(body.path if own else body.interpreter, process, read)

    async def _submit(self, connection: Connection, ident: int, body: protocol.Submit) -> answers.Submitted:
        job = await self.take(body, connection.id, connection.process)
        return {"job": job.id, "key": job.key, "state": job.state}

    async def take(self, body: protocol.Submit, client: int, process: int = DAEMON) -> Job:
        """The job of a submission: one that is over, if the result is known."""
        body, question = await project_requests.asked(self, body, process)
        key = question.key
        known = await self._answer_of(question, body.fresh)
        if known is not None:
            return self.jobs.add_final(key, *known)
        if not body.trusted:
            raise UntrustedWorkspace(f"`{body.function}` is not in the cache, and nothing of this workspace may run")
        payload = JobPayload(
            text=body.text,
            path=body.path,
            function=body.function,
            target=body.target,
            trusted=True,
            interpreter=question.interpreter,
            options=protocol.unstructure(body.options),
            project=await self._readers.read(body.path, process, project_of, body.path),
            common=question.common,
            by_target=question.by_target,
            offered="" if body.fresh else await self._found_elsewhere(question),
            fresh=body.fresh,
            said=[question.part.digest, question.part.own, question.part.inputs],
        )
        await self._earlier_read.wait()
        async with self._promises.turn(process):
            earlier = await self._in_store(self.journal.row, key) if key in self._earlier else None
            known = await self._answer_of(question, body.fresh)  # a job that was under way may have ended meanwhile
            if known is not None:
                return self.jobs.add_final(key, *known)
            job = self.jobs.submit(key, payload, body.priority, client, earlier, process)
            self._earlier.pop(key, None)
            if job.promised is not None:
                await asyncio.wrap_future(job.promised)  # what the client hears outlives a kill of this process
        return job

    async def _answer_of(self, asked: AskedQuestion, fresh: bool) -> tuple[str, KnownResult] | None:
        """A known answer, unless a `fresh` one is asked for or a search for it is under way."""
        if fresh or self.jobs.under_way(asked.key) is not None:
            return None
        return await self._known(asked)

    async def _subscribe(self, connection: Connection, ident: int, body: protocol.Subscribe) -> answers.Outcome:
        return await self.jobs.follow(self.jobs.find(body.job), lambda event: connection.send("event", ident, event))

    async def _cancel(self, connection: Connection, ident: int, body: protocol.Cancel) -> answers.CancelAnswer:
        return {"cancelled": self.jobs.cancel(body.job, connection.id)}

    async def _result(self, connection: Connection, ident: int, body: protocol.Result) -> answers.Outcome:
        job = self.jobs.find(body.job)
        if not job.final:
            raise UnknownJob(f"job {job.id} has no result yet: it is {job.state}", next_step="subscribe to it")
        return job.outcome()

    async def _lookup(self, connection: Connection, ident: int, body: protocol.Lookup) -> answers.Found:
        _, question = await project_requests.asked(self, body, connection.process)
        known = await self._known(question)
        return {"result": None if known is None else known[1].data}

    async def facts(self) -> answers.DaemonStatus:
        """What it does and has done."""
        active: list[answers.ActiveJob] = [
            {
                **job.event(),
                "key": job.key,
                "priority": job.priority,
                "wanted": len(job.wanted),
                "saves": sum(wish < 0 for wish in job.wanted),  # of watched projects; the others are clients
                "function": job.payload["function"],
                "path": job.payload["path"],
            }
            for job in self.jobs.active
        ]
        return {
            "pid": os.getpid(),
            "package": package_version(),
            "uptime_s": self._clock() - self._began,
            "clients": len(self._connections),
            "jobs": active,
            "counts": self.jobs.counts,
            "nodes": self.nodes(),
            "ended": [self._ended(job) for job in self.jobs.ended(SHOWN_ENDED)],
            "cache": await self._in_store(self._store.stats),
            "remote": None if self._remote is None else self._remote.status(),
            "sandbox": await asyncio.to_thread(confinement.holds),
            "projects": self.projects.watcher.rows(),
        }

    def _ended(self, job: Job) -> answers.EndedJob:
        """A job that is over, as `status` tells of it."""
        known, error = job.result, job.error or {}
        return {
            "job": job.id,
            "state": job.state,
            "function": job.payload["function"],
            "path": job.payload["path"],
            "ago_s": self._clock() - job.told,
            "reason": str(error.get("message", "")) if known is None else known.result.reason,
            "verdict": "" if known is None else known.headline,
            "error": str(error.get("code", "")),
        }

    async def _shutdown(self, connection: Connection, ident: int, body: protocol.Shutdown) -> answers.Stopping:
        log.info("client %d (%s) asked for the end", connection.id, connection.name)
        asyncio.get_running_loop().call_later(0.05, self.stop)  # the reply leaves first
        return {"stopping": True}


HANDLERS: dict[str, Handler] = {
    **dict(
        (
            answering(Requests.submit, Server._submit),
            answering(Requests.subscribe, Server._subscribe),
            answering(Requests.cancel, Server._cancel),
            answering(Requests.result, Server._result),
            answering(Requests.lookup, Server._lookup),
            answering(Requests.shutdown, Server._shutdown),
        )
    ),
    **project_requests.HANDLERS,
    **cache_requests.HANDLERS,
    **verify_requests.HANDLERS,
    **status_requests.HANDLERS,
}


def _ident(message: Message) -> int:
    ident = message.get("id")
    if not isinstance(ident, int) or isinstance(ident, bool) or not 0 <= ident < 1 << 63:
        raise ProtocolError("a request has no id")
    return ident


def _deadline(message: Message, default_s: float | None) -> float | None:
    deadline_s = message.get("deadline_s")
    if deadline_s is None:
        return default_s
    if isinstance(deadline_s, bool) or not isinstance(deadline_s, (int, float)) or not 0 < deadline_s <= MAX_DEADLINE_S:
        raise ProtocolError("a request's deadline_s is not a time")
    return float(deadline_s)
