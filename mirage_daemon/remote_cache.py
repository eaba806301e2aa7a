"""The cache that several machines share, behind the one on disk: what it has is a proposal, verified here before anybody gets it.

A job asks it in its own thread, just before it would search. The µGraph that comes back goes the way of one that another
environment found: planned, emitted, verified, compiled and timed by the daemon's own interpreter, then kept on disk as
this machine's answer. What was searched here is uploaded, and nobody waits for that.

A machine without a GPU first asks for what one with the target's GPU measured. Its times are shown as that machine's, beside
the estimate of this one.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Mapping
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as StillWaiting

from mirage.errors import MirageError, RemoteCacheFault
from mirage.link.answers import RemoteCacheNumbers
from mirage.results.progress import CancelToken
from mirage.results.result import Result
from mirage_daemon.fault_breaker import FaultBreaker
from mirage_daemon.jobs import Report, RunJob
from mirage_daemon.journal import JobPayload
from mirage_daemon.proposal import Proposal, with_word
from mirage_daemon.remote_entry import RemoteEntry, mugraph_text
from mirage_daemon.remote_place import RemoteStore
from mirage_daemon.worker_pool import RIGHT_BUT_SLOW

log = logging.getLogger("mirage.daemon.remote")
READERS = 8  # entries that are read at once
MAX_UPLOADS = 32  # that wait; more are dropped
MAX_GIVEN = 1024  # proposals of which it is known what became of them
UNSOUND = b""  # the digest of what was no entry
LOOK_S = 0.05  # how often a job that waits looks whether it was cancelled
MORE_S = 0.2  # beyond the exchange's own deadline, which a resolver of names does not know


class RemoteCache:
    """Its calls raise nothing that a server can cause: a fault is counted, logged, and told by `status`. `has_gpu`: whether this
    machine may measure by itself."""

    def __init__(self, store: RemoteStore, breaker: FaultBreaker | None = None, *, has_gpu: bool = True) -> None:
        self._store, self._breaker, self._has_gpu = store, breaker or FaultBreaker(), has_gpu
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="mirage-remote")
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="mirage-upload")
        self._lock = threading.Lock()
        self._asked: dict[str, Future[Proposal | None]] = {}  # by key: one exchange for all that want the same
        self._given: OrderedDict[str, bytes] = OrderedDict()  # key -> digest of the µGraph that was proposed
        self._counts: Counter[str] = Counter()
        self._problem, self._may_write, self._waiting, self._closed = "", True, 0, False

    def before(self, run_job: RunJob) -> RunJob:
        """`run_job`, with what the shared cache proposes, where nothing else was proposed."""

        def run(payload: JobPayload, report: Report, cancel: CancelToken) -> Mapping[str, object]:
            if not _is_shared(payload) or payload.get("offered") or payload.get("fresh"):
                return run_job(payload, report, cancel)
            payload, found, by_target = payload.copy(), None, payload.get("by_target", "")
            if by_target and not self._has_gpu:
                found = self.proposed(by_target, cancel, measured=True)
            if found is None:
                found, by_target = self.proposed(payload["common"], cancel), ""
            payload["offered"] = "" if found is None else found.mugraph
            cancel.check()

            def told(body: Mapping[str, object]) -> None:
                if by_target and body.get(RIGHT_BUT_SLOW):  # by this machine's estimate: the server did not lie
                    self._forget(by_target)
                report(body)

            answer = run_job(payload, told, cancel)
            return answer if found is None or found.measured is None else with_word(answer, found)

        return run

    def proposal(self, question: str, cancel: CancelToken) -> str:
        """The µGraph (JSON) under a question's key; "" where there is none, or none in time. Blocks for at most the deadlines of
        the exchange."""
        found = self.proposed(question, cancel)
        return "" if found is None else found.mugraph

    def proposed(self, question: str, cancel: CancelToken, *, measured: bool = False) -> Proposal | None:
        """What lies under a key; None where there is nothing, or nothing in time. `measured`: the key is that of a target, and an entry
        without times is none. Blocks as `proposal` does."""
        with self._lock:
            asked = self._asked.get(question)
            if asked is None:
                if self._closed or not self._breaker.enter():
                    return None
                asked = self._asked[question] = self._readers.submit(self._read, question, measured)
        until = time.monotonic() + self._store.whole_s + MORE_S
        while not cancel.cancelled:
            try:
                return asked.result(LOOK_S)
            except CancelledError:
                return None
            except StillWaiting:
                if time.monotonic() > until:
                    self._give_up(question, asked)
                    return None
        return None

    def keep(self, payload: JobPayload, result: Result) -> None:
        """An answer that was found or verified here: it is uploaded, unless the shared cache is where it comes from. What was
        measured here lies under the target's key too."""
        if not _is_shared(payload):
            return
        by_target, fresh = payload.get("by_target", ""), bool(payload.get("fresh"))
        self._offer(payload["common"], result, fresh, give=result.elsewhere is None)
        if by_target:
            here = result.estimate is not None and result.estimate.measured
            self._offer(by_target, result, fresh, give=here and result.elsewhere is None)

    def _offer(self, question: str, result: Result, fresh: bool, *, give: bool) -> None:
        """Judges what was proposed under a key, and gives the server the answer."""
        refused = self._judge(question, result)
        entry = RemoteEntry.of(question, result) if give else None
        if entry is None:
            return
        with self._lock:
            from_there = self._given.get(question) == _digest(entry.mugraph)
            if self._closed or from_there or not self._may_write or self._waiting >= MAX_UPLOADS:
                return
            self._waiting += 1
            self._writer.submit(self._upload, entry, replace=refused or fresh)

    def status(self) -> RemoteCacheNumbers:
        return {
            "url": self._store.name,
            "pause_s": self._breaker.pause_s,
            "problem": self._problem,
            "proposed": self._counts["proposed"],
            "misses": self._counts["misses"],
            "verified": self._counts["verified"],
            "refused": self._counts["refused"],
            "faults": self._counts["faults"],
            "uploaded": self._counts["uploaded"],
        }

    def close(self) -> None:
        """Waits for nothing."""
        with self._lock:
            self._closed = True
        for threads in (self._readers, self._writer):
            threads.shutdown(wait=False, cancel_futures=True)
        self._store.close()

    def _read(self, question: str, measured: bool) -> Proposal | None:
        """In a reader's thread."""
        content: bytes | None = None
        word = None
        try:
            content = self._store.get(question)
            entry = None if content is None else RemoteEntry.read(content, question)
            if entry is not None and measured:
                word = entry.word(self._store.name)
        except RemoteCacheFault as e:
            self._fault(e)
            if content is not None:
                self._remember(question, UNSOUND)
            return None
        finally:
            with self._lock:
                self._asked.pop(question, None)
        self._count("misses" if entry is None else "proposed")
        if entry is None:
            self._breaker.worked()
            return None
        self._remember(question, _digest(entry.mugraph))  # whether it was worth asking is known once it is verified
        return Proposal(entry.mugraph, word)

    def _forget(self, question: str) -> None:
        with self._lock:
            self._given.pop(question, None)

    def _remember(self, question: str, given: bytes) -> None:
        with self._lock:
            self._given[question] = given
            while len(self._given) > MAX_GIVEN:
                self._given.popitem(last=False)

    def _give_up(self, question: str, asked: Future[Proposal | None]) -> None:
        """An exchange that no deadline ends waits for a resolver of names, or for others that do."""
        with self._lock:
            first = self._asked.get(question) is asked
            if first:
                del self._asked[question]
        if first:
            asked.cancel()
            self._fault(RemoteCacheFault(f"{self._store.name} is not found within {self._store.whole_s:g} s"))

    def _judge(self, question: str, result: Result) -> bool:
        """Whether what was proposed for a question is not what answers it. A server whose proposals do not hold is left alone like
        one that fails."""
        with self._lock:
            given = self._given.get(question)
        if given is None or given == UNSOUND:
            return given is not None
        if result.answer == "kernel" and len(result.mugraphs) == 1 and _digest(mugraph_text(result)) == given:
            self._count("verified")
            self._breaker.worked()
            return False
        self._count("refused")
        self._fault(RemoteCacheFault(f"{self._store.name} proposed a µGraph for `{result.function}` that is not taken"))
        return True

    def _upload(self, entry: RemoteEntry, *, replace: bool) -> None:
        """In the writer's thread. What is there stays, unless it was refused here or a fresh answer was asked for."""
        try:
            if self._breaker.pause_s and not replace:
                return
            if not replace and self._store.has(entry.question):
                return
            if self._store.put(entry.question, entry.to_bytes()):
                self._count("uploaded")
                return
            self._may_write = False
            log.info("%s may be read, not written, with this token", self._store.name)
        except RemoteCacheFault as e:
            self._fault(e)
        finally:
            with self._lock:
                self._waiting -= 1

    def _count(self, what: str) -> None:
        with self._lock:
            self._counts[what] += 1

    def _fault(self, error: MirageError) -> None:
        self._count("faults")
        self._problem = error.message
        alone = f"; it is left alone for {self._breaker.pause_s:g} s" if self._breaker.failed() else ""
        log.warning("%s%s", error, alone)


def _is_shared(payload: JobPayload) -> bool:
    """Whether the daemon's own interpreter can verify an answer to it; a user's own laws are nobody else's."""
    return bool(payload.get("common")) and not (payload.get("options") or {}).get("rules")


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
