"""The wire: length-framed msgpack (`frames`) over a unix socket. Version handshake first, then requests and events.

Limits are the same on both sides. Every request carries an `id` (chosen by the client) and a `deadline_s`; every request
gets exactly one `reply` or `error` with that id; `subscribe` also gets `event` messages until the job ends. Unknown keys,
wrong types and oversize frames are `ProtocolError` and close the connection.
"""

from __future__ import annotations

import attrs

from mirage.link import cache_messages, question_options
from mirage.link.cache_messages import Adopt as Adopt
from mirage.link.cache_messages import Cache as Cache
from mirage.link.cache_messages import Explain as Explain
from mirage.link.cache_messages import Log as Log
from mirage.link.frames import MAX_FRAME as MAX_FRAME
from mirage.link.frames import decode as decode
from mirage.link.frames import encode as encode
from mirage.link.question_options import Abandon as Abandon
from mirage.link.question_options import Inputs as Inputs
from mirage.link.question_options import Options as Options
from mirage.link.question_options import Seen as Seen
from mirage.link.question_options import Shapes as Shapes
from mirage.link.question_options import Unwatch as Unwatch
from mirage.link.question_options import Watch as Watch
from mirage.link.strict_codec import structure as structure
from mirage.link.strict_codec import unstructure as unstructure

VERSION = 2
STATES = ("queued", "tracing", "searching", "verifying", "tuning", "done", "kept", "failed", "cancelled")
FINAL = ("done", "kept", "failed", "cancelled")


@attrs.frozen
class Hello:
    """Client's first message: protocol version, the package's version, and what is speaking (cli, lsp, runtime).
    `replaces`: a daemon that is older than this client ends, for the client to start the newer one (MIR507)."""

    version: int
    package: str
    client: str
    replaces: bool = False


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
    options: Options = attrs.field(factory=Options)
    inputs: Inputs = attrs.field(factory=list)  # of a function that does not say its own
    fresh: bool = False  # work on it though the cache has an answer


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
    options: Options = attrs.field(factory=Options)
    inputs: Inputs = attrs.field(factory=list)


@attrs.frozen
class Status:
    """The daemon's state: {"pid", "uptime_s", "jobs": [...], "ended": [...], "cache": {...}, "sandbox": {...}}."""


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


_CLASSES = (
    Hello,
    Submit,
    Subscribe,
    Cancel,
    Result,
    Lookup,
    Status,
    Shutdown,
    *question_options.MESSAGES,
    *cache_messages.MESSAGES,
)
REQUESTS: dict[str, type] = {cls.__name__.lower(): cls for cls in _CLASSES}
