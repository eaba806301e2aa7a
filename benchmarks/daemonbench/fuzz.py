"""Random and mutated conversations. In memory they meet the server's own code from the first byte to the last; over the
socket they meet a daemon process."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import random
import socket
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from daemonbench.process import TEXT, Daemon, Home, Row, row, rss_bytes
from mirage.errors import MirageError
from mirage.link import Client, client, paths, protocol, requests
from mirage.results.codec import unstructure
from mirage.results.result import Result
from mirage_daemon.cache_store import SqliteStore
from mirage_daemon.connection import ConnectionLimits
from mirage_daemon.server import Server

FRAMES, OVER_SOCKET = 1_000_000, 20_000
MOST_FRAMES, HANG_S = 40, 1.0  # of one conversation
TURNS = 30  # of the event loop without a byte read: then it waits for more than we send
MIB = 1 << 20
WORDS = ("", "a" * 16, "../../etc/passwd", "\x00", "é" * 300, "f", TEXT, "sm_90", "list", "gc", "-1", "verify")
NEVER = ("shutdown",)  # it does what it says


def greeting(token: str = "") -> bytes:
    return client.request(1, "hello", protocol.Hello(protocol.VERSION, "0", "fuzz", token=token), 5.0)


def value(chance: random.Random, depth: int = 0) -> Any:
    kind = chance.randrange(9 if depth < 4 else 6)
    if kind == 0:
        return chance.choice(WORDS)
    if kind == 1:
        return chance.choice((0, 1, -1, 2**63, -(2**63), 2**31, 255, chance.randrange(1 << 40)))
    if kind == 2:
        return chance.choice((0.0, -1.5, float("inf"), float("nan"), 1e300))
    if kind == 3:
        return chance.choice((None, True, False))
    if kind == 4:
        return chance.randbytes(chance.randrange(20))
    if kind == 5:
        return chance.choice(WORDS)
    if kind == 6:
        return [value(chance, depth + 1) for _ in range(chance.randrange(5))]
    return {chance.choice(WORDS)[:40]: value(chance, depth + 1) for _ in range(chance.randrange(5))}


def body(chance: random.Random, cls: type) -> Any:
    """Most often of the right form, with odd values; else with things wrong."""
    right, out = chance.random() < 0.8, {}
    for field in cls.__attrs_attrs__:  # type: ignore[attr-defined]
        fitting: dict[str, Any] = {
            "str": chance.choice(WORDS),
            "int": chance.randrange(-5, 2000),
            "float": chance.random() * 10,
            "bool": chance.random() < 0.5,
            "Inputs": [["x", [4, chance.randrange(-2, 99)], "fp16"]],
        }
        kind = getattr(field.type, "__name__", str(field.type))
        if right and (kind in fitting or field.name == "inputs"):
            out[field.name] = fitting.get(kind, fitting["Inputs"])
        elif not right and chance.random() < 0.8:
            out[field.name] = value(chance)
    return out


def frame(chance: random.Random) -> bytes:
    kind = chance.choice([k for k in requests.BY_NAME if k not in NEVER])
    message = {"type": kind, "id": chance.randrange(1 << 16), "body": body(chance, requests.BY_NAME[kind].body)}
    if chance.random() < 0.7:
        message["deadline_s"] = chance.choice((0.01, 0.5, 5.0)) if chance.random() < 0.9 else value(chance)
    try:
        data = bytearray(protocol.encode(message))
    except (ValueError, OverflowError, UnicodeError, MirageError):
        return frame(chance)
    how = chance.randrange(40)
    if how < 30:
        return bytes(data)
    if how < 36:  # wrong inside, right length
        for _ in range(chance.randrange(1, 6)):
            at, what = chance.randrange(4, len(data)), chance.randrange(3)
            if what == 0:
                data[at] = chance.randrange(256)
            elif what == 1:
                del data[at : at + chance.randrange(1, 9)]
            else:
                data[at:at] = chance.randbytes(chance.randrange(1, 9))
            if len(data) < 6:
                data += b"\x80\x80"
        data[:4] = (len(data) - 4).to_bytes(4, "big")
        if b"shutdown" in data:
            return frame(chance)
        return bytes(data)
    if how < 38:
        noise = chance.randbytes(chance.randrange(1, 200))
        return len(noise).to_bytes(4, "big") + noise
    return chance.randbytes(chance.randrange(1, 64))  # wrong length too


class Wire(asyncio.Transport):
    """A client's end in memory, with a real socket for the kernel's word on the peer."""

    def __init__(self, pair: socket.socket) -> None:
        super().__init__({"socket": pair})
        self.closed = False

    def write(self, data: Any) -> None:
        pass

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    abort = close


class Quiet(asyncio.StreamReaderProtocol):
    """Nothing is ever full, and closing is done at once."""

    async def _drain_helper(self) -> None:
        pass

    def _get_close_waiter(self, stream: Any) -> Any:
        done = asyncio.get_running_loop().create_future()
        done.set_result(None)
        return done


class Faults(logging.Handler):
    """What the server calls a mistake of its own."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(self.format(record))


def answer(payload: dict[str, Any], progress: Any, cancel: Any) -> dict[str, Any]:
    return {"result": unstructure(Result(payload["function"], "kernel", "", (), "p", mugraphs=({},)))}


async def conversation(server: Server, pair: socket.socket, frames: list[bytes]) -> tuple[int, float]:
    """How many of the frames were looked at (the first bad one ends it), and the seconds that it took."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=1 << 20, loop=loop)
    wire = Wire(pair)
    reader.set_transport(wire)
    writer = asyncio.StreamWriter(wire, Quiet(reader, loop=loop), reader, loop)
    reader.feed_data(b"".join((greeting(), *frames)))
    began = time.monotonic()
    served, size, turns = asyncio.create_task(server._accept(reader, writer)), -1, 0
    while not served.done() and turns < TURNS:  # until it has read all, or stops reading
        turns = turns + 1 if len(reader._buffer) == size else 0  # type: ignore[attr-defined]
        size = len(reader._buffer)  # type: ignore[attr-defined]
        await asyncio.sleep(0)
    reader.feed_eof()
    await served
    left = len(reader._buffer)  # type: ignore[attr-defined]
    while frames and left >= len(frames[-1]) > 0:
        left -= len(frames.pop())
    return len(frames), time.monotonic() - began


async def in_memory(frames: int, seed: int) -> tuple[int, int, float, list[str], int]:
    """(frames, conversations, the longest one in seconds, faults, connections that are left)."""
    chance, faults, sent, talks, longest = random.Random(seed), Faults(), 0, 0, 0.0
    quiet = logging.getLogger("mirage")
    before, quiet.propagate, level = quiet.propagate, False, quiet.level
    quiet.addHandler(faults)
    quiet.setLevel(logging.ERROR)
    server = Server(
        partial(SqliteStore, paths.data_dir()), answer, workers=2, idle_s=3600, limits=ConnectionLimits(idle_s=5.0)
    )
    one, other = socket.socketpair(socket.AF_UNIX)
    try:
        while sent < frames:
            batch = [frame(chance) for _ in range(min(chance.randrange(1, MOST_FRAMES), frames - sent))]
            talks += 1
            try:
                read, seconds = await asyncio.wait_for(conversation(server, one, batch), 30)
                sent, longest = sent + read, max(longest, seconds)
            except asyncio.TimeoutError:
                longest = 30.0
            except Exception as e:
                faults.said.append(f"{type(e).__name__}: {e}")
        left = len(server._connections)
        await server.projects.watcher.close()
        await server.jobs.close()
        await server._in_store(server._store.close)
    finally:
        quiet.removeHandler(faults)
        quiet.propagate = before
        quiet.setLevel(level)
        one.close()
        other.close()
    return sent, talks, longest, faults.said, left


def memory_rows(frames: int = FRAMES, seed: int = 1) -> Iterator[Row]:
    with Home():
        paths.ensure_private(paths.runtime_dir())
        paths.ensure_private(paths.data_dir())
        began, pid = time.monotonic(), os.getpid()
        before = rss_bytes(pid)
        sent, talks, longest, faults, left = asyncio.run(in_memory(frames, seed))
        grown = (rss_bytes(pid) - before) / MIB
        seconds = time.monotonic() - began
    for fault in faults[:5]:
        print(fault)
    yield row("fuzz: frames", sent, "frames", f">= {frames}")
    yield row("fuzz: conversations", talks, "conversations")
    yield row("fuzz: crashes", len(faults), "", "== 0")
    yield row("fuzz: the longest conversation", longest, "s", f"<= {HANG_S}")
    yield row("fuzz: connections left", left, "", "== 0")
    yield row("fuzz: memory", grown, "MiB", "< 256.0")
    yield row("fuzz: time", seconds, "s")


def socket_rows(frames: int = OVER_SOCKET, seed: int = 2) -> Iterator[Row]:
    chance, longest = random.Random(seed), 0.0
    with Daemon() as daemon:
        descriptors, before, sent = f"/proc/{daemon.pid}/fd", rss_bytes(daemon.pid), 0
        open_before = len(os.listdir(descriptors))
        while sent < frames:
            batch = [frame(chance) for _ in range(chance.randrange(1, MOST_FRAMES))]
            sent += len(batch)
            connection = client.dial(10.0)
            began = time.monotonic()
            with contextlib.suppress(OSError):  # it hangs up on nonsense
                connection.sendall(greeting(paths.token(connection)) + b"".join(batch))
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(1 << 16):
                    pass
            longest = max(longest, time.monotonic() - began)
            connection.close()
        time.sleep(1.0)
        with Client.connect(start_daemon=False) as last:
            same = last.status()["pid"] == daemon.pid
        yield row("fuzz over the socket: frames", sent, "frames", f">= {frames}")
        yield row("fuzz over the socket: the same process answers", float(same), "", "== 1")
        yield row("fuzz over the socket: the longest conversation", longest, "s", f"<= {HANG_S}")
        yield row("fuzz over the socket: descriptors left", len(os.listdir(descriptors)) - open_before, "", "<= 2")
        yield row("fuzz over the socket: memory", (rss_bytes(daemon.pid) - before) / MIB, "MiB", "< 256.0")


def rows(frames: int = FRAMES) -> Iterator[Row]:
    yield from memory_rows(frames)
    yield from socket_rows(max(1, frames // 50))
