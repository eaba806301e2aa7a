"""The shared cache in S3 and in Redis measured against real servers: hits, a burst, a killed server, broken ones, and lies."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Iterator

from daemonbench.rows import Row, at_most, row
from daemonbench.shared_cache_lies import lies
from daemonbench.shared_cache_real import (
    BROKEN_REDIS,
    REDIS_TOKEN,
    S3_TOKEN,
    BrokenRedis,
    RealServer,
    RedisServer,
    S3Server,
)
from daemonbench.shared_cache_server import BROKEN, SharedCacheServer
from daemonbench.sharedcache import BURST, HIT_MS, Unbroken, entry
from mirage.errors import RemoteCacheFault
from mirage.results.progress import CancelToken
from mirage_daemon.remote_cache import READERS, RemoteCache
from mirage_daemon.remote_entry import RemoteEntry
from mirage_daemon.remote_place import RemoteStore, open_store

ENTRIES = 20
KEY = "ab" * 32
# Lies with the form, the digest and the question of an entry: only verifying their µGraphs can tell.
WELL_SIGNED = (
    "a changed kernel",
    "another entry under this question",
    "no µGraph",
    "no JSON",
    "deep JSON",
    "a module in place of a µGraph",
)
SLOWEST_S = 2.8  # of a question: the whole exchange's two seconds, and a busy machine


def s3(rounds: int) -> Iterator[Row]:
    with S3Server() as server:
        yield from _real("s3", server, S3_TOKEN, rounds)

    def broken(name: str) -> tuple[bool, float, str]:
        with SharedCacheServer("") as liar:
            liar.answers = BROKEN[name]
            return _asked(open_store(f"s3://b?endpoint=http://127.0.0.1:{liar.port}", S3_TOKEN))

    yield from _broken("s3", list(BROKEN), broken)


def redis(rounds: int) -> Iterator[Row]:
    with RedisServer() as server:
        yield from _real("redis", server, REDIS_TOKEN, rounds)

    def broken(name: str) -> tuple[bool, float, str]:
        with BrokenRedis(BROKEN_REDIS[name]) as liar:
            return _asked(open_store(liar.url))

    yield from _broken("redis", list(BROKEN_REDIS), broken)


def _real(kind: str, server: RealServer, token: str, rounds: int) -> Iterator[Row]:
    store = open_store(server.url, token)
    for n in range(ENTRIES):
        store.put(*entry(n))
    took = []
    for i in range(rounds):
        key = f"{i % ENTRIES:064x}"
        began = time.monotonic()
        RemoteEntry.read(store.get(key) or b"", key)
        took.append((time.monotonic() - began) * 1000)
    yield at_most(f"{kind}: median from question to entry", statistics.median(took), "ms", HIT_MS)
    yield row(f"{kind}: 99th of 100", sorted(took)[int(len(took) * 0.99)], "ms")
    yield from _burst(kind, open_store(server.url, token, first_byte_s=5.0))
    yield from _lies(kind, store)
    server.kill()
    found, lasted, said = _asked(store)
    yield at_most(f"{kind}: a killed server costs", lasted, "s", SLOWEST_S)
    yield row(f"{kind}: and is told of", bool(said), "", "== 1", bool(said) and not found)


def _burst(kind: str, store: RemoteStore) -> Iterator[Row]:
    """A thousand questions at once, each for one of the entries' keys, straight to the server."""
    right: list[bool] = []
    gate = threading.Barrier(BURST + 1)

    def ask(key: str) -> None:
        gate.wait()
        try:
            with readers:
                found = store.get(key)
            right.append(found is not None and RemoteEntry.read(found, key).question == key)
        except RemoteCacheFault:
            right.append(False)

    readers = threading.BoundedSemaphore(READERS)  # as many as a daemon reads at once

    threads = [threading.Thread(target=ask, args=(f"{n % ENTRIES:064x}",)) for n in range(BURST)]
    for t in threads:
        t.start()
    gate.wait()
    began = time.monotonic()
    for t in threads:
        t.join()
    yield row(
        f"{kind}: gets at once that found their entry", sum(right), f"of {BURST}", f"== {BURST}", sum(right) == BURST
    )
    yield row(f"{kind}: until the last has its answer", time.monotonic() - began, "s")
    store.close()


def _lies(kind: str, store: RemoteStore) -> Iterator[Row]:
    """What is no entry of its question is none. A well-signed one with a changed µGraph passes as a proposal, which the verifier judges
    (`verified`, `forged`); an old version that is replayed is one such, or another question's."""
    (key, good), (_, other) = entry(1), entry(2)
    passed, told = [], 0
    for name, content in lies(good, other).items():
        store.put(key, content)
        level = RemoteCache(store, Unbroken())
        if level.proposal(key, CancelToken()):
            passed.append(name)
        told += bool(level.status()["problem"])
    wrong = set(passed) - set(WELL_SIGNED)
    yield row(f"{kind}: kinds of lies", len(lies(good, other)), "")
    yield row(f"{kind}: that are left to the verifier", len(passed) - len(wrong), "")
    yield row(f"{kind}: others that were read as an entry", len(wrong), "", "== 0", not wrong)
    yield row(f"{kind}: told of", told, "")


def _asked(store: RemoteStore) -> tuple[bool, float, str]:
    """Whether a question got a proposal, the seconds that it took, and what is said of it."""
    level = RemoteCache(store, Unbroken())
    began = time.monotonic()
    found = bool(level.proposal(KEY, CancelToken()))
    lasted, said = time.monotonic() - began, level.status()["problem"]
    level.close()
    return found, lasted, said


def _broken(kind: str, names: list[str], ask: Callable[[str], tuple[bool, float, str]]) -> Iterator[Row]:
    answers = {name: ask(name) for name in names}
    got = sum(found for found, _, _ in answers.values())
    yield row(f"{kind}: kinds of broken servers", len(names), "")
    yield row(f"{kind}: proposals that got through", got, "", "== 0", got == 0)
    yield at_most(f"{kind}: slowest of them", max(lasted for _, lasted, _ in answers.values()), "s", SLOWEST_S)
    told = sum(bool(said) for _, _, said in answers.values())
    yield row(f"{kind}: told of by `status`", told, "")
