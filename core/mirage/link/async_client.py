"""The asyncio client: many requests at once on one connection, which is made again when the daemon has ended."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import struct
import time
from collections.abc import Callable
from typing import TypeVar, cast

from mirage.errors import DaemonUnavailable, DeadlinePassed, ProtocolError
from mirage.ir.json_value import JsonObject
from mirage.link import daemon_start, paths, protocol
from mirage.link.client import GRACE_S, HELLO_DEADLINE_S, dial, opened, request
from mirage.link.frames import Message
from mirage.link.requests import DEADLINE_S, Answer, AnyRequest, Body, OnEvent, Requests, Value
from mirage.link.version import package_version

T = TypeVar("T")
CLOSE_S = 1.0  # for what was written to leave
AGAIN_S = 0.05  # between two tries to reach a daemon that was just started


class AsyncClient(Requests):
    """The requests of the table, with await. `start_daemon` says whether a missing daemon is started.

    Connects at the first call; a call after the connection broke connects again. Calls that were under way when it
    broke raise DaemonUnavailable.
    """

    def __init__(self, *, start_daemon: bool = True, name: str = "lsp") -> None:
        self._start, self._name, self._ids = start_daemon, name, itertools.count(1)
        self._connecting = asyncio.Lock()
        self._writer: asyncio.StreamWriter | None = None
        self._reader_task: asyncio.Task[None] | None = None
        self._waiting: dict[int, tuple[asyncio.Future[Message], OnEvent | None]] = {}
        self.welcome: protocol.Welcome | None = None

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def connected(self) -> bool:
        return self._writer is not None and not self._writer.is_closing()

    async def connect(self) -> protocol.Welcome:
        """Connect now, if not connected."""
        async with self._connecting:
            if self.connected and self.welcome is not None:
                return self.welcome
            until = time.monotonic() + daemon_start.START_TIMEOUT_S
            while True:
                try:
                    self.welcome = await self._open()
                    return self.welcome
                except (
                    DaemonUnavailable
                ):  # it ended between the connection and the greeting, or makes room for a newer one
                    if not self._start or time.monotonic() > until:
                        raise
                await asyncio.sleep(AGAIN_S)

    async def _open(self) -> protocol.Welcome:
        await self.close()
        loop = asyncio.get_running_loop()
        connection = await loop.run_in_executor(None, daemon_start.start_until if self._start else _once, dial)
        connection.setblocking(False)
        reader, self._writer = await asyncio.open_unix_connection(sock=connection)
        self._reader_task = asyncio.create_task(self._read(reader))
        hello = protocol.Hello(protocol.VERSION, package_version(), self._name, self._start, paths.token(connection))
        return protocol.structure(await self._send("hello", hello, HELLO_DEADLINE_S, None), protocol.Welcome)

    async def close(self) -> None:
        writer, task = self._writer, self._reader_task
        self._writer = self._reader_task = self.welcome = None
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        if writer is not None:
            writer.close()
            with contextlib.suppress(OSError):
                try:
                    await asyncio.wait_for(writer.wait_closed(), CLOSE_S)
                except asyncio.TimeoutError:  # a daemon that hangs does not read what is left
                    writer.transport.abort()

    async def perform(
        self,
        request: AnyRequest[Body, Answer, Value],
        body: Body,
        deadline_s: float | None = DEADLINE_S,
        on_event: OnEvent | None = None,
    ) -> Value:
        """Send a request of the table, and await what its caller gets of the answer."""
        await self.connect()
        return request.value(cast(Answer, await self._send(request.name, body, deadline_s, on_event)))

    async def _send(self, kind: str, body: object, deadline_s: float | None, on_event: OnEvent | None) -> JsonObject:
        writer = self._writer
        if writer is None:
            raise DaemonUnavailable("the connection to the daemon broke")
        ident = next(self._ids)
        future: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._waiting[ident] = (future, on_event)

        async def exchange() -> Message:
            writer.write(request(ident, kind, body, deadline_s))
            await writer.drain()  # a daemon that hangs does not read either
            return await future

        try:
            limit = None if deadline_s is None else deadline_s + GRACE_S
            return opened(await asyncio.wait_for(exchange(), limit))
        except asyncio.TimeoutError:
            raise DeadlinePassed(f"no answer to {kind!r} within {deadline_s:g} s") from None
        except OSError as e:
            raise DaemonUnavailable(f"the connection to the daemon broke ({e.strerror or e})") from None
        finally:
            self._waiting.pop(ident, None)

    async def _read(self, reader: asyncio.StreamReader) -> None:
        """Hands every answer to whoever waits for it; ends, and fails all of them, when the connection does."""
        reason: Exception = DaemonUnavailable("the connection to the daemon broke")
        try:
            while True:
                (size,) = struct.unpack(">I", await reader.readexactly(4))
                if size > protocol.MAX_FRAME:
                    raise ProtocolError(f"the daemon announces {size} bytes, over the limit of {protocol.MAX_FRAME}")
                answer = protocol.decode(await reader.readexactly(size))
                ident = answer.get("id")
                future, on_event = self._waiting.get(ident if isinstance(ident, int) else 0, (None, None))
                if future is None or future.done():
                    continue
                if answer["type"] != "event":
                    future.set_result(answer)
                elif on_event is not None:
                    on_event(protocol.structure(answer.get("body"), protocol.Event))
        except ProtocolError as e:
            reason = e
        except (asyncio.IncompleteReadError, OSError):
            pass  # `reason` says it
        finally:
            if self._writer is not None:
                self._writer.close()
            for future, _ in self._waiting.values():
                if not future.done():
                    future.set_exception(reason)


def _once(connect: Callable[[], T]) -> T:
    return connect()
