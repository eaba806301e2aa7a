"""A shared cache in Redis, by redis-py: GET, EXISTS and SET of entries by key, within deadlines and sizes whatever it answers."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mirage.errors import RemoteCacheFault
from mirage.link.user_settings import TOKEN_FILE, TOKEN_VARIABLE
from mirage_daemon.remote_place import (
    MAX_ENTRY,
    Deadline,
    TimedStore,
    is_this_machine,
    needs,
    split_url,
)

try:
    from redis import exceptions
    from redis.backoff import NoBackoff
    from redis.connection import Connection, SSLConnection
    from redis.retry import Retry
except ImportError:
    raise needs("redis", "redis") from None

PORT = 6379
MAX_IDLE = 4  # connections that are kept
MAX_ANSWER = MAX_ENTRY + (1 << 12)  # bytes of a whole answer: an entry and the protocol's own
_FORM = "redis://host:6379/0 or rediss://host:6379/0"
_TOKEN_STEP = (
    f"put the right PASSWORD or USER:PASSWORD into {TOKEN_VARIABLE}, or into {TOKEN_FILE} beside your settings"
)


@dataclass(frozen=True)
class RedisPlace:
    """Where a Redis is: whether by TLS, host, port, number of the database, user and password."""

    tls: bool
    host: str
    port: int
    db: int
    user: str = ""
    password: str = field(default="", repr=False)

    @staticmethod
    def of(url: str, token: str = "") -> RedisPlace:
        """`token` is PASSWORD or USER:PASSWORD. Raises RemoteCacheFault for what is no such URL, and for a password that would go over a
        network unencrypted."""
        found = split_url(url, ("redis", "rediss"), _FORM)
        db = found.path.strip("/") or "0"
        if not (db.isdigit() and len(db) < 6):
            raise RemoteCacheFault(f"its database {db!r} is no number", next_step=f"write it like {_FORM}")
        host, tls = found.hostname or "", found.scheme == "rediss"
        if token and not tls and not is_this_machine(host):
            raise RemoteCacheFault(
                f"a password is not sent to {host} without encryption",
                next_step="name it by rediss://, or remove the token",
            )
        user, _, password = token.rpartition(":")
        return RedisPlace(tls, host, found.port or PORT, int(db), user, password)

    @property
    def secrets(self) -> tuple[str, ...]:
        return (self.password,)

    @property
    def name(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"redis{'s' * self.tls}://{host}:{self.port}/{self.db}"


class RemoteRedis(TimedStore[RedisPlace]):
    """As RemoteStore. Entries lie under `mirage/ac/KEY`, without an end: what goes when memory is short is the server's to say."""

    def __init__(self, place: RedisPlace, **times: float) -> None:
        super().__init__(place, **times)
        self._idle: list[_Timed] = []
        self._lock = threading.Lock()

    def get(self, key: str) -> bytes | None:
        found = self._exchange(self.asked(), "GET", _path(key))
        if found is None:
            return None
        if not isinstance(found, bytes) or len(found) > MAX_ENTRY:
            raise RemoteCacheFault(f"{self.name} holds no entry under its key, or one of more than {MAX_ENTRY} bytes")
        return found

    def has(self, key: str) -> bool:
        return self._exchange(self.in_background(), "EXISTS", _path(key)) == 1

    def put(self, key: str, body: bytes) -> bool:
        return self._exchange(self.in_background(), "SET", _path(key), body, refused=False) is not False

    def close(self) -> None:
        with self._lock:
            for connection in self._idle:
                connection.disconnect()
            self._idle.clear()

    def _exchange(self, deadline: Deadline, *command: str | bytes, refused: bool | None = None) -> object:
        """The answer; `refused`, where it is not None and the user may not do this."""
        try:
            return self._answered(deadline, command)
        except (exceptions.NoPermissionError, exceptions.ReadOnlyError) as e:
            if refused is not None:
                return refused
            raise RemoteCacheFault(f"{self.name} refuses this user: {self.quoted(e)}", next_step=_TOKEN_STEP) from None
        except exceptions.AuthenticationError as e:
            known = "the token" if self.place.password else "a client without a password"
            raise RemoteCacheFault(f"{self.name} refuses {known}: {self.quoted(e)}", next_step=_TOKEN_STEP) from None
        except (TimeoutError, exceptions.TimeoutError):
            raise RemoteCacheFault(f"{self.name} {deadline.missed}") from None
        except (OSError, exceptions.RedisError, ValueError, RecursionError) as e:
            raise RemoteCacheFault(f"{self.name} cannot be used: {self.quoted(e)}") from None

    def _answered(self, deadline: Deadline, command: tuple[str | bytes, ...]) -> object:
        """The answer to a command. A connection that was kept may have been closed meanwhile: then once more."""
        with self._lock:
            kept = self._idle.pop() if self._idle else None
        if kept is not None:
            try:
                return self._on(kept, deadline, command)
            except exceptions.ConnectionError:
                if deadline.heard:
                    raise
        place = self.place
        kind: Callable[..., _Timed] = _TimedTls if place.tls else _TimedPlain
        made = kind(
            host=place.host,
            port=place.port,
            db=place.db,
            username=place.user or None,
            password=place.password or None,
            protocol=2,
            retry=Retry(NoBackoff(), 0),
        )
        return self._on(made, deadline, command)

    def _on(self, connection: _Timed, deadline: Deadline, command: tuple[str | bytes, ...]) -> object:
        connection.deadline, connection.left = deadline, MAX_ANSWER
        whole = False
        try:
            connection.socket_connect_timeout = connection.socket_timeout = deadline.left()
            connection.connect()
            deadline.heard = False  # what came until here was the greeting's
            connection.send_command(*command)
            found = connection.read_response()
            whole = True
            return found
        finally:
            with self._lock:
                keep = whole and len(self._idle) < MAX_IDLE
                if keep:
                    self._idle.append(connection)
            if not keep:
                connection.disconnect()


class _Timed(Connection):  # type: ignore[misc, unused-ignore]
    """A connection each wait of which ends with `deadline`, and that reads at most `left` bytes: a time-out by itself begins anew with
    every byte, and redis-py reads as many as the server declares."""

    deadline: Deadline
    left: int

    def _connect(self) -> Any:
        return _TimedSocket(super()._connect(), self)


class _TimedPlain(_Timed):
    """Without TLS."""


class _TimedTls(_Timed, SSLConnection):  # type: ignore[misc, unused-ignore]
    """With TLS, and the system's certificates."""


class _TimedSocket:
    """As much of a socket as redis-py's connections and parsers use."""

    def __init__(self, inner: socket.socket, owner: _Timed) -> None:
        self._inner, self._owner, self._name = inner, owner, f"{owner.host}:{owner.port}"

    def recv(self, size: int) -> bytes:
        self._wait()
        return self._read(self._inner.recv(size))

    def recv_into(self, buffer: bytearray) -> int:
        self._wait()
        count = self._inner.recv_into(buffer)
        self._count(count)
        return count

    def sendall(self, data: bytes) -> None:
        self._wait()
        self._inner.sendall(data)

    def settimeout(self, _: float | None) -> None:
        """The deadline decides."""

    def shutdown(self, how: int) -> None:
        self._inner.shutdown(how)

    def close(self) -> None:
        self._inner.close()

    def fileno(self) -> int:
        return self._inner.fileno()

    def _wait(self) -> None:
        self._inner.settimeout(self._owner.deadline.left())

    def _read(self, found: bytes) -> bytes:
        self._count(len(found))
        return found

    def _count(self, count: int) -> None:
        self._owner.deadline.heard = True
        self._owner.left -= count
        if self._owner.left < 0:
            raise RemoteCacheFault(f"{self._name} sends more than {MAX_ENTRY} bytes, and no entry has as many")


def _path(key: str) -> str:
    return f"mirage/ac/{key}"
