"""One client that asks for very much, thousands that ask nothing, a cache of a gigabyte: what another client feels of it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path

import msgpack

from daemonbench.rows import Daemon, Row, at_least, at_most, row, text
from daemonbench.wire import percentile, timed
from mirage.link import AsyncClient, Client, client, paths, protocol
from mirage.link.version import package_version
from mirage_daemon.cache_store import SqliteStore

LARGE, QUEUED, IDLE, ENTRIES, ENTRY = 253_000, 1000, 10_000, 100_000, 10_500
P99_MS, FIRST_S = 50.0, 2.0
SLOW_S = 4.0  # of a job of the noisy client, see served.py
PIPELINED = 16  # requests of one connection that are under way
KNOWN = "known"
ENDED = 8  # jobs that end while the next daemon takes them up, at most
MIB = 1 << 20


def large(name: str) -> str:
    """A file of LARGE characters whose one decorated function has a name of its own."""
    one = "def {}(x, y={}):\n    z = x * {} + y\n    return [z, x - y, {{'a': z}}]\n\n\n"
    helpers, size, i = [], 0, 0
    while size < LARGE:
        helpers.append(one.format(f"helper_{i}", i, i))
        size, i = size + len(helpers[-1]), i + 1
    return "".join(helpers) + text(name)


def pour(count: int, told: object) -> None:
    """In a process of its own: submit so many large jobs as fast as one connection takes them; says how many were taken."""

    async def main() -> int:
        turns = asyncio.Semaphore(PIPELINED)
        async with AsyncClient(name="noisy", start_daemon=False) as noisy:

            async def one(i: int) -> None:
                async with turns:
                    await noisy.submit(large(f"large_{i}"), f"/noisy{i}/a.py", f"large_{i}", priority=0)

            done = await asyncio.gather(*(one(i) for i in range(count)), return_exceptions=True)
        return sum(not isinstance(d, BaseException) for d in done)

    told.put(asyncio.run(main()))  # type: ignore[attr-defined]


def known(other: Client) -> None:
    """As an editor asks for what is known: submit, and the result."""
    job = other.submit(text(KNOWN), "/other/a.py", KNOWN)
    assert job["state"] == "done" and other.result(job["job"])["result"]


def beside(call: Callable[[], object], until: Callable[[], bool]) -> list[float]:
    """Milliseconds of each call, a hundred a second at most, until something is over."""
    found = timed(call, 1)
    while not until():
        found += timed(call, 1, 0.01)
    return found


def soon(name: str, times: list[float]) -> Row:
    return at_most(f"{name}: p99 of {len(times)}", percentile(times, 0.99), "ms", P99_MS)


def jobs(percent: int) -> Iterator[Row]:
    """A client pours in large jobs, another works; then kill -9, and the next daemon takes them up."""
    count, context = QUEUED * percent // 100, get_context("spawn")
    with Daemon("slow") as daemon:
        daemon.start()
        other = daemon.client()
        other.subscribe(other.submit(text(KNOWN), "/other/a.py", KNOWN)["job"])
        alone = timed(lambda: known(other), 300)
        yield row("known answer, alone: p99", percentile(alone, 0.99), "ms")
        told = context.Queue()
        noisy = context.Process(target=pour, args=(count, told))
        noisy.start()
        until = time.monotonic() + 30
        while (
            not any(job["function"].startswith("large") for job in other.status()["jobs"]) and time.monotonic() < until
        ):
            time.sleep(0.05)
        began, answers, looks = time.monotonic(), [], []
        while noisy.is_alive():
            answers += timed(lambda: known(other), 5, 0.005)
            looks += timed(other.status, 1, 0.005)
        yield row(f"{count} jobs of {LARGE // 1000} kB: taken in within", time.monotonic() - began, "s")
        yield at_least("of them taken", told.get(), "", count)
        yield soon("known answer beside them", answers)
        yield soon("status beside them", looks)
        waiting = len(other.status()["jobs"])
        yield row("jobs that wait", waiting)
        yield row("the daemon's memory", daemon.memory(), "MiB")
        began = time.monotonic()
        state = other.subscribe(other.submit(text("small"), "/other/a.py", "small", priority=1)["job"])["state"]
        yield at_most("a small job of another client", time.monotonic() - began, "s", 3 * SLOW_S)
        assert state == "done"
        other.close()
        yield from restarted(daemon, waiting)


def restarted(daemon: Daemon, count: int) -> Iterator[Row]:
    """The next daemon, of which `count` jobs are waited for: some end meanwhile."""
    daemon.kill()
    began = daemon.start()
    with daemon.client() as other:
        assert other.lookup(text(KNOWN), "/q/b.py", KNOWN) is not None
        yield at_most(f"kill -9 with {count} jobs: first answer", time.monotonic() - began, "s", FIRST_S)
        yield row("processor time of the daemon until then", daemon.processor(), "s")
        seen = 0

        def taken_up() -> bool:
            nonlocal seen
            seen = max(seen, len(other.status()["jobs"]))
            return seen >= count - ENDED or time.monotonic() - began > 120

        times = beside(lambda: known(other), taken_up)
        yield row("all of them taken up within", time.monotonic() - began, "s")
        yield at_least("jobs that are there again", seen, "", count - ENDED)
        yield soon("known answer beside the take-up", times)


def idle(percent: int) -> Iterator[Row]:
    """Clients that said hello and ask nothing."""
    count = IDLE * percent // 100
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, count + 1000) if hard > 0 else count + 1000, hard))
    with Daemon("short") as daemon, contextlib.ExitStack() as stack:
        daemon.start()
        other = stack.enter_context(daemon.client())
        other.subscribe(other.submit(text(KNOWN), "/other/a.py", KNOWN)["job"])
        before, began = daemon.memory(), time.monotonic()
        hello = protocol.Hello(protocol.VERSION, package_version(), "idle", token=_token())
        for _ in range(count):
            one = stack.enter_context(client.dial(60.0))
            one.sendall(client.request(1, "hello", hello, 60.0))
            assert one.recv(4096)
        yield row(f"{count} idle clients: connected within", time.monotonic() - began, "s")
        yield at_least("clients", other.status()["clients"], "", count + 1)
        yield row("the daemon's memory for them", daemon.memory() - before, "MiB")
        yield soon("known answer beside them", timed(lambda: known(other), 500, 0.002))


def _token() -> str:
    with contextlib.closing(client.dial()) as one:
        return paths.token(one)


def fill(count: int) -> None:
    """The stopped daemon's cache: so many results, of ENTRY bytes each."""
    store = SqliteStore(paths.data_dir(), clock=lambda: time.time() - 7200.0)  # used longer ago than what is asked for
    store._db.execute("PRAGMA synchronous=OFF")
    (entry,) = store.page("result", b"", 1)
    state, data, origin = msgpack.unpackb(store.get("result", entry.key) or b"", strict_map_key=False)
    for i in range(count):
        padded = {**data, "source": f"# {i}\n" + "#" * ENTRY}
        store.put("result", i.to_bytes(32, "big"), msgpack.packb([state, padded, origin]))
    store.close()
    os.sync()  # what is filled in here at once came in the course of months


def cache(percent: int) -> Iterator[Row]:
    """A full cache: the start, lookups, `list` and `gc` beside lookups, and the disk's room afterwards."""
    count = ENTRIES * percent // 100
    with Daemon("short") as daemon:
        daemon.start()
        with daemon.client() as other:
            other.subscribe(other.submit(text(KNOWN), "/other/a.py", KNOWN)["job"])
        daemon.kill()
        fill(count)
        file = Path(os.environ["MIRAGE_HOME"], "data", "cache-v1.sqlite")
        yield row(f"cache of {count} entries", file.stat().st_size / MIB, "MiB")
        began = daemon.start()
        with daemon.client() as other, daemon.client() as busy:
            assert other.lookup(text(KNOWN), "/q/b.py", KNOWN) is not None
            yield at_most("start to first answer", time.monotonic() - began, "s", FIRST_S)
            yield soon("known answer", timed(lambda: known(other), 500))
            yield from aside("list", lambda: listed(busy), other)
            yield from aside("gc", lambda: busy.cache("gc", limit_bytes=100 << 20), other)
            yield at_most("the file after gc to 100 MiB", file.stat().st_size / MIB, "MiB", 160.0)
            assert other.lookup(text(KNOWN), "/q/b.py", KNOWN) is not None


def listed(busy: Client) -> int:
    after, found = "", 0
    while True:
        page = busy.cache("list", after=after)
        found, after = found + len(page["results"]), page["after"]
        if not after:
            return found


def aside(name: str, work: Callable[[], object], other: Client) -> Iterator[Row]:
    """How long it takes, and what another client feels meanwhile."""
    began, thread = time.monotonic(), threading.Thread(target=work)
    thread.start()
    times = beside(lambda: known(other), lambda: not thread.is_alive())
    yield row(f"{name}: all of it", time.monotonic() - began, "s")
    yield soon(f"known answer beside {name}", times)
