"""The asyncio client: many requests at once on one connection, which is made again when the daemon has ended."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import struct
import time
from typing import Any

from mirage.errors import DaemonUnavailable, DeadlinePassed, ProtocolError
from mirage.link import daemon_start, protocol
from mirage.link.client import CACHE_DEADLINE_S, DEADLINE_S, GRACE_S, OnEvent, dial, opened, request
from mirage.link.version import package_version

CLOSE_S = 1.0  # for what was written to leave
AGAIN_S = 0.05  # between two tries to reach a daemon that was just started


class AsyncClient:
    """The blocking client's calls, with await. `start_daemon` says whether a missing daemon is started.

    Connects at the first call; a call after the connection broke connects again. Calls that were under way when it
    broke raise DaemonUnavailable.
    """

    def __init__(self, *, start_daemon: bool = True, name: str = "lsp") -> None:
        self._start, self._name, self._ids = start_daemon, name, itertools.count(1)
        self._connecting = asyncio.Lock()
        self._writer: asyncio.StreamWriter | None = None
        self._reader_task: asyncio.Task[None] | None = None
        self._waiting: dict[int, tuple[asyncio.Future[dict[str, Any]], OnEvent | None]] = {}
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
        hello = protocol.Hello(protocol.VERSION, package_version(), self._name, self._start)
        return protocol.structure(await self._send("hello", hello, 10.0, None), protocol.Welcome)  # type: ignore[no-any-return]

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

    async def submit(
        self,
        text: str,
        path: str,
        function: str,
        *,
        target: str = "sm_90",
        priority: int = 1,
        trusted: bool = True,
        interpreter: str = "",
        options: protocol.Options | None = None,
        fresh: bool = False,
    ) -> dict[str, Any]:
        """{"job", "key", "state"}; a state that is final means that the result is there already."""
        given = options or protocol.Options()
        body = protocol.Submit(text, path, function, target, priority, trusted, interpreter, given, fresh=fresh)
        return await self._ask("submit", body)

    async def subscribe(
        self, job: str, on_event: OnEvent | None = None, deadline_s: float | None = None
    ) -> dict[str, Any]:
        """Events to `on_event` (called in the event loop) until the job is final; then {"state", "result", "error"}."""
        return await self._ask("subscribe", protocol.Subscribe(job), deadline_s, on_event)

    async def cancel(self, job: str) -> bool:
        """This client no longer wants the job; whether the work was stopped, because nobody does."""
        return bool((await self._ask("cancel", protocol.Cancel(job)))["cancelled"])

    async def abandon(self, job: str) -> bool:
        """As `cancel`, by the user's own hand: saves of watched projects do not ask for it either."""
        return bool((await self._ask("abandon", protocol.Abandon(job)))["cancelled"])

    async def result(self, job: str) -> dict[str, Any]:
        """{"state", "result", "error"} of a job that is final; UnknownJob otherwise."""
        return await self._ask("result", protocol.Result(job))

    async def lookup(
        self, text: str, path: str, function: str, *, target: str = "sm_90", interpreter: str = ""
    ) -> dict[str, Any] | None:
        """The result from the cache, or None. Starts nothing."""
        body = protocol.Lookup(text, path, function, target, interpreter)
        return (await self._ask("lookup", body))["result"]  # type: ignore[no-any-return]

    async def watch(
        self, root: str, *, interpreter: str = "", target: str = "sm_90", trusted: bool = True
    ) -> dict[str, Any]:
        """Submit what a save changes below `root`, from now on; the project's row of `status`."""
        return await self._ask("watch", protocol.Watch(root, trusted, interpreter, target))

    async def unwatch(self, root: str) -> bool:
        """Whether the folder was watched."""
        return bool((await self._ask("unwatch", protocol.Unwatch(root)))["watched"])

    async def shapes(self, path: str) -> dict[str, list[protocol.Inputs]]:
        """What the decorated functions of a file were called with, the latest last."""
        return (await self._ask("shapes", protocol.Shapes(path)))["shapes"]  # type: ignore[no-any-return]

    async def adopt(
        self,
        text: str,
        path: str,
        function: str,
        mugraph: str,
        *,
        target: str = "sm_90",
        interpreter: str = "",
        options: protocol.Options | None = None,
        inputs: protocol.Inputs | None = None,
    ) -> dict[str, Any]:
        """As `submit`, of a job that verifies a µGraph (its JSON) that somebody else found."""
        given = options or protocol.Options()
        body = protocol.Adopt(text, path, function, mugraph, target, interpreter, given, inputs or [])
        return await self._ask("adopt", body)

    async def explain(self, job: str) -> dict[str, Any]:
        """What is known of a job and its answer, without the module and the µGraphs."""
        return await self._ask("explain", protocol.Explain(job))

    async def cache(
        self, do: str, *, key: str = "", after: str = "", limit_bytes: int = -1, older_s: float = -1.0
    ) -> dict[str, Any]:
        """`do` is list, show, export, verify or gc: see protocol.Cache."""
        return await self._ask("cache", protocol.Cache(do, key, after, limit_bytes, older_s), CACHE_DEADLINE_S)

    async def log(self, lines: int = 40) -> list[str]:
        """The end of the daemon's log."""
        return list((await self._ask("log", protocol.Log(lines)))["lines"])

    async def status(self) -> dict[str, Any]:
        return await self._ask("status", protocol.Status())

    async def shutdown(self) -> None:
        await self._ask("shutdown", protocol.Shutdown())

    async def _ask(
        self, kind: str, body: Any, deadline_s: float | None = DEADLINE_S, on_event: OnEvent | None = None
    ) -> dict[str, Any]:
        await self.connect()
        return await self._send(kind, body, deadline_s, on_event)

    async def _send(self, kind: str, body: Any, deadline_s: float | None, on_event: OnEvent | None) -> dict[str, Any]:
        writer = self._writer
        if writer is None:
            raise DaemonUnavailable("the connection to the daemon broke")
        ident = next(self._ids)
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[ident] = (future, on_event)

        async def exchange() -> dict[str, Any]:
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
                future, on_event = self._waiting.get(answer.get("id", 0), (None, None))
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


def _once(connect: Any) -> Any:
    return connect()
