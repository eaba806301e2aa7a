"""The blocking client of the daemon, for the command line and the runtime: one request at a time.

Its requests are the rows of `requests.Requests`; `async_client.AsyncClient` has the same with await.
"""

from __future__ import annotations

import itertools
import os
import socket
import struct
import time
from pathlib import Path
from types import TracebackType
from typing import cast

from mirage.errors import DaemonUnavailable, DeadlinePassed, MirageError, ProtocolError
from mirage.ir.json_value import JsonObject
from mirage.link import daemon_start, paths, protocol
from mirage.link.frames import Message
from mirage.link.requests import DEADLINE_S, Answer, AnyRequest, Body, OnEvent, Requests, Value
from mirage.link.version import package_version

GRACE_S = 2.0  # the client waits so much longer than the deadline that it gave to the daemon
HELLO_DEADLINE_S = 10.0


def request(ident: int, kind: str, body: object, deadline_s: float | None) -> bytes:
    """One framed request; `body` is an instance of the class that the table has for `kind`."""
    data = protocol.unstructure(body)
    if kind == "hello" and not data.get("token"):
        data.pop("token", None)  # a daemon of an earlier version does not know it
    message: dict[str, object] = {"type": kind, "id": ident, "body": data}
    if deadline_s is not None:
        message["deadline_s"] = deadline_s
    return protocol.encode(message)


def opened(answer: Message) -> JsonObject:
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
    """A connected socket whose folder and other end are this user's: that of this session, or the one at which the daemon
    listens that has the cache."""
    try:
        return _dialled(paths.socket_path(), timeout_s)
    except DaemonUnavailable:
        other = paths.other_socket()
        if other is None:
            raise
        return _dialled(other, timeout_s)


def _dialled(path: Path, timeout_s: float) -> socket.socket:
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


class Client(Requests):
    """One connection, one request at a time; a context manager. Not shared between threads."""

    def __init__(self, connection: socket.socket, name: str, *, replaces: bool = False) -> None:
        self._socket, self._ids = connection, itertools.count(1)
        self._received = bytearray()
        self.daemon_pid = paths.check_peer(connection)
        hello = protocol.Hello(protocol.VERSION, package_version(), name, replaces, paths.token(connection))
        self.welcome = protocol.structure(self._ask("hello", hello, HELLO_DEADLINE_S), protocol.Welcome)

    @classmethod
    def connect(cls, *, start_daemon: bool = True, name: str = "cli", cluster: str = "") -> Client:
        """Connect; with `start_daemon` a daemon that does not run is started, and one that is older than this client is
        replaced. DaemonUnavailable when there is none. `cluster`: the address of the one that a daemon that has to be started
        gets; one that runs keeps its own."""

        def once() -> Client:
            connection = dial()
            try:
                return cls(connection, name, replaces=start_daemon)
            except BaseException:
                connection.close()
                raise

        if not start_daemon:
            return once()
        if not cluster:
            return daemon_start.start_until(once)
        return daemon_start.start_until(once, daemon_start.CLUSTER_TIMEOUT_S, cluster)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def perform(
        self,
        request: AnyRequest[Body, Answer, Value],
        body: Body,
        deadline_s: float | None = DEADLINE_S,
        on_event: OnEvent | None = None,
    ) -> Value:
        """Send a request of the table, and wait for what its caller gets of the answer."""
        return request.value(cast(Answer, self._ask(request.name, body, deadline_s, on_event)))

    def _ask(self, kind: str, body: object, deadline_s: float | None, on_event: OnEvent | None = None) -> JsonObject:
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

    def _receive(self, until: float | None) -> Message:
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
