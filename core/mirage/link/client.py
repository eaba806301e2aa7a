"""A blocking connection to the daemon, for the command line and the runtime.

`aio.AsyncClient` is the same with await.
"""

from __future__ import annotations

import itertools
import os
import socket
import struct
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

from mirage.errors import DaemonUnavailable, DeadlinePassed, MirageError, ProtocolError
from mirage.link import daemon_start, paths, protocol
from mirage.link.version import package_version

DEADLINE_S = 30.0  # of every request but `subscribe`
CACHE_DEADLINE_S = 600.0  # reading all of a large cache takes time
GRACE_S = 2.0  # the client waits so much longer than the deadline that it gave to the daemon
OnEvent = Callable[[protocol.Event], None]


def request(ident: int, kind: str, body: Any, deadline_s: float | None) -> bytes:
    """One framed request; `body` is an instance of the class that `protocol.REQUESTS` has for `kind`."""
    message = {"type": kind, "id": ident, "body": protocol.unstructure(body)}
    if deadline_s is not None:
        message["deadline_s"] = deadline_s
    return protocol.encode(message)


def opened(answer: dict[str, Any]) -> dict[str, Any]:
    """The body of a reply; an error answer is raised as what it was in the daemon."""
    body = answer.get("body")
    if not isinstance(body, dict):
        raise ProtocolError("the daemon's answer has no body")
    if answer["type"] == "error":
        raise MirageError.from_dict(body)
    if answer["type"] != "reply":
        raise ProtocolError(f"the daemon sent {answer['type'][:40]!r} where a reply belongs")
    return body


def dial(timeout_s: float = 5.0) -> socket.socket:
    """A connected socket whose folder and other end are this user's."""
    path = paths.socket_path()
    if not paths.is_there(path.parent):
        raise DaemonUnavailable("no daemon is running")
    paths.check_private(path.parent)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(timeout_s)
    until = time.monotonic() + timeout_s
    try:
        while True:
            try:
                connection.connect(os.fspath(path))
                break
            except BlockingIOError:  # it is there, and more clients come than it takes in just now
                if time.monotonic() > until:
                    raise
                time.sleep(0.01)
        paths.check_peer(connection)
    except OSError as e:
        connection.close()
        raise DaemonUnavailable(f"no daemon is running ({e.strerror or e})") from None
    except MirageError:
        connection.close()
        raise
    return connection


class Client:
    """One connection, one request at a time; a context manager. Not shared between threads."""

    def __init__(self, connection: socket.socket, name: str, *, replaces: bool = False) -> None:
        self._socket, self._ids = connection, itertools.count(1)
        self._received = bytearray()
        self.daemon_pid = paths.check_peer(connection)
        hello = protocol.Hello(protocol.VERSION, package_version(), name, replaces)
        self.welcome = protocol.structure(self._ask("hello", hello, 10.0), protocol.Welcome)

    @classmethod
    def connect(cls, *, start_daemon: bool = True, name: str = "cli") -> Client:
        """Connect; with `start_daemon` a daemon that does not run is started, and one that is older than this client is
        replaced. DaemonUnavailable when there is none."""

        def once() -> Client:
            connection = dial()
            try:
                return cls(connection, name, replaces=start_daemon)
            except BaseException:
                connection.close()
                raise

        return daemon_start.start_until(once) if start_daemon else once()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def submit(
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
    ) -> dict[str, Any]:
        """{"job", "key", "state"}; a state that is final means that the result is there already."""
        given = options or protocol.Options()
        return self._ask("submit", protocol.Submit(text, path, function, target, priority, trusted, interpreter, given))

    def subscribe(self, job: str, on_event: OnEvent | None = None, deadline_s: float | None = None) -> dict[str, Any]:
        """Events to `on_event` until the job is final, then {"state", "result", "error"}."""
        return self._ask("subscribe", protocol.Subscribe(job), deadline_s, on_event)

    def cancel(self, job: str) -> bool:
        """This client no longer wants the job; whether the work was stopped, because nobody does."""
        return bool(self._ask("cancel", protocol.Cancel(job))["cancelled"])

    def abandon(self, job: str) -> bool:
        """As `cancel`, by the user's own hand: saves of watched projects do not ask for it either."""
        return bool(self._ask("abandon", protocol.Abandon(job))["cancelled"])

    def result(self, job: str) -> dict[str, Any]:
        """{"state", "result", "error"} of a job that is final; UnknownJob otherwise."""
        return self._ask("result", protocol.Result(job))

    def lookup(
        self,
        text: str,
        path: str,
        function: str,
        *,
        target: str = "sm_90",
        interpreter: str = "",
        options: protocol.Options | None = None,
        inputs: protocol.Inputs | None = None,
    ) -> dict[str, Any] | None:
        """The result from the cache, or None. Starts nothing."""
        given = options or protocol.Options()
        body = protocol.Lookup(text, path, function, target, interpreter, given, inputs or [])
        return self._ask("lookup", body)["result"]  # type: ignore[no-any-return]

    def watch(self, root: str, *, interpreter: str = "", target: str = "sm_90", trusted: bool = True) -> dict[str, Any]:
        """Submit what a save changes below `root`, from now on; the project's row of `status`."""
        return self._ask("watch", protocol.Watch(root, trusted, interpreter, target))

    def unwatch(self, root: str) -> bool:
        """Whether the folder was watched."""
        return bool(self._ask("unwatch", protocol.Unwatch(root))["watched"])

    def seen(self, path: str, function: str, inputs: protocol.Inputs) -> bool:
        """Record what a decorated function was called with; whether that is new."""
        return bool(self._ask("seen", protocol.Seen(path, function, inputs))["new"])

    def shapes(self, path: str) -> dict[str, list[protocol.Inputs]]:
        """What the decorated functions of a file were called with, the latest last."""
        return self._ask("shapes", protocol.Shapes(path))["shapes"]  # type: ignore[no-any-return]

    def adopt(
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
        return self._ask("adopt", body)

    def explain(self, job: str) -> dict[str, Any]:
        """What is known of a job and its answer, without the module and the µGraphs."""
        return self._ask("explain", protocol.Explain(job))

    def cache(
        self, do: str, *, key: str = "", after: str = "", limit_bytes: int = -1, older_s: float = -1.0
    ) -> dict[str, Any]:
        """`do` is list, show, export, verify or gc: see protocol.Cache."""
        return self._ask("cache", protocol.Cache(do, key, after, limit_bytes, older_s), CACHE_DEADLINE_S)

    def log(self, lines: int = 40) -> list[str]:
        """The end of the daemon's log."""
        return list((self._ask("log", protocol.Log(lines)))["lines"])

    def status(self) -> dict[str, Any]:
        return self._ask("status", protocol.Status())

    def shutdown(self) -> None:
        self._ask("shutdown", protocol.Shutdown())

    def _ask(
        self, kind: str, body: Any, deadline_s: float | None = DEADLINE_S, on_event: OnEvent | None = None
    ) -> dict[str, Any]:
        ident = next(self._ids)
        until = None if deadline_s is None else time.monotonic() + deadline_s + GRACE_S
        try:
            self._socket.settimeout(None if until is None else max(0.01, until - time.monotonic()))
            self._socket.sendall(request(ident, kind, body, deadline_s))
            while True:
                answer = self._receive(until)
                if answer.get("id") != ident:
                    continue  # the late answer to a request that was interrupted
                if answer["type"] != "event":
                    return opened(answer)
                if on_event is not None:
                    on_event(protocol.structure(answer.get("body"), protocol.Event))
        except TimeoutError:
            self.close()
            raise DeadlinePassed(f"no answer to {kind!r} within {deadline_s:g} s") from None
        except OSError as e:
            self.close()
            raise DaemonUnavailable(f"the connection to the daemon broke ({e.strerror or e})") from None

    def _receive(self, until: float | None) -> dict[str, Any]:
        self._fill(4, until)
        (size,) = struct.unpack_from(">I", self._received)
        if size > protocol.MAX_FRAME:
            raise ProtocolError(f"the daemon announces {size} bytes, over the limit of {protocol.MAX_FRAME}")
        self._fill(4 + size, until)
        payload = bytes(self._received[4 : 4 + size])
        del self._received[: 4 + size]
        return protocol.decode(payload)

    def _fill(self, size: int, until: float | None) -> None:
        """Have `size` bytes. What came before an interruption is kept: the next request reads on from there."""
        while len(self._received) < size:
            self._socket.settimeout(None if until is None else max(0.01, until - time.monotonic()))
            part = self._socket.recv(min(size - len(self._received), 1 << 20))
            if not part:
                raise ConnectionResetError("closed by the daemon")
            self._received += part
