"""The wire: length-framed msgpack over a unix socket, one file. Version handshake first, then requests and events.

Frame: 4-byte big-endian length, then one msgpack map. Limits are the same on both sides. Every request carries an `id`
(chosen by the client) and a `deadline_s`; every request gets exactly one `reply` or `error` with that id; `subscribe`
also gets `event` messages until the job ends. Unknown keys, wrong types and oversize frames are `ProtocolError` and
close the connection.
"""

from __future__ import annotations

import struct
from typing import Any

import attrs
import msgpack

from mirage.errors import ProtocolError
from mirage.link.scan import check_payload
from mirage.link.strict import structure as structure
from mirage.link.strict import unstructure as unstructure

VERSION = 1
MAX_FRAME = 16 * 1024 * 1024
MAX_ITEMS, MAX_DEPTH = 100_000, 64
# what `check_payload` does not see: keys are text, text is UTF-8, nothing is longer than a frame
_LIMITS: dict[str, Any] = {"strict_map_key": True, "raw": False, "max_ext_len": 0, "max_str_len": MAX_FRAME}
STATES = ("queued", "tracing", "searching", "verifying", "tuning", "done", "kept", "failed", "cancelled")
FINAL = ("done", "kept", "failed", "cancelled")


@attrs.frozen
class Hello:
    """Client's first message: protocol version, the package's version, and what is speaking (cli, lsp, runtime)."""

    version: int
    package: str
    client: str


@attrs.frozen
class Welcome:
    """Server's answer to Hello: its versions, process id and uptime."""

    version: int
    package: str
    pid: int
    uptime_s: float


@attrs.frozen
class Submit:
    """Optimize one function: the file's text and path, the function's name, the target architecture, the priority
    (0 = on screen, larger is later), whether user code may run. Replies {"job": id, "key": digest, "state": state}."""

    text: str
    path: str
    function: str
    target: str = "sm_90"
    priority: int = 1
    trusted: bool = True
    interpreter: str = ""


@attrs.frozen
class Subscribe:
    """Stream a job's events, beginning with its present state. Replies once it is final, with the Result's reply."""

    job: str


@attrs.frozen
class Cancel:
    """Stop a job for this client; the work stops when no client wants it. Replies {"cancelled": bool}."""

    job: str


@attrs.frozen
class Result:
    """The result of a job that is final: {"state", "result": dict | None, "error": dict | None}; else UnknownJob."""

    job: str


@attrs.frozen
class Lookup:
    """A result from the cache alone, nothing is started: {"result": dict | None}."""

    text: str
    path: str
    function: str
    target: str = "sm_90"
    interpreter: str = ""


@attrs.frozen
class Status:
    """The daemon's state: {"pid", "uptime_s", "jobs": [...], "cache": {...}, "sandbox": {...}}."""


@attrs.frozen
class Shutdown:
    """End the daemon after running jobs were told to stop. Replies {"stopping": true}."""


@attrs.frozen
class Event:
    """Server to client: a job's progress. `counts` are named integers (values, mugraphs, ...); `best` a short text."""

    job: str
    state: str
    counts: dict[str, int]
    best: str = ""


_CLASSES = (Hello, Submit, Subscribe, Cancel, Result, Lookup, Status, Shutdown)
REQUESTS: dict[str, type] = {cls.__name__.lower(): cls for cls in _CLASSES}


def encode(message: dict[str, Any]) -> bytes:
    """One frame. Requests are {"type", "id", "deadline_s", "body"}, answers {"type": reply|error|event, "id", "body"}.

    A request without "deadline_s" waits as long as it takes; an event's "id" is that of its `subscribe`.
    """
    data: bytes = msgpack.packb(message, use_bin_type=True)
    if len(data) > MAX_FRAME:
        raise ProtocolError(f"a message of {len(data)} bytes is over the limit of {MAX_FRAME}")
    return struct.pack(">I", len(data)) + data


def decode(payload: bytes) -> dict[str, Any]:
    """The message in a frame's payload (without its length)."""
    check_payload(payload, max_items=MAX_ITEMS, max_depth=MAX_DEPTH)
    try:
        message = msgpack.unpackb(payload, **_LIMITS)
    except Exception as e:  # msgpack raises a family of its own and ValueError; each means the same here
        raise ProtocolError(f"a frame does not decode: {e}") from None
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise ProtocolError("a message is a map with a text under 'type'")
    return message
