"""A known answer over the socket: how long it takes, alone, among 32 clients, and beside 200 that dawdle."""

from __future__ import annotations

import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing import get_context

from daemonbench.process import TEXT, Daemon, Row, row, rss_bytes
from mirage.link import Client, client, paths, protocol

CLIENTS, PROCESSES, SLOW = 32, 2, 200
ALONE, EACH, PAUSE_S = 1000, 50, 0.2  # each of the many asks five times a second
MIB = 1 << 20


def percentile(times: list[float], p: float) -> float:
    return sorted(times)[min(len(times) - 1, int(len(times) * p))]


def ask(connection: Client) -> bool:
    """As an editor does: submit, which says that it is over, and the result. False where it was not known: our own code
    was changed meanwhile, and so the question."""
    job = connection.submit(TEXT, "a.py", "f")
    known = bool(job["state"] == "done")
    if not known:
        connection.subscribe(job["job"])
    assert connection.result(job["job"])["result"]["source"]
    return known


def timed(call: Callable[[], object], times: int, pause_s: float = 0.0) -> list[float]:
    """Milliseconds of each call but those that say False."""
    out: list[float] = []
    for _ in range(times):
        began = time.perf_counter()
        if call() is not False:
            out.append(1e3 * (time.perf_counter() - began))
        time.sleep(pause_s)
    return out


def crowd(clients: int, each: int, pause_s: float) -> list[float]:
    """One process with that many clients, each in a thread, each with a pause between its requests."""
    out: list[float] = []

    def one(seed: int) -> None:
        with Client.connect(start_daemon=False) as connection:
            ask(connection)
            time.sleep(pause_s * seed / clients)  # people do not type in step
            out.extend(timed(lambda: ask(connection), each, pause_s))

    threads = [threading.Thread(target=one, args=(i,)) for i in range(clients)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return out


def crowds(pause_s: float) -> list[float]:
    with get_context("spawn").Pool(PROCESSES) as pool:
        jobs = [pool.apply_async(crowd, (CLIENTS // PROCESSES, EACH, pause_s)) for _ in range(PROCESSES)]
        return [t for job in jobs for t in job.get()]


def greeting(connection: socket.socket) -> bytes:
    hello = protocol.Hello(protocol.VERSION, "0", "slow", token=paths.token(connection))
    return client.request(1, "hello", hello, 5.0)


def dawdlers(count: int) -> list[socket.socket]:
    """Half-open frames, silent ones, and such that ask and do not read."""
    out = []
    for i in range(count):
        connection = client.dial()
        if i % 4:
            connection.sendall(greeting(connection))
        if i % 4 == 1:
            connection.sendall(b"\x00\x10\x00\x00\x81")
        if i % 4 == 2:
            for n in range(2, 40):
                connection.sendall(client.request(n, "status", protocol.Status(), 5.0))
        out.append(connection)
    return out


def trickle(connections: list[socket.socket], stop: threading.Event) -> None:
    """One byte a second from those that began a frame."""
    while not stop.wait(1.0):
        for connection in connections:
            try:
                connection.send(b"\x80", socket.MSG_DONTWAIT)
            except OSError:
                continue


def latency() -> Iterator[Row]:
    with Daemon() as daemon:
        daemon.learn()
        with Client.connect(start_daemon=False) as connection:
            ask(connection)
            alone = timed(lambda: ask(connection), ALONE)
            yield row("cached result, one client: median", statistics.median(alone), "ms", "<= 3.0")
            yield row("cached result, one client: p99", percentile(alone, 0.99), "ms", "<= 10.0")
            looked = timed(lambda: connection.lookup(TEXT, "a.py", "f"), ALONE)
            yield row("lookup, one client: median", statistics.median(looked), "ms", "<= 3.0")
        many = crowds(PAUSE_S)
        yield row(f"cached result, {CLIENTS} clients: median", statistics.median(many), "ms", "<= 3.0")
        yield row(f"cached result, {CLIENTS} clients: p99", percentile(many, 0.99), "ms", "<= 10.0")
        yield row(f"cached result, {CLIENTS} clients: requests", 2.0 * len(many), "requests")
        full = crowds(0.0)
        yield row(f"cached result, {CLIENTS} clients without a pause: median", statistics.median(full), "ms")
        yield row("torch or triton in the daemon after submits", float(daemon.heavy()), "modules", "== 0")


def first() -> Iterator[Row]:
    """From a client that has imported `mirage.link.Client` (the package loads it when it is named) to its first answer; and what
    that import costs."""
    script = (
        "import time\nbegan = time.perf_counter()\nfrom mirage.link import Client\nread = time.perf_counter()\n"
        "with Client.connect(start_daemon=False) as c:\n    c.status()\n"
        "done = time.perf_counter()\nimport sys\n"
        "print(1e3 * (read - began), 1e3 * (done - read), len({'torch', 'triton', 'numpy', 'mirage_daemon'} & set(sys.modules)))\n"
    )
    with Daemon():
        said = [
            subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
            for _ in range(15)
        ]
    yield row("first answer of a running daemon: median", statistics.median(float(s[1]) for s in said), "ms", "<= 50.0")
    yield row("import mirage.link: median", statistics.median(float(s[0]) for s in said), "ms")
    heavy = max(int(s[2]) for s in said)
    yield row("heavy modules in a client", float(heavy), "modules", "== 0")


def slow() -> Iterator[Row]:
    with Daemon() as daemon:
        daemon.learn()
        with Client.connect(start_daemon=False) as connection:
            ask(connection)
            before = timed(lambda: ask(connection), 600, 0.002)
            stop, crowd_of = threading.Event(), dawdlers(SLOW)
            thread = threading.Thread(target=trickle, args=(crowd_of, stop))
            thread.start()
            time.sleep(0.5)
            beside = timed(lambda: ask(connection), 600, 0.002)
            stop.set()
            thread.join()
            ratio = statistics.median(beside) / statistics.median(before)
            tail = percentile(beside, 0.99) / percentile(before, 0.99)
            yield row(f"{SLOW} slow clients: median of the others", ratio, "x", "<= 2.0")
            yield row(f"{SLOW} slow clients: p99 of the others", tail, "x", "<= 2.0")
            until = time.monotonic() + 20
            while connection.status()["clients"] > 1 + SLOW // 2 and time.monotonic() < until:
                time.sleep(0.2)
            left = connection.status()["clients"] - 1
            yield row("slow clients that never greeted, or dawdle in a frame, after 20 s", float(max(0, left - SLOW // 2)),
                      "clients", "== 0")  # fmt: skip
            for c in crowd_of:
                c.close()


def nested(levels: int) -> bytes:
    return b"\x91" * levels + b"\x00"


def bombs() -> list[bytes]:
    """Payloads that are small and become large, or would."""
    size = protocol.MAX_FRAME
    head = b"\x82\xa4type\xa6status\xa1a"
    out = [
        head + b"\xdd\xff\xff\xff\xff", head + b"\xdf\xff\xff\xff\xff" + b"\x80" * 1000, head + b"\xc6\xff\xff\xff\xff",
        head + b"\xdd\x00\xff\xff\xff" + b"\x80" * (size - 40), head + b"\xdd\x00\xff\xff\xff" + b"\x90" * (size - 40),
        head + b"\xdc\xff\xff" + b"\x80" * 65535, nested(size - 2), head + nested(1000), head + b"\xc7\xff\x05",
        head + b"\xdb\x00\xff\xff\x00" + b"a" * (size - 300), b"\xa1a" * (size // 2), b"\xc1" * size,
        head + b"\xdd\x00\x00\xff\xff" + b"\xa0" * 65535, head + b"\xdf\x00\x00\x7f\xff" + b"\xa1a\x80" * 32767,
    ]  # fmt: skip
    for kind in (0x80, 0x90, 0xA0, 0xC0, 0xCB, 0x91):
        for count in (1000, 99_000, 101_000, 1_000_000, 4_000_000, 15_000_000):
            each = bytes([kind]) + (b"\x00" * 8 if kind == 0xCB else b"")
            out.append((head + b"\xdd" + count.to_bytes(4, "big") + each * count)[: size - 1])
    return out


def memory() -> Iterator[Row]:
    with Daemon() as daemon, Client.connect(start_daemon=False) as other:
        other.status()
        before, payloads, slowest = rss_bytes(daemon.pid), bombs(), 0.0
        for payload in payloads:
            connection = client.dial(30.0)
            connection.sendall(greeting(connection))
            began = time.monotonic()
            try:
                connection.sendall(len(payload).to_bytes(4, "big") + payload)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(1 << 16):
                    pass
            except OSError:
                pass  # it hung up on us, as it may
            slowest = max(slowest, time.monotonic() - began)
            connection.close()
        peak = rss_bytes(daemon.pid, "VmHWM")
        yield row(f"{len(payloads)} bombs: memory", (peak - before) / MIB, "MiB", "< 256.0")
        yield row("the longest bomb", slowest, "s", "<= 10.0")
        yield row("answers others after the bombs", float(other.status()["pid"] == daemon.pid), "", "== 1")
        for _ in range(20):  # twenty at once
            connection = client.dial(30.0)
            connection.sendall(greeting(connection) + (protocol.MAX_FRAME - 1).to_bytes(4, "big") + b"\x80" * (8 * MIB))
            connection.close()
        yield row("20 large frames at once: memory", (rss_bytes(daemon.pid, "VmHWM") - before) / MIB, "MiB", "< 256.0")


def rows(rounds: int = 1) -> Iterator[Row]:
    for _ in range(rounds):
        for part in (latency, first, slow, memory):
            yield from part()
