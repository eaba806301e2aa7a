"""The shared cache measured: hits, a burst, servers that break or lie, and µGraphs with another meaning before the real verifier."""

from __future__ import annotations

import json
import random
import statistics
import sys
import threading
import time
from collections.abc import Iterator

from daemonbench.rows import Daemon, Row, at_most, row
from daemonbench.shared_cache_lies import changed_graphs, lies
from daemonbench.shared_cache_server import BROKEN, TOKEN, SharedCacheServer
from mirage.results.progress import CancelToken
from mirage.results.result import Result
from mirage_daemon.fault_breaker import FaultBreaker
from mirage_daemon.journal import JobPayload
from mirage_daemon.remote_cache import RemoteCache
from mirage_daemon.remote_entry import RemoteEntry
from mirage_daemon.remote_http import RemoteHttp, RemotePlace
from mirage_daemon.worker_pool import WorkerPool

HIT_MS = 50.0
BURST = 1000
FORGED = 12  # µGraphs of another meaning
FUNCTION = """\
import mirage
import torch


@mirage.optimize(inputs=[((64, 256), "fp16")])
def f(x):
    return torch.softmax(x, dim=-1)
"""


class Unbroken(FaultBreaker):
    """Lets every question through: each attack has its turn."""

    def enter(self) -> bool:
        return True


def entry(number: int) -> tuple[str, bytes]:
    """A key and an entry of a usual size."""
    body = [{"op": "exp", "dims": ["m", "n"], "i": i} for i in range(120)]
    graph = {"version": 1, "mugraph": {"name": f"f{number}", "body": body}}
    key = f"{number:064x}"
    made = RemoteEntry.of(key, Result("f", "kernel", "", (), "p" * 64, mugraphs=(graph,)))
    assert made is not None
    return key, made.to_bytes()


def client(server: SharedCacheServer, **deadlines: float) -> RemoteCache:
    return RemoteCache(RemoteHttp(RemotePlace.of(server.url, TOKEN), **deadlines), Unbroken())


def hits(rounds: int) -> Iterator[Row]:
    took = []
    with SharedCacheServer() as server:
        http = RemoteHttp(RemotePlace.of(server.url, TOKEN))
        for n in range(20):
            key, content = entry(n)
            server.entries[server.path_of(key)] = content
        for i in range(rounds):
            key = f"{i % 20:064x}"
            began = time.monotonic()
            content = http.get(key) or b""
            RemoteEntry.read(content, key)
            took.append((time.monotonic() - began) * 1000)
    yield row("hits: bytes of an entry", len(content), "B")
    yield at_most("hits: median from question to entry", statistics.median(took), "ms", HIT_MS)
    yield row("hits: 99th of 100", sorted(took)[int(len(took) * 0.99)], "ms")


def burst(_: int) -> Iterator[Row]:
    found: list[tuple[str, str]] = []
    with SharedCacheServer() as server:
        for n in range(BURST):
            key, content = entry(n)
            server.entries[server.path_of(key)] = content
        level, gate = client(server), threading.Barrier(BURST + 1)

        def ask(key: str) -> None:
            gate.wait()
            found.append((key, level.proposal(key, CancelToken())))

        threads = [threading.Thread(target=ask, args=(f"{n:064x}",)) for n in range(BURST)]
        for t in threads:
            t.start()
        gate.wait()
        began = time.monotonic()
        for t in threads:
            t.join()
        took = time.monotonic() - began
        level.close()
    wrong = sum(bool(text) and json.loads(text)["mugraph"]["name"] != f"f{int(key, 16)}" for key, text in found)
    yield row("burst: gets at once that found their entry", sum(bool(text) for _, text in found), f"of {BURST}")
    yield row("burst: another question's entry", wrong, "", "== 0", wrong == 0)
    yield at_most("burst: until the last has its answer", took, "s", 10.0)


def broken(_: int) -> Iterator[Row]:
    served, slowest = 0, 0.0
    for attack in BROKEN.values():
        with SharedCacheServer() as server:
            server.answers = attack
            level = client(server, first_byte_s=0.2, whole_s=0.6)
            began = time.monotonic()
            served += bool(level.proposal("ab" * 32, CancelToken()))
            slowest = max(slowest, time.monotonic() - began)
            level.close()
    yield row("broken: kinds of servers", len(BROKEN), "")
    yield row("broken: proposals that got through", served, "", "== 0", served == 0)
    yield at_most("broken: slowest, with 0.6 s for the whole", slowest, "s", 2.0)


def debris(rounds: int) -> Iterator[Row]:
    """Bytes changed at random: nothing but the entry itself is read as one."""
    draw, passed, honest = random.Random(5), 0, 0
    (key, good), (_, other) = entry(1), entry(2)
    table = lies(good, other)
    with SharedCacheServer() as server:
        level = client(server)
        for i in range(rounds):
            kind = draw.choice(sorted(table))
            content = bytearray(draw.choice((good, other, table[kind])))
            for _ in range(draw.randrange(1, 9)):
                content[draw.randrange(len(content))] ^= draw.randrange(1, 256)
            server.entries[server.path_of(key)] = bytes(content) if i % 10 else good
            text = level.proposal(key, CancelToken())
            honest += bool(text) and not i % 10
            passed += bool(text) and bool(i % 10)
        level.close()
    yield row("debris: entries tried", rounds, "")
    yield row("debris: read as an entry", passed, "", "== 0", passed == 0)
    yield row(
        "debris: whole ones between them that were read",
        honest,
        "",
        f"== {(rounds + 9) // 10}",
        honest == (rounds + 9) // 10,
    )


def verified(_: int) -> Iterator[Row]:
    """Two real daemons with homes of their own, and then µGraphs of another meaning under right digests."""
    with SharedCacheServer() as server:
        outcomes, took, said = [], [], {}
        for _ in range(2):
            with Daemon("", MIRAGE_REMOTE_CACHE_TOKEN=TOKEN) as daemon:
                place = daemon.home / "settings.json"
                place.write_text(json.dumps({"remote_cache": server.url, "remote_cache_first_byte_ms": 5000}))
                place.chmod(0o600)
                daemon.start()
                with daemon.client() as asking:
                    began = time.monotonic()
                    job = asking.submit(FUNCTION, "/p/a.py", "f", trusted=True, interpreter=sys.executable)["job"]
                    outcomes.append(asking.subscribe(job))
                    took.append(time.monotonic() - began)
                    until = time.monotonic() + 20
                    while not server.entries and time.monotonic() < until:
                        time.sleep(0.05)
                    said = asking.status()["remote"] or {}
        entries = list(server.entries.values())
    same = (
        all(o["state"] == "done" for o in outcomes)
        and outcomes[0]["result"]["mugraphs"] == outcomes[1]["result"]["mugraphs"]
    )
    yield row("verified: the second daemon has the first one's kernel", int(same), "", "== 1", same)
    taken = int(said.get("verified", 0))
    yield row("verified: proposals that it took", taken, "", "== 1", taken == 1)
    yield row("verified: search, first daemon", took[0], "s")
    yield row("verified: verified again, second daemon", took[1], "s")
    graph = outcomes[0]["result"]["mugraphs"][0]
    yield row("verified: bytes of the entry", len(entries[0]) if entries else 0, "B")
    yield from forged(graph)


def forged(graph: dict[str, object]) -> Iterator[Row]:
    """The daemon's own way with a proposal, each in the same warm worker."""
    body = JobPayload(text=FUNCTION, path="/p/a.py", function="f", target="sm_90", trusted=True)
    changed = list(changed_graphs(graph))
    random.Random(3).shuffle(changed)
    changed.sort(key=lambda c: not c.operator)
    wrong, right, costs = 0, 0, []
    with WorkerPool(most=1) as pool:

        def taken(one: object) -> bool:
            began = time.monotonic()
            answer = pool._verified_here(body, json.dumps(one), lambda event: None, CancelToken())
            costs.append(time.monotonic() - began)
            return answer is not None

        honest = taken(graph)
        for one in changed[:FORGED]:
            if taken(one.graph):
                wrong, right = wrong + one.operator, right + (not one.operator)
    yield row("forged: the honest one is taken", int(honest), "", "== 1", honest)
    tried = [one.operator for one in changed[:FORGED]]
    yield row("forged: µGraphs with another operator", sum(tried), "")
    yield row("forged: µGraphs with another number", len(tried) - sum(tried), "")
    yield row("forged: of the latter right too, and taken", right, "")
    yield row("forged: wrong kernels served", wrong, "", "== 0", wrong == 0)
    yield row("forged: median of a verdict", statistics.median(costs), "s")
