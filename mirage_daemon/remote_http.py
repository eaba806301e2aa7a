"""HTTP with the server of a shared cache: GET, HEAD and PUT of entries by key, within deadlines and sizes whatever it answers."""

from __future__ import annotations

import io
import select
import socket
import ssl
import threading
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import TYPE_CHECKING, TypeVar, cast
from urllib.parse import urljoin, urlsplit

from mirage.errors import RemoteCacheFault
from mirage.link.user_settings import TOKEN_FILE, TOKEN_VARIABLE
from mirage.link.version import package_version
from mirage_daemon.remote_place import (
    MAX_ENTRY,
    Deadline,
    TimedStore,
    is_this_machine,
    split_url,
)

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MAX_REST = 1 << 16  # bytes of an answer without an entry that are read, so that the connection can be used again
MAX_REDIRECTS = 3
MAX_IDLE = 4  # connections that are kept
# After other statuses a server may send what no answer has, and the next answer would begin with it.
KEPT_AFTER = (200, 201, 404)
REDIRECTS = (301, 302, 303, 307, 308)
PORTS = {"http": 80, "https": 443}
_TOKEN = "make a new one of letters, digits and punctuation"
T = TypeVar("T")


@dataclass(frozen=True)
class RemotePlace:
    """Where a shared cache is: scheme, host, port and the path that its entries' paths begin with."""

    scheme: str
    host: str
    port: int
    path: str
    token: str = field(default="", repr=False)

    @staticmethod
    def of(url: str, token: str = "") -> RemotePlace:
        """Raises RemoteCacheFault for what is no plain http(s) URL, and for a token that would go over a network unencrypted."""
        found = split_url(url, tuple(PORTS), "https://host/path, s3://bucket/prefix, redis://host/0")
        scheme, host = found.scheme, found.hostname or ""
        if token and not (token.isascii() and token.isprintable()):
            raise RemoteCacheFault("its token has characters that no header can hold", next_step=_TOKEN)
        if token and scheme == "http" and not is_this_machine(host):
            raise RemoteCacheFault(
                f"a token is not sent to {host} without encryption",
                next_step="name it by https://, or remove the token",
            )
        return RemotePlace(scheme, host, found.port or PORTS[scheme], found.path.rstrip("/"), token)

    @property
    def secrets(self) -> tuple[str, ...]:
        return (self.token,)

    @property
    def name(self) -> str:
        return f"{self.origin}{self.path}"

    @property
    def origin(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"

    def path_of(self, key: str) -> str:
        """The path of an entry: `ac/` and 64 hexadecimal digits, as servers of build caches know it."""
        return f"{self.path}/ac/{key}"


class RemoteHttp(TimedStore[RemotePlace]):
    """As RemoteStore; a status that says neither yes nor no is a fault too."""

    def __init__(self, place: RemotePlace, **times: float) -> None:
        super().__init__(place, **times)
        self._tls = ssl.create_default_context() if place.scheme == "https" else None
        self._idle: list[_Connection] = []
        self._lock = threading.Lock()

    def get(self, key: str) -> bytes | None:
        status, body = self._exchange("GET", key, b"", self.asked())
        return self._said(status, body, None)

    def has(self, key: str) -> bool:
        status, _ = self._exchange("HEAD", key, b"", self.in_background())
        return self._said(status, True, False)

    def put(self, key: str, body: bytes) -> bool:
        status, _ = self._exchange("PUT", key, body, self.in_background())
        if status in (401, 403, 405):
            return False
        if status not in (200, 201, 204):
            raise RemoteCacheFault(f"{self.place.name} answered an upload with status {status}")
        return True

    def close(self) -> None:
        with self._lock:
            for connection in self._idle:
                connection.close()
            self._idle.clear()

    def _said(self, status: int, yes: T, no: T) -> T:
        if status == 200:
            return yes
        if status in (404, 410):
            return no
        if status in (401, 403):
            known = "the token" if self.place.token else "a client without a token"
            raise RemoteCacheFault(
                f"{self.place.name} refuses {known} (status {status})",
                next_step=f"put the right one into {TOKEN_VARIABLE}, or into {TOKEN_FILE} beside your settings",
            )
        raise RemoteCacheFault(f"{self.place.name} answered with status {status}")

    def _exchange(self, method: str, key: str, body: bytes, deadline: Deadline) -> tuple[int, bytes]:
        path = self.place.path_of(key)
        try:
            for _ in range(MAX_REDIRECTS + 1):
                status, found, location = self._once(method, path, body, deadline)
                if status not in REDIRECTS:
                    return status, found
                path = self._followed(path, location)
        except TimeoutError:
            raise RemoteCacheFault(f"{self.place.name} {deadline.missed}") from None
        except (OSError, HTTPException, ValueError) as e:
            said = self.quoted(getattr(e, "strerror", None) or e)
            raise RemoteCacheFault(f"{self.place.name} cannot be used: {said}") from None
        raise RemoteCacheFault(f"{self.place.name} redirects more than {MAX_REDIRECTS} times")

    def _followed(self, path: str, location: str) -> str:
        """Where a redirect leads, on this very server; anywhere else would be told the token and what is asked for."""
        place = self.place
        there = urlsplit(urljoin(f"{place.origin}{path}", location))
        port = there.port or PORTS.get(there.scheme)
        if (there.scheme, there.hostname, port) != (place.scheme, place.host, place.port):
            raise RemoteCacheFault(
                f"{place.name} redirects elsewhere, to {there.netloc[:100]!r}, which is not followed"
            )
        return there.path + (f"?{there.query}" if there.query else "")

    def _once(self, method: str, path: str, body: bytes, deadline: Deadline) -> tuple[int, bytes, str]:
        """Status, bytes and Location of one answer. A connection that was kept may have been closed meanwhile: then once more."""
        with self._lock:
            kept = self._idle.pop() if self._idle else None
        if kept is not None and kept.is_quiet:
            try:
                return self._on(kept, method, path, body, deadline)
            except (ConnectionError, BrokenPipeError):  # http.client's RemoteDisconnected too
                if deadline.heard:
                    raise
        return self._on(_Connection(self.place, self._tls), method, path, body, deadline)

    def _on(
        self, connection: _Connection, method: str, path: str, body: bytes, deadline: Deadline
    ) -> tuple[int, bytes, str]:
        connection.deadline = deadline
        whole = False
        try:
            headers = {"User-Agent": f"mirage/{package_version()}", "Accept": "application/octet-stream"}
            if self.place.token:
                headers["Authorization"] = f"Bearer {self.place.token}"
            if method == "PUT":
                headers["Content-Type"] = "application/octet-stream"
            connection.request(method, path, body=body if method == "PUT" else None, headers=headers)
            response = connection.getresponse()
            found = self._read(response, method)
            whole = response.isclosed() and not response.will_close and response.status in KEPT_AFTER
            return response.status, found, response.getheader("Location") or ""
        finally:
            with self._lock:
                keep = whole and len(self._idle) < MAX_IDLE
                if keep:
                    self._idle.append(connection)
            if not keep:
                connection.close()

    def _read(self, response: HTTPResponse, method: str) -> bytes:
        """An entry's bytes; what comes with another status is read only to have the connection free again."""
        wanted = response.status == 200 and method == "GET"
        declared = response.length
        if wanted and declared is not None and declared > MAX_ENTRY:
            raise RemoteCacheFault(f"{self.place.name} offers {declared} bytes, and no entry has more than {MAX_ENTRY}")
        if not wanted:
            return response.read() if declared is not None and declared <= MAX_REST else b""
        found = response.read(MAX_ENTRY + 1)
        if len(found) > MAX_ENTRY:
            raise RemoteCacheFault(f"{self.place.name} sends more than {MAX_ENTRY} bytes, and no entry has as many")
        if declared is not None and len(found) < declared:
            raise RemoteCacheFault(f"{self.place.name} sent {len(found)} of {declared} bytes")
        return found


class _Connection(HTTPConnection):
    """A connection each wait of which ends with `deadline`: a time-out by itself begins anew with every byte."""

    deadline: Deadline

    def __init__(self, place: RemotePlace, tls: ssl.SSLContext | None) -> None:
        super().__init__(place.host, place.port)
        self._own_tls = tls
        self.default_port = PORTS[place.scheme]  # else the port stands in the Host header

    @property
    def is_quiet(self) -> bool:
        """Whether nothing came since the last answer: neither an end nor bytes that nobody asked for."""
        quiet = isinstance(self.sock, _TimedSocket) and self.sock.is_quiet
        if not quiet:
            self.close()
        return quiet

    def connect(self) -> None:
        error: OSError = ConnectionError(f"{self.host} has no address")
        for family, kind, protocol, _, address in socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM):
            plain = socket.socket(family, kind, protocol)
            try:
                plain.settimeout(self.deadline.left())
                plain.connect(address)
                plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                plain.settimeout(self.deadline.left())
                found = plain if self._own_tls is None else self._own_tls.wrap_socket(plain, server_hostname=self.host)
            except OSError as e:
                plain.close()
                error = e
                continue
            self.sock = cast(socket.socket, _TimedSocket(found, self))
            return
        raise error


class _TimedSocket:
    """As much of a socket as http.client uses."""

    def __init__(self, inner: socket.socket, owner: _Connection) -> None:
        self._inner, self._owner = inner, owner

    def sendall(self, data: bytes) -> None:
        self._inner.settimeout(self._owner.deadline.left())
        self._inner.sendall(data)

    @property
    def is_quiet(self) -> bool:
        waiting = select.poll()  # `select` takes no descriptor above 1023
        waiting.register(self._inner, select.POLLIN)
        return not waiting.poll(0)

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_TimedReader(self._inner, self._owner.deadline))

    def close(self) -> None:
        self._inner.close()


class _TimedReader(io.RawIOBase):
    """What a server sends, until the deadline."""

    def __init__(self, inner: socket.socket, deadline: Deadline) -> None:
        self._inner, self._deadline = inner, deadline
        self._raw = inner.makefile("rb", buffering=0)  # keeps the socket open while it is read

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int | None:
        self._inner.settimeout(self._deadline.left())
        count = self._raw.readinto(buffer)
        self._deadline.heard = True
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()
