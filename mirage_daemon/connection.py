"""A client's connection, as the daemon has it: frames in under deadlines, frames out through a bounded queue."""

from __future__ import annotations

import asyncio
import contextlib
import struct
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from mirage.errors import MirageError, ProtocolError
from mirage.link import protocol
from mirage.link.frames import Message
from mirage_daemon.fair_turns import FairTurns


@dataclass(frozen=True)
class ConnectionLimits:
    """Seconds, and numbers for one connection. A client that breaks them is dropped, the others feel nothing."""

    handshake_s: float = 10.0
    idle_s: float = 300.0  # between requests, while none is under way
    body_s: float = 10.0  # from a frame's first byte to its last
    write_s: float = 30.0  # for one frame to leave
    queued_frames: int = 1024
    queued_bytes: int = 64 << 20
    requests: int = 64  # under way at once


LARGE_FRAME = 1 << 20  # bytes, above which few frames are taken in at once
LARGE_AT_ONCE, LARGE_OF_CLIENT = 12, 2


class Backlog:
    """Bytes of answers that are not read yet: of each client (a process, however many connections it has), and of all."""

    def __init__(self, of_client: int = 64 << 20, of_all: int = 256 << 20) -> None:
        self._of_client, self._of_all, self._bytes = of_client, of_all, Counter[int]()

    def add(self, process: int, size: int) -> bool:
        """Whether so many more fit in. Where all together are too many, no more of those who have more than their share."""
        now, total = self._bytes[process] + size, self._bytes.total() + size
        others = len(self._bytes.keys() - {process})
        if now > self._of_client or (total > self._of_all and now > self._of_all / (1 + others)):
            return False
        self._bytes[process] = now
        return True

    def take(self, process: int, size: int) -> None:
        self._bytes[process] -= size
        if not self._bytes[process]:
            del self._bytes[process]


@dataclass(frozen=True)
class SharedRoom:
    """What connections share."""

    backlog: Backlog = field(default_factory=Backlog)
    large_frames: FairTurns = field(default_factory=lambda: FairTurns(LARGE_AT_ONCE, LARGE_OF_CLIENT))


class Connection:
    """`process` is the client's, or another number where the system does not tell. `send` never waits: what cannot be queued ends
    the connection."""

    def __init__(
        self,
        ident: int,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        limits: ConnectionLimits,
        room: SharedRoom | None = None,
    ) -> None:
        self.id, self.name, self.process = ident, "", -ident
        self._room = room or SharedRoom()
        self._reader, self._writer, self._limits = reader, writer, limits
        self._queue: asyncio.Queue[bytes] = asyncio.Queue(limits.queued_frames)
        self._queued_bytes = 0
        self._sender: asyncio.Task[None] | None = None  # while something is queued: an idle client costs none
        self.tasks: set[asyncio.Task[None]] = set()
        self.dropped = False

    def send(self, kind: str, ident: int, body: Mapping[str, object]) -> None:
        """Queue one message; too large a one becomes an error."""
        try:
            frame = protocol.encode({"type": kind, "id": ident, "body": body})
        except ProtocolError as e:
            frame = protocol.encode({"type": "error", "id": ident, "body": e.to_dict()})
        if self.dropped:
            return
        full = self._queue.full() or self._queued_bytes + len(frame) > self._limits.queued_bytes
        if full or not self._room.backlog.add(self.process, len(frame)):
            self.drop()
            return
        self._queued_bytes += len(frame)
        self._queue.put_nowait(frame)
        if self._sender is None or self._sender.done():
            self._sender = asyncio.create_task(self._drain())

    def fail(self, ident: int, error: MirageError) -> None:
        self.send("error", ident, error.to_dict())

    def drop(self) -> None:
        """End the connection now, without sending what is queued."""
        self.dropped = True
        self._writer.transport.abort()

    async def read(self, first_s: float) -> Message | None:
        """The next message, None at the end of the stream. TimeoutError: no frame began within `first_s`. ProtocolError
        where one that began was not whole in time: what comes after it would be read as another."""
        try:
            header = await asyncio.wait_for(self._reader.readexactly(4), first_s)
            (size,) = struct.unpack(">I", header)
            if size > protocol.MAX_FRAME:
                raise ProtocolError(f"a frame of {size} bytes is over the limit of {protocol.MAX_FRAME}")
            try:
                payload = await self._payload(size)
            except asyncio.TimeoutError:
                raise ProtocolError(f"a frame was not whole within {self._limits.body_s:g} s") from None
            return protocol.decode(payload)
        except (asyncio.IncompleteReadError, ConnectionError):
            return None

    async def _payload(self, size: int) -> bytes:
        turn = contextlib.nullcontext() if size <= LARGE_FRAME else self._room.large_frames.turn(self.process)
        async with turn:  # what it sends meanwhile waits at its own end
            return await asyncio.wait_for(self._reader.readexactly(size), self._limits.body_s)

    async def read_request(self) -> Message | None:
        """As `read`, with as much time as the connection may be idle; requests under way keep it from being idle."""
        while True:
            try:
                return await self.read(self._limits.idle_s)
            except asyncio.TimeoutError:
                if not self.tasks:
                    return None

    async def close(self) -> None:
        """Stop what it asked for, send what is queued (as long as a frame may take), close."""
        for task in list(self.tasks):
            task.cancel()
        if self.tasks:
            await asyncio.wait(self.tasks)
        if self._sender is not None:
            if not self.dropped:
                await asyncio.wait({self._sender}, timeout=self._limits.write_s)
            self._sender.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._sender
        self._sent(self._queued_bytes)
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()

    async def _drain(self) -> None:
        """Send what is queued, until nothing is."""
        while not self._queue.empty():
            frame = self._queue.get_nowait()
            try:
                self._writer.write(frame)
                await asyncio.wait_for(self._writer.drain(), self._limits.write_s)
            except (asyncio.TimeoutError, OSError):  # it does not read, or it is gone
                self.drop()
                return
            self._sent(len(frame))

    def _sent(self, size: int) -> None:
        self._queued_bytes -= size
        self._room.backlog.take(self.process, size)
