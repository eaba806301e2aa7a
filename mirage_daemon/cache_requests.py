"""Handlers of the requests about the cache, a colleague's µGraphs, the explanation of an answer, and the log.

An entry of the kind `result` is [state, result, origin]. The origin is what a colleague's daemon needs in order to ask
the same question and to verify the answer: the least text of the function, its target, options and learned inputs.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, cast

import msgpack

from mirage.errors import MirageError, NotVerified, ProtocolError, UnknownEntry
from mirage.ir.json_value import JsonObject
from mirage.link import answers, paths, protocol
from mirage.link.requests import Requests
from mirage_daemon import garbage_collection, question_key
from mirage_daemon.cache_store import StoredEntry
from mirage_daemon.connection import Connection
from mirage_daemon.handler import answering
from mirage_daemon.journal import JobPayload
from mirage_daemon.known_result import KnownResult

if TYPE_CHECKING:
    from mirage_daemon.jobs import Job
    from mirage_daemon.server import Server

MAX_MUGRAPH = 1 << 20  # characters of a µGraph's JSON
REMEMBERED = 64  # entries that are not read anew for every client that asks
AT_ONCE = 16  # entries that are read before others have their turn in the store's thread
PAGE_ROWS, PAGE_BYTES, PAGE_VALUES = 200, 4 << 20, 50_000  # a frame has twice as many values at most
MAX_LINES, LOG_TAIL = 1000, 1 << 18
LONG = ("source", "mugraphs")  # of a result, what an explanation leaves out
Found = tuple[str, KnownResult, answers.Origin]  # state, result, origin: what an entry of the kind `result` holds


def origin(job: Job) -> answers.Origin:
    """What stands beside a result in the cache, for an export."""
    asked = job.payload
    try:
        least = question_key.least(asked["text"], asked["path"], asked["function"])
    except MirageError:  # it was read when it was asked; kept without a way to a colleague
        least = ""
    kept = {name: value for name, value in asked.items() if name in ("function", "target", "options", "inputs")}
    return cast(answers.Origin, {**kept, "text": least})


async def adopt(server: Server, connection: Connection, ident: int, body: protocol.Adopt) -> answers.Submitted:
    """A job that verifies what a colleague found; what it finds right is kept like an answer of this machine's own."""
    if body.options.rules:
        raise NotVerified("it was proved by laws that the file brings along, and a stranger's laws are not believed")
    if len(body.mugraph) > MAX_MUGRAPH:
        raise ProtocolError(f"a µGraph of {len(body.mugraph)} characters is over the limit of {MAX_MUGRAPH}")
    asked = await server._ask(body, connection.process)
    question, interpreter = asked.key, asked.interpreter
    known = await server._known(asked)
    if known is not None:
        job = server.jobs.add_final(question, *known)
    else:
        own = hashlib.sha256(f"adopt {question} {body.mugraph}".encode("utf-8", "surrogatepass")).hexdigest()
        payload = JobPayload(
            text=body.text,
            path=body.path,
            function=body.function,
            mugraph=body.mugraph,
            target=body.target,
            options=protocol.unstructure(body.options),
            inputs=body.inputs,
            trusted=True,
            interpreter=interpreter,
            question=question,
            project="import",
        )
        job = server.jobs.submit(own, payload, 2, connection.id, process=connection.process)
    return {"job": job.id, "key": question, "state": job.state}


async def explain(server: Server, connection: Connection, ident: int, body: protocol.Explain) -> answers.Explanation:
    job = server.jobs.find(body.job)
    data = {} if job.result is None else job.result.data
    said = {name: value for name, value in data.items() if name not in LONG}
    return cast(answers.Explanation, {**job.event(), "error": job.error, **said})


async def log(server: Server, connection: Connection, ident: int, body: protocol.Log) -> answers.LogLines:
    if not 0 < body.lines <= MAX_LINES:
        raise ProtocolError(f"the log is given in 1 to {MAX_LINES} lines, not {body.lines}")

    def tail() -> list[str]:
        try:
            with open(paths.log_path(), "rb") as file:
                file.seek(max(0, file.seek(0, 2) - LOG_TAIL))
                return file.read().decode("utf-8", "replace").splitlines()[-body.lines :]
        except FileNotFoundError:
            return []

    return {"lines": await asyncio.to_thread(tail)}


async def cache(server: Server, connection: Connection, ident: int, body: protocol.Cache) -> answers.CacheAnswer:
    action = ACTIONS.get(body.do)
    if action is None:
        raise ProtocolError(f"the cache can {', '.join(ACTIONS)}; not {body.do[:40]!r}")
    return cast(answers.CacheAnswer, await action(server, body))


async def _list(server: Server, body: protocol.Cache) -> Mapping[str, object]:
    rows: list[answers.CacheRow] = []
    async for entry, (state, known, begin) in _results(server, body):
        rows.append(
            answers.CacheRow(
                key=entry.key.hex(),
                size=entry.size,
                created=entry.created,
                used=entry.used,
                state=state,
                function=known.result.function,
                target=str(begin.get("target", "")),
                reason=known.result.reason,
                verdict=known.headline,
            )
        )
        if len(rows) == PAGE_ROWS:
            return {"results": rows, "after": rows[-1]["key"]}
    return {"results": rows, "after": ""}


async def _show(server: Server, body: protocol.Cache) -> Mapping[str, object]:
    found = [row async for row in _results(server, body)] if body.key else []
    if len(found) != 1:
        raise UnknownEntry(f"{len(found) or 'no'} results have a key that begins with {body.key[:64]!r}")
    entry, (state, known, begin) = found[0]
    return answers.CacheResult(**_facts(entry), state=state, result=known.data, origin=begin)


async def _export(server: Server, body: protocol.Cache) -> Mapping[str, object]:
    """What a colleague's daemon needs; verdict and reason go along for people, no daemon reads them."""
    rows: list[answers.CacheRow] = []
    size = passed = values = 0
    async for entry, (state, known, begin) in _results(server, body):
        one = known.result.mugraphs[0] if len(known.result.mugraphs) == 1 else None
        if state != "done" or one is None or not begin.get("text") or (begin.get("options") or {}).get("rules"):
            passed += 1
            continue
        says: JsonObject = {"reason": known.result.reason, "versions": dict(known.result.versions)}
        rows.append(cast(answers.CacheRow, {**begin, "mugraph": one, "says": says}))
        size, values = size + entry.size, values + _values(rows[-1])
        if size > PAGE_BYTES or values > PAGE_VALUES:
            return {"results": rows, "passed": passed, "after": entry.key.hex()}
    return {"results": rows, "passed": passed, "after": ""}


async def _verify(server: Server, body: protocol.Cache) -> Mapping[str, object]:
    before = (await server._in_store(server._store.stats))["entries"]
    entries = await server._in_store(lambda: list(server._store.entries()))
    sound = 0
    for part in _parts(entries):
        sound += await server._in_store(_count_sound, server, part)
    return {"sound": sound, "refused": max(0, before - sound)}


async def _gc(server: Server, body: protocol.Cache) -> Mapping[str, object]:
    limit = None if body.limit_bytes < 0 else body.limit_bytes
    older = None if body.older_s < 0 else body.older_s
    deleted = await garbage_collection.collect(server, limit, older)
    return {"deleted": deleted, **await server._in_store(server._store.stats)}


ACTIONS: dict[str, Callable[[Server, protocol.Cache], Awaitable[Mapping[str, object]]]] = {
    "list": _list,
    "show": _show,
    "export": _export,
    "verify": _verify,
    "gc": _gc,
}


async def _results(server: Server, body: protocol.Cache) -> AsyncIterator[tuple[StoredEntry, Found]]:
    """(entry, what it holds) of the sound results whose key begins with `body.key` and comes after `body.after`."""
    try:
        after = bytes.fromhex(body.after)
    except ValueError:
        raise ProtocolError(f"`after` is the end of a page, not {body.after[:40]!r}") from None
    while part := await server._in_store(server._store.page, "result", after, AT_ONCE, body.key):
        after = part[-1].key
        for entry, value in await asyncio.to_thread(_opened, await server._in_store(_read, server, part)):
            yield entry, value


@lru_cache(maxsize=REMEMBERED)
def opened(value: bytes) -> Found | None:
    """(state, result, origin) of an entry, whose MAC says that we wrote it; None where this version has another schema."""
    state, data, *begin = msgpack.unpackb(value, strict_map_key=False)
    try:
        return str(state), KnownResult.of(data), begin[0] if begin else answers.Origin()
    except ProtocolError:
        return None


def _parts(entries: list[StoredEntry]) -> Iterator[list[StoredEntry]]:
    for i in range(0, len(entries), AT_ONCE):
        yield entries[i : i + AT_ONCE]


def _read(server: Server, entries: list[StoredEntry]) -> list[tuple[StoredEntry, bytes]]:
    """In the store's thread."""
    found = [(e, server._store.get(e.kind, e.key, touch=False)) for e in entries]
    return [(e, value) for e, value in found if value is not None]


def _opened(entries: list[tuple[StoredEntry, bytes]]) -> list[tuple[StoredEntry, Found]]:
    """Those of another schema are left out. Takes longer than reading them: not in the store's thread."""
    found = [(e, opened(value)) for e, value in entries]
    return [(e, result) for e, result in found if result is not None]


def _count_sound(server: Server, entries: list[StoredEntry]) -> int:
    """In the store's thread."""
    return len(_read(server, entries))


def _values(data: object) -> int:
    """As a frame counts them."""
    if isinstance(data, dict):
        return 1 + len(data) + sum(map(_values, data.values()))
    return 1 + sum(map(_values, data)) if isinstance(data, list) else 1


def _facts(entry: StoredEntry) -> answers.CacheEntry:
    return {"key": entry.key.hex(), "size": entry.size, "created": entry.created, "used": entry.used}


HANDLERS = dict(
    (
        answering(Requests.adopt, adopt),
        answering(Requests.explain, explain),
        answering(Requests.cache, cache),
        answering(Requests.log, log),
    )
)
