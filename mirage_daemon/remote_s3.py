"""A shared cache in a bucket of S3, or of what speaks like it, by obstore: entries by key, within deadlines and sizes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeVar
from urllib.parse import parse_qsl

from mirage.errors import RemoteCacheFault
from mirage.link.user_settings import TOKEN_FILE, TOKEN_VARIABLE
from mirage_daemon.remote_place import (
    MAX_ENTRY,
    Deadline,
    TimedStore,
    is_this_machine,
    needs,
    shown,
    split_url,
)

try:
    import obstore
    from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError
    from obstore.store import S3Store
except ImportError:
    raise needs("obstore", "s3") from None

REGION = "us-east-1"
_FORM = "s3://bucket/prefix, with ?region=eu-west-1&endpoint=https://host where it is not Amazon's"
_ASKED = ("region", "endpoint")
_KEYS = f"put ACCESS_KEY_ID:SECRET_ACCESS_KEY into {TOKEN_VARIABLE}, or into {TOKEN_FILE} beside your settings"
_RIGHTS = (
    "allow it s3:GetObject and s3:ListBucket (without the latter S3 refuses to say that there is no entry), or " + _KEYS
)
_CHUNK = 1 << 16  # bytes
T = TypeVar("T")


@dataclass(frozen=True)
class S3Place:
    """Where a bucket is: its name, what its entries' paths begin with, the region, the URL of the server, and the keys; without keys
    obstore takes those of its usual places."""

    bucket: str
    prefix: str
    region: str
    endpoint: str
    key_id: str = ""
    secret: str = field(default="", repr=False)
    session: str = field(default="", repr=False)

    @staticmethod
    def of(url: str, token: str = "") -> S3Place:
        """`token` is KEY_ID:SECRET or KEY_ID:SECRET:SESSION. Raises RemoteCacheFault for what is no such URL or token."""
        found = split_url(url, ("s3",), _FORM, query=True)
        said = dict(parse_qsl(found.query, keep_blank_values=True))
        if set(said) - set(_ASKED) or found.port is not None:
            raise RemoteCacheFault(
                f"its URL {shown(url)} is none of the form {_FORM}", next_step=f"write it like {_FORM}"
            )
        region = said.get("region") or REGION
        endpoint = said.get("endpoint") or f"https://s3.{region}.amazonaws.com"
        server = split_url(endpoint, ("http", "https"), "https://host")
        if server.scheme == "http" and not is_this_machine(server.hostname or ""):
            raise RemoteCacheFault(
                f"{server.netloc} is not spoken to without encryption", next_step="name the endpoint by https://"
            )
        parts = token.split(":", 2)
        if token and (len(parts) < 2 or not all(parts)):
            raise RemoteCacheFault(
                "its token is none of the form KEY_ID:SECRET or KEY_ID:SECRET:SESSION", next_step=_KEYS
            )
        key_id, secret, session = (*parts, "", "")[:3] if token else ("", "", "")
        return S3Place(found.netloc, found.path.strip("/"), region, endpoint.rstrip("/"), key_id, secret, session)

    @property
    def secrets(self) -> tuple[str, ...]:
        return self.secret, self.session

    @property
    def name(self) -> str:
        return f"s3://{self.bucket}" + (f"/{self.prefix}" if self.prefix else "")

    def path_of(self, key: str) -> str:
        """The path of an entry in the bucket."""
        return f"{self.prefix}/ac/{key}" if self.prefix else f"ac/{key}"


class RemoteS3(TimedStore[S3Place]):
    """As RemoteStore."""

    def __init__(self, place: S3Place, **times: float) -> None:
        super().__init__(place, **times)
        keys = {"access_key_id": place.key_id, "secret_access_key": place.secret, "session_token": place.session}
        try:
            self._bucket = S3Store(
                place.bucket,
                endpoint=place.endpoint,  # said here, so that no variable of the environment says another one
                region=place.region,
                virtual_hosted_style_request=False,
                client_options={
                    "allow_http": place.endpoint.startswith("http://"),
                    "allow_invalid_certificates": False,
                    "connect_timeout": timedelta(seconds=self.first_byte_s),
                    "timeout": timedelta(seconds=max(self.whole_s, self.put_s)),
                },
                retry_config={"max_retries": 0, "retry_timeout": timedelta(seconds=self.whole_s)},
                **{name: value for name, value in keys.items() if value},
            )
        except (BaseError, ValueError) as e:
            raise RemoteCacheFault(f"{place.name} cannot be used: {self.quoted(_first_line(e))}") from None

    def get(self, key: str) -> bytes | None:
        deadline = self.asked()
        return self._exchange(deadline, lambda: self._read(key, deadline), absent=None)

    def has(self, key: str) -> bool:
        deadline = self.in_background()

        async def ask() -> bool:
            await asyncio.wait_for(obstore.head_async(self._bucket, self.place.path_of(key)), deadline.left())
            return True

        return self._exchange(deadline, ask, absent=False)

    def put(self, key: str, body: bytes) -> bool:
        deadline = self.in_background()

        async def give() -> bool:
            put = obstore.put_async(self._bucket, self.place.path_of(key), body, use_multipart=False)
            await asyncio.wait_for(put, deadline.left())
            return True

        return self._exchange(deadline, give, absent=False, refused=False)

    def close(self) -> None:
        """obstore closes its connections with the object."""

    async def _read(self, key: str, deadline: Deadline) -> bytes:
        asked = obstore.get_async(self._bucket, self.place.path_of(key))
        found = await asyncio.wait_for(asked, deadline.left())
        deadline.heard = True
        declared = found.meta["size"]
        if declared > MAX_ENTRY:
            raise RemoteCacheFault(f"{self.name} offers {declared} bytes, and no entry has more than {MAX_ENTRY}")

        async def whole() -> bytes:
            content = bytearray()
            async for chunk in found.stream(min_chunk_size=_CHUNK):
                content += bytes(chunk)
                if len(content) > MAX_ENTRY:
                    raise RemoteCacheFault(f"{self.name} sends more than {MAX_ENTRY} bytes, and no entry has as many")
            return bytes(content)

        content = await asyncio.wait_for(whole(), deadline.left())
        if len(content) != declared:
            raise RemoteCacheFault(f"{self.name} sent {len(content)} of {declared} bytes")
        return content

    def _exchange(
        self, deadline: Deadline, work: Callable[[], Awaitable[T]], *, absent: T, refused: T | None = None
    ) -> T:
        """What an exchange gives; `absent` where there is no entry, `refused` (where it is not None) where access is denied. In a loop
        of its own: it is a thread's, which waits."""

        async def run() -> T:
            return await work()

        try:
            return asyncio.run(run())
        except FileNotFoundError as e:
            if "NoSuchBucket" in str(e):
                raise RemoteCacheFault(
                    f"there is no bucket {self.place.bucket!r} at {self.place.endpoint}",
                    next_step="create it, or name the right one with its region in `remote_cache`",
                ) from None
            return absent
        except (PermissionDeniedError, UnauthenticatedError):
            if refused is not None:
                return refused
            known = "the key" if self.place.key_id else "the keys that obstore found, or a client without any,"
            raise RemoteCacheFault(f"{self.name} refuses {known} (access denied)", next_step=_RIGHTS) from None
        except (TimeoutError, asyncio.TimeoutError):
            raise RemoteCacheFault(f"{self.name} {deadline.missed}") from None
        except (BaseError, OSError, ValueError) as e:
            raise RemoteCacheFault(f"{self.name} cannot be used: {self.quoted(_first_line(e))}") from None


def _first_line(error: BaseException) -> str:
    """Of what obstore says; the rest is its own state."""
    return ((str(error) or type(error).__name__).splitlines() or [""])[0]
