"""Jobs of the daemon: one for each question, however many clients want it; the most urgent first, with events to listeners.

Everything here happens in the event loop's thread, except `run_job` itself, which blocks in a thread of its own.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, fields, replace

from mirage.errors import Cancelled, MirageError, ProtocolError, UnknownJob, WorkerDied
from mirage.ir.json_value import JsonObject
from mirage.link.answers import JobCounts, JobEvent, Outcome
from mirage.link.protocol import FINAL, STATES
from mirage.results.progress import CancelToken, ProgressCounts
from mirage_daemon.admission import Admission
from mirage_daemon.crash_suspects import MAX_STARTS, Suspects
from mirage_daemon.job_order import DAEMON, Turns
from mirage_daemon.journal import JobPayload, Journal, PromisedJob
from mirage_daemon.known_result import KnownResult

log = logging.getLogger("mirage.daemon.jobs")
TEXTS_IN_MEMORY = 16 << 20  # characters of the texts of waiting jobs; others lie in the journal until their job's turn
LONG = ("text", "mugraph", "offered")  # of a payload, what may lie in the journal alone
MOST_AT_ONCE = 1024  # jobs that run, here or elsewhere: each has a thread that waits for it
MAX_FINAL = 256  # jobs that are over and whose result can still be asked for
EVENT_EVERY_S = 0.05  # counts change faster than anyone reads them; a new state is always told
MAX_BEST = 500
ANSWERS = {"kernel": "done", "compile": "done", "library": "done", "keep": "kept"}  # Result.answer -> the job's state

Report = Callable[[Mapping[str, object]], None]  # takes what a worker says of its progress, unchecked
Listener = Callable[[JobEvent], None]
RunJob = Callable[[JobPayload, Report, CancelToken], Mapping[str, object]]


@dataclass(eq=False)
class Job:
    """`wanted` holds the clients that asked for it, `processes` theirs, `process` that of the first, in whose share the job is.
    `listeners` get every event's body."""

    id: str
    key: str
    payload: JobPayload = field(repr=False)
    priority: int = 1
    state: str = "queued"
    counts: ProgressCounts = field(default_factory=ProgressCounts)
    best: str = ""
    result: KnownResult | None = field(default=None, repr=False)
    error: JsonObject | None = None
    wanted: set[int] = field(default_factory=set)
    process: int = DAEMON
    processes: set[int] = field(default_factory=set)
    characters: int = 0  # of its texts
    in_journal: bool = False  # and there alone
    listeners: list[Listener] = field(default_factory=list, repr=False)
    cancel: CancelToken = field(default_factory=CancelToken, repr=False)
    over: asyncio.Event = field(default_factory=asyncio.Event, repr=False)
    told: float = float("-inf")
    starts: int = 0  # see journal.PromisedJob
    parts: int = 0
    begun: bool = False  # by this daemon
    taken_back: bool = False  # nobody wants it any more
    promised: Future[bool | None] | None = None  # done when a kill of the daemon no longer loses the job

    @property
    def project(self) -> str:
        return str(self.payload.get("project", ""))

    @property
    def row(self) -> PromisedJob:
        return PromisedJob(self.key, self.payload, self.priority, self.starts, self.parts)

    @property
    def final(self) -> bool:
        return self.state in FINAL

    def event(self) -> JobEvent:
        """The body of protocol.Event."""
        return {"job": self.id, "state": self.state, "counts": self.counts.told(), "best": self.best}

    def outcome(self) -> Outcome:
        """The reply to `result`."""
        result = None if self.result is None else self.result.data
        return {"state": self.state, "result": result, "error": self.error}


class Jobs:
    """`run_job(payload, progress, cancel)` gives {"result": a Result as plain data}; `keep(job)` is awaited before a job is
    announced as done or kept, so that an announced result is never lost. With a `journal` every job is promised there until
    it is over, except by the daemon's end: then the next daemon takes it up, with the parts that its search finished. `workers`:
    how many run at once; what says so may say more later, and is asked whenever a job comes or ends."""

    def __init__(
        self,
        run_job: RunJob,
        *,
        workers: int | Callable[[], int],
        keep: Callable[[Job], Awaitable[None]] | None = None,
        journal: Journal | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._run_job, self._keep, self._clock = run_job, keep, clock
        self._workers = workers if callable(workers) else lambda: workers
        self._journal, self._closing = journal, False
        self._threads = ThreadPoolExecutor(MOST_AT_ONCE, thread_name_prefix="mirage-job")
        self._queue: Turns[Job] = Turns()
        self._suspects: Suspects[Job] = Suspects(self._let_in)
        self._active: dict[str, Job] = {}  # by key
        self._by_id: dict[str, Job] = {}  # those that are not over
        self._admission, self._in_memory = Admission(), 0  # characters of texts
        self._final: OrderedDict[str, Job] = OrderedDict()  # by id, the oldest first
        self._running: dict[str, asyncio.Task[None]] = {}
        self._ended_as = Counter[str]()

    @property
    def counts(self) -> JobCounts:
        """How many wait and run now, and how many ended since the start, by how they did: what was known before is among none."""
        queued = sum(job.state == "queued" for job in self._active.values())
        return {
            "queued": queued,
            "running": len(self._active) - queued,
            "done": self._ended_as["done"],
            "kept": self._ended_as["kept"],
            "failed": self._ended_as["failed"],
            "cancelled": self._ended_as["cancelled"],
        }

    @property
    def active(self) -> list[Job]:
        return list(self._active.values())

    def ended(self, most: int) -> list[Job]:
        """The jobs that ended last, the latest first; none whose answer was known before, or that was cancelled and
        asked for again."""
        found: list[Job] = []
        later = set(self._active)
        for job in reversed(self._final.values()):
            if job.payload and len(found) < most and (job.state != "cancelled" or job.key not in later):
                found.append(job)
            later.add(job.key)
        return found

    def submit(
        self,
        key: str,
        payload: JobPayload,
        priority: int,
        client: int,
        earlier: PromisedJob | None = None,
        process: int = DAEMON,
    ) -> Job:
        """The job for `key`: the one that is under way, or a new one. More urgent wishes move it forward. `earlier`: what
        the journal says of it. DaemonBusy where no more of this client's `process` fits in."""
        job = self.under_way(key)
        if job is None:
            self._admission.check(process)
            starts, parts = (earlier.starts, earlier.parts) if earlier else (0, 0)  # asking again is no new beginning
            job = self._add(PromisedJob(key, payload, priority, starts, parts), process)
        job.priority = min(job.priority, priority)
        job.wanted.add(client)
        job.processes.add(process)
        self._queue.join(job)
        self._pump()
        return job

    def take_up(self, row: PromisedJob, *, kept: bool) -> None:
        """Go on with a job that an earlier daemon promised, unless it is under way. `kept`: the journal has the very row."""
        if self.under_way(row.key) is None:
            self._add(row, DAEMON, kept=kept)
            self._pump()

    def _add(self, row: PromisedJob, process: int, *, kept: bool = False) -> Job:
        job = Job(
            secrets.token_hex(8), row.key, row.payload, row.priority, starts=row.starts, parts=row.parts,
            process=process, processes={process}, characters=sum(len(str(row.payload.get(name, ""))) for name in LONG),
        )  # fmt: skip
        self._active[job.key] = self._by_id[job.id] = job
        self._admission.enter(process, job.characters)
        self._in_memory += job.characters
        if self._journal is not None and kept:
            self._leave_in_journal(job)
        elif self._journal is not None:
            job.promised = self._journal.begin(job.row)
            self._leave_later(job, job.promised)
        log.info("job %s queued (key %s)", job.id, job.key[:12])
        if not self._suspects.hold(job):
            self._queue.push(job)
        if self._closing:  # it is the next daemon's
            self._end(job, "cancelled", error=Cancelled("the daemon stopped").to_dict())
        return job

    def add_final(self, key: str, state: str, result: KnownResult) -> Job:
        """A job that is over before it began: its result was known."""
        job = Job(secrets.token_hex(8), key, {}, state=state, result=result)
        job.over.set()
        self._remember(job)
        return job

    def find(self, ident: str) -> Job:
        """The job of that id, active or over; UnknownJob otherwise."""
        found = self._final.get(ident) or self._by_id.get(ident)
        if found is None:
            raise UnknownJob(f"no job {ident[:40]!r}")
        return found

    def under_way(self, key: str) -> Job | None:
        """The job that works on `key`, unless it was told to stop."""
        job = self._active.get(key)
        return None if job is None or job.cancel.cancelled else job

    def cancel(self, ident: str, client: int) -> bool:
        """`client` no longer wants the job; whether it was stopped, because nobody else does."""
        job = self.find(ident)
        job.wanted.discard(client)
        if job.final or job.wanted:
            return False
        job.taken_back = True
        job.cancel.cancel()
        if job.state == "queued":
            self._end(job, "cancelled", error=Cancelled("the job was cancelled before it began").to_dict())
        return True

    def drop_client(self, client: int) -> None:
        """The client is gone. What it wanted goes on (it is useful to the next one), but it no longer holds it."""
        for job in self._active.values():
            job.wanted.discard(client)

    async def follow(self, job: Job, listener: Listener) -> Outcome:
        """Tell `listener` the present state and every later one, until the job is over; then its outcome."""
        listener(job.event())
        job.listeners.append(listener)
        try:
            await job.over.wait()
        finally:
            job.listeners.remove(listener)
        return job.outcome()

    async def close(self, timeout_s: float = 10.0) -> None:
        """Stop everything; for those who listen jobs end as cancelled, and so does what is asked for from now on."""
        self._closing = True
        for job in self.active:
            job.wanted.clear()
            job.cancel.cancel()
            if job.state == "queued":
                self._end(job, "cancelled", error=Cancelled("the daemon stopped").to_dict())
        if self._running:
            await asyncio.wait(list(self._running.values()), timeout=timeout_s)
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _leave_later(self, job: Job, promised: Future[bool | None]) -> None:
        loop = asyncio.get_running_loop()

        def leave(done: Future[bool | None]) -> None:
            if not done.cancelled() and done.result() and not loop.is_closed():
                loop.call_soon_threadsafe(self._leave_in_journal, job)

        promised.add_done_callback(leave)

    def _leave_in_journal(self, job: Job) -> None:
        """A job that waits holds no text in memory where many do: it lies in the journal, durable."""
        waits = job.state == "queued" and job.id not in self._running
        if waits and not job.in_journal and self._in_memory > TEXTS_IN_MEMORY:
            job.in_journal, job.payload = True, job.payload.copy()
            self._in_memory -= job.characters
            for name in LONG:
                job.payload.pop(name, None)  # type: ignore[misc]

    async def _read_back(self, job: Job) -> None:
        assert self._journal is not None  # else nothing lies there
        payload = await asyncio.wrap_future(self._journal.payload(job.key))
        if job.final:
            return
        if payload is None:
            raise MirageError("the job's text is not in the cache any more", next_step="ask again")
        job.in_journal, job.payload = False, payload
        self._in_memory += job.characters

    def _let_in(self, job: Job) -> None:
        self._queue.push(job)
        self._pump()

    def _pump(self) -> None:
        """Start what is most urgent, while there are free workers."""
        while self._queue and len(self._running) < min(self._workers(), MOST_AT_ONCE):
            job = self._queue.pop()
            self._running[job.id] = asyncio.get_running_loop().create_task(self._run(job))

    async def _run(self, job: Job) -> None:
        loop = asyncio.get_running_loop()

        def report(body: Mapping[str, object]) -> None:
            if self._journal is not None and "part" in body:
                self._journal.put_part(job.key, body["part"])
            else:
                loop.call_soon_threadsafe(self._advance, job, body)

        def work() -> tuple[str, KnownResult]:
            return _read_answer(self._run_job(self._begin(job), report, job.cancel))

        try:
            if job.in_journal and not job.final:
                await self._read_back(job)
            if job.final:  # cancelled just before its turn
                return
            self._advance(job, {"state": "tracing"})
            state, job.result = await loop.run_in_executor(self._threads, work)
            if self._keep is not None:
                await self._keep_quietly(job, state)
            self._end(job, state)
        except Cancelled as e:
            self._end(job, "cancelled", error=e.to_dict())
        except MirageError as e:
            self._end(job, "failed", error=e.to_dict())
        except Exception as e:  # a mistake of ours; the daemon goes on, the client is told, the log has the rest
            log.exception("job %s failed", job.id)
            self._end(job, "failed", error=MirageError(f"the daemon failed: {type(e).__name__}").to_dict())
        finally:
            self._running.pop(job.id, None)
            self._pump()

    def _begin(self, job: Job) -> JobPayload:
        """The payload with the job's name, and with what an earlier run of it finished. In the job's thread."""
        if self._journal is None:
            return {**job.payload, "job": job.id}
        known = self._journal.parts(job.key)
        parts = sum(map(len, known.values()))
        if job.starts >= MAX_STARTS:
            raise WorkerDied(
                f"the daemon died {MAX_STARTS} times while this job ran, and it got no further between them"
            )
        job.starts, job.begun = job.starts + 1, True
        self._journal.begin(job.row)
        if known:
            log.info("job %s goes on from %d finished parts", job.id, parts)
        return {**job.payload, "checkpoint": known, "job": job.id}

    async def _keep_quietly(self, job: Job, state: str) -> None:
        """Keep the result; a cache that cannot be written costs the next one time, not this one its answer."""
        assert self._keep is not None
        final = Job(job.id, job.key, job.payload, state=state, result=job.result)
        try:
            await self._keep(final)
        except MirageError as e:
            log.warning("the result of job %s is not kept: %s", job.id, e)

    def _advance(self, job: Job, body: Mapping[str, object]) -> None:
        """Take over a progress event. It comes from a process that ran user code, so only its known parts count."""
        if job.final:
            return
        before, state = job.state, body.get("state")
        if isinstance(state, str) and state in STATES and state not in FINAL:
            job.state = state
        counts = body.get("counts")
        if isinstance(counts, dict):
            known = {f.name: counts.get(f.name) for f in fields(ProgressCounts)}
            job.counts = replace(job.counts, **{k: v for k, v in known.items() if type(v) is int and 0 < v < 1 << 63})
        best = body.get("best")
        if isinstance(best, str):
            job.best = best[:MAX_BEST]
        if job.state != before or self._clock() - job.told >= EVENT_EVERY_S:
            self._tell(job)

    def _end(self, job: Job, state: str, error: JsonObject | None = None) -> None:
        job.state, job.error = state, error
        self._ended_as[state] += 1
        if self._active.get(job.key) is job:  # after a cancellation another may have taken its place
            del self._active[job.key]
            if self._journal is not None:
                self._settle(self._journal, job)
        del self._by_id[job.id]
        self._admission.leave(job.process, job.characters)
        self._in_memory -= 0 if job.in_journal else job.characters
        job.payload = job.payload.copy()
        for name in (*LONG, "said"):  # not needed once the job is over, and long
            job.payload.pop(name, None)  # type: ignore[misc]
        self._queue.discard(job)
        self._remember(job)
        log.info("job %s %s%s", job.id, state, f" ({error.get('code')})" if error else "")
        self._tell(job)
        job.over.set()

    def _settle(self, journal: Journal, job: Job) -> None:
        """What the journal still says of a job that ended: nothing, unless it is the next daemon's."""
        if not self._closing or job.state != "cancelled" or job.taken_back:
            journal.end(job.key)
        elif job.begun:
            journal.unbegin(job.row)

    def _tell(self, job: Job) -> None:
        job.told = self._clock()
        for listener in list(job.listeners):
            listener(job.event())

    def _remember(self, job: Job) -> None:
        self._final[job.id] = job
        while len(self._final) > MAX_FINAL:
            self._final.popitem(last=False)


def _read_answer(answer: Mapping[str, object]) -> tuple[str, KnownResult]:
    """(state, result) of what a worker gave; ProtocolError when it is not a result, ModuleRefused when its module holds what
    none does that this version emits: the worker may be anybody's."""
    from mirage.verify.structure.loadable import check_loadable

    result = answer.get("result") if isinstance(answer, Mapping) else None
    try:
        known = KnownResult.of(result)
    except ProtocolError as e:
        raise ProtocolError(f"the worker's answer: {e.message}") from None
    check_loadable(known.result.source)
    return ANSWERS[known.result.answer], known
