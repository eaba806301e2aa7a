"""What every kind of shared cache offers, the deadlines and sizes that hold for all, and which kind a URL names."""

from __future__ import annotations

import ipaddress
import re
import time
from typing import Generic, Protocol, TypeVar
from urllib.parse import SplitResult, urlsplit

from mirage.errors import RemoteCacheFault

FIRST_BYTE_S = 0.2  # from the beginning of a question to the first byte of its answer, connection included
WHOLE_S = 2.0  # and to the last one
PUT_S = 10.0  # nobody waits for it
MAX_ENTRY = 2 << 20  # bytes
MAX_SAID = 200  # characters of what a server says
SHORT = 4  # characters: a secret of fewer stands in any text
SCHEMES = ("http", "https", "s3", "redis", "rediss")
WRITE_URL = 'write it like "remote_cache": "https://cache.example.org/mirage"'


class RemoteStore(Protocol):
    """Exchanges of entries by key, from any threads. All raise RemoteCacheFault where there is no answer in time, none in this protocol,
    or one of more than MAX_ENTRY bytes."""

    whole_s: float

    @property
    def name(self) -> str:
        """The place in words, without what is secret."""

    def get(self, key: str) -> bytes | None:
        """The bytes under a key; None where there are none."""

    def has(self, key: str) -> bool:
        """Whether there is an entry under a key."""

    def put(self, key: str, body: bytes) -> bool:
        """Whether it was taken; False where this user may only read."""

    def close(self) -> None:
        """Ends what is kept open; waits for nothing."""


class Deadline:
    """When the first byte has to be there, and when the last."""

    def __init__(self, first_s: float, whole_s: float) -> None:
        began = time.monotonic()
        self._first_s, self._whole_s = first_s, whole_s
        self._first, self._whole, self.heard = began + first_s, began + max(first_s, whole_s), False

    def left(self) -> float:
        """Seconds for what is waited for next; TimeoutError where there are none."""
        left = (self._whole if self.heard else self._first) - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    @property
    def missed(self) -> str:
        if self.heard:
            return f"did not send its answer within {self._whole_s:g} s"
        return f"did not begin to answer within {self._first_s * 1000:g} ms"


class _Place(Protocol):
    """A place, in words without what is secret."""

    @property
    def name(self) -> str: ...

    @property
    def secrets(self) -> tuple[str, ...]: ...


P = TypeVar("P", bound=_Place)


class TimedStore(Generic[P]):
    """What all kinds have: the place, and how long a question and an upload may take."""

    def __init__(
        self, place: P, *, first_byte_s: float = FIRST_BYTE_S, whole_s: float = WHOLE_S, put_s: float = PUT_S
    ) -> None:
        self.place, self.first_byte_s, self.whole_s, self.put_s = place, first_byte_s, whole_s, put_s

    @property
    def name(self) -> str:
        return self.place.name

    def quoted(self, said: BaseException | str) -> str:
        """What a server or a library says, in one line, without what is secret: a server may repeat it."""
        text = " ".join((str(said) or type(said).__name__).split())
        for secret in self.place.secrets:
            if len(secret) >= SHORT:
                text = text.replace(" ".join(secret.split()), "...")
        return text[:MAX_SAID]

    def asked(self) -> Deadline:
        """Of a question that somebody waits for."""
        return Deadline(self.first_byte_s, self.whole_s)

    def in_background(self) -> Deadline:
        """Of an upload, and of the question before it."""
        return Deadline(self.put_s, self.put_s)


def is_this_machine(host: str) -> bool:
    """Whether a host's name or address is this machine's own, by its text alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def split_url(url: str, schemes: tuple[str, ...], form: str, *, query: bool = False) -> SplitResult:
    """A URL of one of the schemes, with a host and neither user, password nor fragment (nor, without `query`, a query). RemoteCacheFault
    for every other text; `form` says what it should look like."""
    try:
        found = urlsplit(url)
        host = found.hostname  # both raise ValueError for what is no host and port
        _ = found.port
    except ValueError:
        raise RemoteCacheFault(f"its URL {shown(url)} cannot be read", next_step=WRITE_URL) from None
    said_more = found.username or found.password or found.fragment or (found.query and not query)
    if found.scheme not in schemes or not host or said_more or not url.isascii() or not url.isprintable() or " " in url:
        raise RemoteCacheFault(f"its URL {shown(url)} is none of the form {form}", next_step=WRITE_URL)
    return found


def shown(url: str) -> str:
    """A URL in a message: without user, password, query and fragment, where secrets stand."""
    return repr(re.sub(r"//.*@", "//...@", re.sub(r"[?#].*", "?...", url, flags=re.S), flags=re.S))


def open_store(url: str, token: str = "", *, first_byte_s: float = FIRST_BYTE_S) -> RemoteStore:
    """The shared cache at a URL, by its scheme; no other kind's module is imported. RemoteCacheFault where the URL names none, or the
    package of its kind is not installed."""
    scheme = url.partition(":")[0]
    if scheme == "s3":
        from mirage_daemon.remote_s3 import RemoteS3, S3Place

        return RemoteS3(S3Place.of(url, token), first_byte_s=first_byte_s)
    if scheme in ("redis", "rediss"):
        from mirage_daemon.remote_redis import RedisPlace, RemoteRedis

        return RemoteRedis(RedisPlace.of(url, token), first_byte_s=first_byte_s)
    from mirage_daemon.remote_http import RemoteHttp, RemotePlace

    return RemoteHttp(RemotePlace.of(url, token), first_byte_s=first_byte_s)


def needs(package: str, extra: str) -> RemoteCacheFault:
    """The fault of a kind whose package is missing."""
    return RemoteCacheFault(
        f"its kind needs the package `{package}`, which is not installed",
        next_step=f"pip install 'mirage-superoptimizer[{extra}]', into the environment that the daemon runs in",
    )
