"""The pool of workers that do the jobs, each of a project's own interpreter and kept for the next job."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import cast

from mirage.errors import Cancelled, DaemonBusy, FileUnreadable, MirageError, WorkerDied
from mirage.isolate import Worker
from mirage.isolate.confinement import most_of_memory
from mirage.isolate.listening import WITH_ONE_OF_MANY
from mirage.results.progress import CancelToken, ProgressCounts
from mirage_daemon.jobs import Report
from mirage_daemon.journal import MAX_PARTS, JobPayload, Parts, size_of
from mirage_daemon.proposal import Proposal, with_word

log = logging.getLogger("mirage.daemon.workers")
# Reports the parts that others finish, and gives what they measured; raises Cancelled alone
WorkElsewhere = Callable[[JobPayload, Report, CancelToken], Proposal | None]
LOOK_S = 0.25  # how often a job that waits for its turn looks whether it was cancelled
JOB_TIMEOUT_S = 3600.0
VERIFY_S, PREPARE_S = 600.0, 120.0
PREPARE_AFTER_S = 6.0  # by then whoever judges by itself is done
PROPOSAL_S = 120.0  # what somebody else found may cost no more: a stranger's µGraph can be made to take long
TRIES = 2  # a worker that died may have met a fault of the machine; one that dies again has met the job's own
RIGHT_BUT_SLOW = (
    "right_but_slow"  # in an event: what was proposed is right, and here it is not faster than the function
)
IDLE_S = 120.0  # a worker that nobody needs for so long is ended
MOST_CALLS = 64  # then a worker is replaced: what leaks, leaks no further


def check_interpreter(path: str) -> str:
    """The interpreter that a client named, or this one; FileUnreadable unless it is an executable file's full path."""
    if not path:
        return sys.executable
    if not os.path.isabs(path) or not os.path.isfile(path) or not os.access(path, os.X_OK):
        raise FileUnreadable(
            f"the interpreter {path} is not the full path of an executable file",
            next_step="choose the project's Python interpreter in your editor",
        )
    return path


class Turn:
    """Lets `most` in at once (0: all), in the order in which they came."""

    def __init__(self, most: int) -> None:
        self._most, self._inside = most, 0
        self._changed, self._waiting = threading.Condition(), list[object]()

    @contextmanager
    def taken(self, cancel: CancelToken) -> Iterator[None]:
        """Waits for the turn; Cancelled where the job is not wanted any more."""
        me = object()
        with self._changed:
            self._waiting.append(me)
            try:
                while self._most and (self._inside >= self._most or self._waiting[0] is not me):
                    self._changed.wait(LOOK_S)
                    cancel.check()
                self._inside += 1
            finally:
                self._waiting.remove(me)
                self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()


class FinishedParts:
    """The parts of a job's searches, as many as fit into one message to a worker."""

    def __init__(self, known: Parts) -> None:
        self.parts: Parts = {search: dict(parts) for search, parts in known.items()}
        self._size = sum(size_of(s, name, line) for s, parts in self.parts.items() for name, line in parts.items())

    def note(self, event: Mapping[str, object]) -> None:
        """Takes up the part of an event, if it is one."""
        part = event.get("part")
        if isinstance(part, dict) and all(isinstance(part.get(k), str) for k in ("search", "name", "line")):
            more = size_of(part["search"], part["name"], part["line"])
            if self._size + more <= MAX_PARTS:
                self.parts.setdefault(part["search"], {})[part["name"]] = part["line"]
                self._size += more


@dataclass
class _Idle:
    interpreter: str
    worker: Worker
    calls: int
    since: float


class _Heard(Worker):
    """The worker may be anybody's, and others wait while it is heard."""

    patience = WITH_ONE_OF_MANY


class WorkerPool:
    """Workers that wait for the next job of their interpreter; a context manager. At most `most` wait, each at most `idle_s`.
    The process that is kept runs no user code (`mirage.pipeline.job_task`), so nothing of one job reaches the next one's answer.

    `elsewhere` searches before a worker here takes a job up, from the parts that it reports, or gives what a GPU elsewhere chose, which a
    worker here then judges; with it more than `most` jobs may come, and all but so many wait for their turn at the workers here."""

    def __init__(
        self,
        task: str = "optimize",
        *,
        most: int = 2,
        idle_s: float = IDLE_S,
        timeout_s: float = JOB_TIMEOUT_S,
        make: Callable[[str], Worker] | None = None,
        elsewhere: WorkElsewhere | None = None,
        clock: Callable[[], float] = time.monotonic,
        prepare_after_s: float = PREPARE_AFTER_S,
    ) -> None:
        self._prepare_after_s = prepare_after_s
        self._prepared = set[str]()  # interpreters whose worker is being made ready
        self._task, self._most, self._idle_s, self._timeout_s = task, most, idle_s, timeout_s
        most_bytes = (
            most_of_memory()
        )  # it has workers of its own, and none gets more than it may take itself: a GPU's needs a lot
        self._make = make or partial(
            _Heard, unix=True, unix_below=True, memory_bytes=most_bytes, total_bytes=most_bytes
        )
        self._clock, self._elsewhere, self._turn = clock, elsewhere, Turn(most if elsewhere else 0)
        self._lock = threading.Lock()
        self._idle: list[_Idle] = []  # the one that was used last is last
        self._closed, self.begun = threading.Event(), 0  # calls of jobs that a worker took up
        self._sweeper: threading.Thread | None = None

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End what waits; what is in use is ended when its call is over."""
        self._closed.set()
        self._end_idle(0, 0.0)

    @property
    def idle(self) -> list[tuple[str, int | None]]:
        """(interpreter, process) of the workers that wait."""
        with self._lock:
            return [(i.interpreter, i.worker.pid) for i in self._idle]

    def run_job(self, payload: JobPayload, report: Report, cancel: CancelToken) -> Mapping[str, object]:
        """One job, start to end. `payload` is the task's own, with the interpreter under "interpreter" and whose job it is
        under "project". A worker that dies is replaced once, and the search goes on from its finished parts."""
        interpreter, body = payload["interpreter"], payload.copy()
        del body["interpreter"]
        named: JobPayload = {"job": body.pop("job")} if "job" in body else {}  # for logs elsewhere: no worker needs it
        for own in ("project", "common", "by_target", "said", "fresh"):  # the daemon's alone
            body.pop(own, None)  # type: ignore[misc]
        offered = body.pop("offered", "")
        if offered:
            found = self._verified_here(body, offered, report, cancel, sys.executable)
            if found is not None:
                return found
        finished = FinishedParts(body.get("checkpoint", {}))

        def note_part(event: Mapping[str, object]) -> None:
            finished.note(event)
            report(event)

        if self._elsewhere is not None and "mugraph" not in body:
            there = self._elsewhere({**body, "checkpoint": finished.parts, **named}, note_part, cancel)
            if there is not None:
                found = self._verified_here(body, there.mugraph, report, cancel, interpreter)
                if found is not None:
                    return with_word(found, there)
        for tried in range(1, TRIES + 1):
            try:
                return self._call(interpreter, {**body, "checkpoint": finished.parts}, note_part, cancel)
            except WorkerDied as e:
                if tried == TRIES or cancel.cancelled:
                    raise
                log.warning("%s; the job is tried again in a fresh process", e.message)
                report({"counts": ProgressCounts(retries=tried).told()})
        raise AssertionError("unreachable")

    def _verified_here(
        self, body: JobPayload, mugraph: str, report: Report, cancel: CancelToken, interpreter: str
    ) -> Mapping[str, object] | None:
        """The answer that another environment or machine found, if this interpreter here verifies it and finds it faster too; None where
        the asker's has to search."""
        try:
            answer = self._call(interpreter, {**body, "mugraph": mugraph}, report, cancel, PROPOSAL_S)
        except Cancelled:
            raise
        except MirageError as e:
            log.info("what another environment or machine found is not taken over: %s", e.message)
            return None
        result = answer.get("result")
        if isinstance(result, dict) and result.get("answer") == "kernel":
            return answer
        report({RIGHT_BUT_SLOW: True})
        return None

    def judge(self, body: Mapping[str, object], interpreter: str, cancel: CancelToken) -> Mapping[str, object]:
        """The task `verify` (its payload but "warm"), by a worker of the interpreter that waits. DaemonBusy where none does: whoever asks
        is faster by itself then, and one is made ready for the next question a little later."""
        held = self._waiting(interpreter)
        if held is None:
            self._prepare_later(interpreter)
            raise DaemonBusy("no worker waits that could judge at once")
        return self._ask(held, "verify", body, lambda event: None, cancel, VERIFY_S)

    def _prepare_later(self, interpreter: str) -> None:
        with self._lock:
            if interpreter in self._prepared or self._closed.is_set():
                return
            self._prepared.add(interpreter)
        threading.Thread(target=self._prepare, args=(interpreter,), daemon=True, name="mirage-prepare").start()

    def _prepare(self, interpreter: str) -> None:
        try:
            if not self._closed.wait(self._prepare_after_s):
                self._ask(self._take(interpreter), "prepare_verify", {}, lambda event: None, CancelToken(), PREPARE_S)
        except MirageError as e:
            log.info("no worker is ready to judge: %s", e)
        finally:
            with self._lock:
                self._prepared.discard(interpreter)

    def _call(
        self, interpreter: str, body: JobPayload, report: Report, cancel: CancelToken, most_s: float = JOB_TIMEOUT_S
    ) -> Mapping[str, object]:
        task = "recheck" if "mugraph" in body else self._task
        with self._turn.taken(cancel):
            self.begun += 1
            return self._ask(self._take(interpreter), task, cast(Mapping[str, object], body), report, cancel, most_s)

    def _ask(
        self,
        held: _Idle,
        task: str,
        body: Mapping[str, object],
        report: Report,
        cancel: CancelToken,
        most_s: float,
    ) -> Mapping[str, object]:
        held.calls += 1
        try:
            return held.worker.call(
                task,
                {**body, "warm": held.calls < MOST_CALLS},
                timeout_s=min(most_s, self._timeout_s),
                cancel=cancel,
                on_event=report,
            )
        finally:
            self._give(held)

    def _waiting(self, interpreter: str) -> _Idle | None:
        with self._lock:
            for i in reversed(range(len(self._idle))):
                if self._idle[i].interpreter == interpreter:
                    return self._idle.pop(i)
        return None

    def _take(self, interpreter: str) -> _Idle:
        return self._waiting(interpreter) or _Idle(interpreter, self._make(interpreter), 0, 0.0)

    def _give(self, held: _Idle) -> None:
        """Keep the worker, if its process is alive and not worn out."""
        if held.worker.pid is None or held.calls >= MOST_CALLS or self._closed.is_set():
            held.worker.close()
            return
        held.since = self._clock()
        with self._lock:
            self._idle.append(held)
            if self._sweeper is None:
                self._sweeper = threading.Thread(target=self._sweep, daemon=True, name="mirage-idle-workers")
                self._sweeper.start()
        self._end_idle(self._most, self._idle_s)
        if self._closed.is_set():
            self._end_idle(0, 0.0)

    def _end_idle(self, most: int, idle_s: float) -> None:
        now = self._clock()
        with self._lock:
            kept = [i for i in self._idle if now - i.since < idle_s][-most:] if most else []
            ended = [i for i in self._idle if i not in kept]
            self._idle = kept
        for i in ended:
            i.worker.close()

    def _sweep(self) -> None:
        while not self._closed.wait(max(0.05, self._idle_s / 4)):
            self._end_idle(self._most, self._idle_s)
