"""A daemon for tests: a unix socket that speaks the protocol and does what the test says, when it says so."""

from __future__ import annotations

import asyncio
import contextlib
import struct
import threading
from pathlib import Path
from typing import Any

from waiting import LIMIT_S, wait_until

from mirage.errors import Cancelled
from mirage.link import protocol
from mirage.link.requests import BY_NAME


class FakeDaemon:
    """`requests` is all that was asked, in order; jobs are named job-1, job-2, ... Answers to `lookup` are in `cache`,
    by function."""

    def __init__(self, home: Path) -> None:
        self.folder = home / "run"
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.kept: list[dict[str, Any]] = []  # what the cache lists
        self.cache: dict[str, dict[str, Any]] = {}
        self.seen: dict[str, dict[str, list[Any]]] = {}  # path -> function -> what it was called with
        self.one_job = False  # whatever is asked for is job-1
        self.holds_submit = threading.Event()  # while set, `submit` gets no answer
        self.at_once: dict[str, dict[str, Any]] = {}  # function -> the end of its job, known at submit
        self._ends: dict[str, dict[str, Any]] = {}
        self._subscribers: dict[str, list[tuple[asyncio.StreamWriter, int]]] = {}
        self._writers: set[asyncio.StreamWriter] = set()
        self._jobs = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server: asyncio.AbstractServer | None = None
        self.start()

    def start(self) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._call(self._start())

    def retire(self, job: str) -> None:
        """As a daemon that ends: it listens no more, and then says that its job is cancelled. Its connections stay."""
        self._call(self._retire())
        self.finish(job, "cancelled", error=Cancelled("the daemon stopped").to_dict())

    def kill(self) -> None:
        """As if the process had died: no answer, all connections gone. Its jobs are forgotten."""
        self._call(self._stop())

    def close(self) -> None:
        self.kill()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)

    def event(self, job: str, state: str, best: str = "", **counts: int) -> None:
        self._call(self._event(job, {"job": job, "state": state, "counts": counts, "best": best}))

    def finish(
        self, job: str, state: str, result: dict[str, Any] | None = None, error: dict[str, Any] | None = None
    ) -> None:
        self._call(self._finish(job, {"state": state, "result": result, "error": error}))

    def asked(self, kind: str) -> list[dict[str, Any]]:
        return [body for asked, body in list(self.requests) if asked == kind]

    def wait(self, kind: str, count: int = 1, seconds: float = LIMIT_S) -> dict[str, Any]:
        """The `count`-th request of a kind, waited for."""
        wait_until(lambda: len(self.asked(kind)) >= count, f"request {count} of kind {kind}", seconds)
        return self.asked(kind)[count - 1]

    def _call(self, what: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(what, self._loop).result(LIMIT_S)

    async def _start(self) -> None:
        self._server = await asyncio.start_unix_server(self._serve, self.folder / "daemon.sock")

    async def _retire(self) -> None:
        if self._server is not None:
            self._server.close()
        (self.folder / "daemon.sock").unlink(missing_ok=True)

    async def _stop(self) -> None:
        await self._retire()
        for writer in list(self._writers):
            writer.transport.abort()
        self._subscribers.clear()

    async def _event(self, job: str, body: dict[str, Any]) -> None:
        for writer, ident in self._subscribers.get(job, []):
            writer.write(protocol.encode({"type": "event", "id": ident, "body": body}))

    async def _finish(self, job: str, body: dict[str, Any]) -> None:
        self._ends[job] = body
        for writer, ident in self._subscribers.pop(job, []):
            writer.write(protocol.encode({"type": "reply", "id": ident, "body": body}))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            while True:
                (size,) = struct.unpack(">I", await reader.readexactly(4))
                message = protocol.decode(await reader.readexactly(size))
                kind = message["type"]
                protocol.structure(message["body"], BY_NAME[kind].body if kind in BY_NAME else protocol.Hello)
                self.requests.append((message["type"], message["body"]))
                while message["type"] == "submit" and self.holds_submit.is_set():
                    await asyncio.sleep(0.005)
                body = getattr(self, f"_on_{message['type']}")(message["body"], writer, message["id"])
                if body is not None:
                    writer.write(protocol.encode({"type": "reply", "id": message["id"], "body": body}))
        self._writers.discard(writer)

    def _on_hello(self, body: dict[str, Any], *_: Any) -> dict[str, Any]:
        return {"version": protocol.VERSION, "package": body["package"], "pid": 1, "uptime_s": 0.0}

    def _on_submit(self, body: dict[str, Any], *_: Any) -> dict[str, Any]:
        self._jobs += 1 if not self.one_job or not self._jobs else 0
        job = f"job-{self._jobs}"
        end = self.at_once.get(body["function"])
        if end is not None:
            self._ends[job] = end
        return {"job": job, "key": "k", "state": end["state"] if end else "queued"}

    def _on_subscribe(self, body: dict[str, Any], writer: asyncio.StreamWriter, ident: int) -> dict[str, Any] | None:
        if body["job"] in self._ends:
            return self._ends[body["job"]]
        self._subscribers.setdefault(body["job"], []).append((writer, ident))
        return None

    def _on_cancel(self, *_: Any) -> dict[str, Any]:
        return {"cancelled": True}

    _on_abandon = _on_cancel

    def _on_watch(self, body: dict[str, Any], *_: Any) -> dict[str, Any]:
        return {"root": body["root"]}

    def _on_unwatch(self, *_: Any) -> dict[str, Any]:
        return {"watched": True}

    def _on_shapes(self, body: dict[str, Any], *_: Any) -> dict[str, Any]:
        return {"shapes": self.seen.get(body["path"], {})}

    def _on_status(self, *_: Any) -> dict[str, Any]:
        return {"pid": 1, "jobs": [], "ended": [], "cache": {"entries": 2, "bytes": 10}}

    def _on_cache(self, body: dict[str, Any], *_: Any) -> dict[str, Any]:
        """`self.kept` are the rows, ten a page."""
        if body["do"] == "show":
            return {"key": body["key"], "result": {"function": "double"}}
        rest = [row for row in self.kept if row["key"] > body["after"]]
        return {"results": rest[:10], "after": rest[9]["key"] if len(rest) > 10 else ""}

    def _on_lookup(self, body: dict[str, Any], *_: Any) -> dict[str, Any]:
        return {"result": self.cache.get(body["function"])}
