"""The journal of promised jobs and the finished parts of their searches, from which the next daemon goes on.

A row of kind `job` is written before its client has an answer and deleted when the job is over; rows of kind `part` come
while it runs. All are entries of the store, with its digest and MAC: nobody else can hand the daemon a job.

Calls may come from any thread, but for those that say otherwise. They are done in the store's thread in the order in which they
are made, so that the end of a job never overtakes its beginning. Another thread waits for the disk: lookups go on meanwhile.
"""

from __future__ import annotations

import hashlib
import logging
import zlib
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace
from functools import partial
from typing import ParamSpec, TypedDict, TypeVar

import msgpack

from mirage.errors import CannotWrite
from mirage.ir.json_value import JsonObject
from mirage.link.request_parameters import Inputs
from mirage_daemon.cache_store import CacheStore

log = logging.getLogger("mirage.daemon.journal")
JOB, PART = "job", "part"
KEY_BYTES = 32
EVERY = -1  # entries of a page
# bytes of one part, of all parts of a job: more are searched again. All of them fit into one message to a worker.
MAX_PART, MAX_PARTS = 16 << 20, 40 << 20
MAX_NAME = 1000
COMPRESSION = (
    1  # of a job, which is text mostly: takes less time than to write it as it is, and lookups wait for the disk
)
Parts = dict[str, dict[str, str]]  # search -> name of the part -> its line, see mirage.search.checkpoint
_COMPRESSED = zlib.compress(b"", COMPRESSION)[:1]  # with which no list of msgpack's begins
P = ParamSpec("P")
T = TypeVar("T")


class JobPayload(TypedDict, total=False):
    """What a job is about, as its request said it, made complete by the daemon. `question` (the question's digest) and
    `mugraph` stand in the jobs that verify a colleague's answer, `checkpoint` where an earlier run finished parts. `common` is the
    question's key for the daemon's own interpreter, `by_target` the one under which another machine's measured answer lies,
    `offered` the µGraph that another environment found for it, `fresh` that nobody's is wanted, `said` what the text says of the
    function (FunctionText without its least text): the next daemon need not parse it. `job` is the name under which logs tell of it, here
    and on a cluster's nodes."""

    text: str
    path: str
    function: str
    target: str
    trusted: bool
    interpreter: str
    options: JsonObject
    inputs: Inputs
    project: str
    question: str
    mugraph: str
    common: str
    by_target: str
    offered: str
    fresh: bool
    said: list[str]
    checkpoint: Parts
    job: str


@dataclass(frozen=True)
class PromisedJob:
    """A promised job. `starts` counts the daemons that died while it ran, since its search last got further than `parts`
    parts."""

    key: str
    payload: JobPayload
    priority: int
    starts: int = 0
    parts: int = 0


class Journal:
    """`thread` is the store's own, and runs one call after the other; `disk` waits for the disk (None: `thread` does)."""

    def __init__(self, store: CacheStore, thread: Executor, disk: Executor | None = None) -> None:
        self._store, self._thread, self._disk = store, thread, disk or thread
        self._sizes: dict[str, int] = {}  # bytes of the parts, by job; in the store's thread

    def begin(self, row: PromisedJob) -> Future[bool | None]:
        """Promise the job; True when the promise is durable. A store that cannot be written costs the promise alone."""
        return self._on_disk(self._do(self._begin, row))

    def payload(self, key: str) -> Future[JobPayload | None]:
        """What a promised job is about; None where its row is not there, or not sound."""
        return self._do(self._payload, key)

    def unbegin(self, row: PromisedJob) -> Future[None]:
        """The daemon stops, and does not die: this start of the job does not count. It keeps its place in the order."""
        return self._do(self._unbegin, row)

    def end(self, key: str) -> Future[None]:
        """The job is over: forget it and its parts."""
        return self._do(self._end, key)

    def put_part(self, key: str, part: object) -> None:
        """Keep what a job's worker says is a finished part; waits until it is durable, so that a search cannot outrun the
        disk. What does not fit is dropped: the search is repeated there."""
        if not isinstance(part, dict) or set(part) != {"search", "name", "line"}:
            return
        search, name, line = part["search"], part["name"], part["line"]
        if not all(isinstance(x, str) for x in (search, name, line)):
            return
        if len(search) + len(name) > MAX_NAME or len(line) > MAX_PART:
            return
        self._on_disk(self._do(self._put_part, key, search, name, line)).result()

    def parts(self, key: str) -> Parts:
        """The parts that are kept of a job."""
        found: Parts = {}
        self._do(self._parts, key, found).result()
        return found

    def rows(self) -> list[PromisedJob]:
        """The jobs that were promised and are not over, the oldest first. In the store's thread."""
        return [row for key in self.keys() if (row := self.row(key)) is not None]

    def keys(self) -> list[str]:
        """The keys of `rows`, of which some may not be sound: nothing long is read. Parts without a job are deleted. In the
        store's thread."""
        promised = sorted(self._store.page(JOB, b"", EVERY), key=lambda e: e.created)
        keys = {entry.key for entry in promised}
        for entry in self._store.page(PART, b"", EVERY):
            if entry.key[:KEY_BYTES] not in keys:
                self._store.delete(PART, entry.key)
        return [entry.key.hex() for entry in promised]

    def row(self, key: str) -> PromisedJob | None:
        """A promised job, with the parts that it got to; None where its row is not sound. In the store's thread."""
        value = self._store.get(JOB, bytes.fromhex(key), touch=False)
        if value is None:  # unsound, and dropped by the store; or the disk did not read it just now
            return None
        row = _opened(key, value)
        if row is None:
            self._end(key)
            return None
        kept = len(self._store.page(PART, b"", EVERY, key))
        return replace(row, starts=0, parts=kept) if kept > row.parts else row  # it got further before the daemon died

    def _do(self, call: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> Future[T | None]:
        try:
            return self._thread.submit(_quietly, partial(call, *arguments, **named))
        except RuntimeError:  # the daemon ends: the store is closed, what it has is what the next one finds
            done: Future[T | None] = Future()
            done.set_result(None)
            return done

    def _on_disk(self, written: Future[T | None]) -> Future[T | None]:
        """As `written`, but done once that is on the disk."""
        done: Future[T | None] = Future()

        def synced(value: T | None) -> None:
            try:
                done.set_result(value if _quietly(self._synced) else None)
            except BaseException as e:  # whatever it is, it is the waiting one's
                done.set_exception(e)

        def then(written: Future[T | None]) -> None:
            error = written.exception()
            if error is not None:
                done.set_exception(error)
                return
            try:
                self._disk.submit(synced, written.result())
            except RuntimeError:  # the daemon ends
                done.set_result(None)

        written.add_done_callback(then)
        return done

    def _synced(self) -> bool:
        self._store.sync()
        return True

    def _begin(self, row: PromisedJob) -> bool:
        value = zlib.compress(msgpack.packb([row.payload, row.priority, row.starts, row.parts]), COMPRESSION)
        # a job that is promised again, since it starts, keeps its place among the others
        created = next((entry.created for entry in self._store.page(JOB, b"", 1, row.key)), None)
        self._store.put(JOB, bytes.fromhex(row.key), value, created=created)
        return True

    def _payload(self, key: str) -> JobPayload | None:
        value = self._store.get(JOB, bytes.fromhex(key), touch=False)
        row = None if value is None else _opened(key, value)
        return None if row is None else row.payload

    def _unbegin(self, row: PromisedJob) -> None:
        if self._store.page(JOB, b"", 1, row.key):
            self._begin(replace(row, starts=row.starts - 1))

    def _end(self, key: str) -> None:
        self._sizes.pop(key, None)
        self._store.delete(JOB, bytes.fromhex(key))
        for entry in self._store.page(PART, b"", EVERY, key):
            self._store.delete(PART, entry.key)

    def _put_part(self, key: str, search: str, name: str, line: str) -> None:
        size = self._sizes.get(key, 0) + size_of(search, name, line)
        if size > MAX_PARTS:
            return
        self._sizes[key] = size
        place = bytes.fromhex(key) + hashlib.sha256(f"{search} {name}".encode()).digest()
        self._store.put(PART, place, msgpack.packb([search, name, line]))

    def _parts(self, key: str, found: Parts) -> None:
        size = 0
        for entry in self._store.page(PART, b"", EVERY, key):
            value = self._store.get(PART, entry.key, touch=False)
            if value is not None:
                search, name, line = msgpack.unpackb(value)
                found.setdefault(search, {})[name] = line
                size += size_of(search, name, line)
        self._sizes[key] = size


def size_of(search: str, name: str, line: str) -> int:
    """Bytes that a part takes of a message, about."""
    return len(search) + len(name) + (len(line) if line.isascii() else len(line.encode("utf-8", "replace")))


def _opened(key: str, value: bytes) -> PromisedJob | None:
    """The row; its MAC says that we wrote it, but another version may have had another form for it."""
    packed = zlib.decompress(value) if value[:1] == _COMPRESSED else value  # an older version wrote it as it is
    found = msgpack.unpackb(packed, strict_map_key=False)
    kinds = (dict, int, int, int)
    if isinstance(found, list) and len(found) == len(kinds) and all(map(isinstance, found, kinds)):
        return PromisedJob(key, *found)
    log.warning("a job of another version of the daemon is given up")
    return None


def _quietly(call: Callable[[], T]) -> T | None:
    """What the call gives. A promise or a part that cannot be written costs time after a kill, not an answer now."""
    try:
        return call()
    except CannotWrite as e:
        log.warning("not kept: %s", e)
        return None
