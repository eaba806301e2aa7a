"""The wire protocol of the daemon: length-framed msgpack over a unix socket, a version handshake, then requests and events.

Limits are the same on both sides. Every request carries an `id` (chosen by the client) and a `deadline_s`; every request
gets exactly one `reply` or `error` with that id; `subscribe` also gets `event` messages until the job ends. Unknown keys,
wrong types and oversize frames are `ProtocolError` and close the connection. `requests` is the table of requests.
"""

from __future__ import annotations

import attrs

from mirage.link.frames import MAX_FRAME as MAX_FRAME
from mirage.link.frames import decode as decode
from mirage.link.frames import encode as encode
from mirage.link.request_parameters import Abandon as Abandon
from mirage.link.request_parameters import Adopt as Adopt
from mirage.link.request_parameters import Cache as Cache
from mirage.link.request_parameters import Cancel as Cancel
from mirage.link.request_parameters import Explain as Explain
from mirage.link.request_parameters import Inputs as Inputs
from mirage.link.request_parameters import Log as Log
from mirage.link.request_parameters import Lookup as Lookup
from mirage.link.request_parameters import Result as Result
from mirage.link.request_parameters import SearchOptions as SearchOptions
from mirage.link.request_parameters import Seen as Seen
from mirage.link.request_parameters import Shapes as Shapes
from mirage.link.request_parameters import Shutdown as Shutdown
from mirage.link.request_parameters import Status as Status
from mirage.link.request_parameters import Submit as Submit
from mirage.link.request_parameters import Subscribe as Subscribe
from mirage.link.request_parameters import Unwatch as Unwatch
from mirage.link.request_parameters import Watch as Watch
from mirage.results.codec import structure as structure
from mirage.results.codec import unstructure as unstructure
from mirage.results.progress import ProgressCounts

VERSION = 2
STATES = ("queued", "tracing", "searching", "verifying", "tuning", "done", "kept", "failed", "cancelled")
FINAL = ("done", "kept", "failed", "cancelled")


@attrs.frozen
class Hello:
    """Client's first message: protocol version, the package's version, and what is speaking (cli, lsp, runtime).
    `replaces`: a daemon that is older than this client ends, for the client to start the newer one (MIR507).
    `token`: what lies beside the socket, which no worker can read; not sent where a daemon has none."""

    version: int
    package: str
    client: str
    replaces: bool = False
    token: str = ""


@attrs.frozen
class Welcome:
    """Server's answer to Hello: its versions, process id and uptime."""

    version: int
    package: str
    pid: int
    uptime_s: float


@attrs.frozen
class Event:
    """Server to client: a job's progress. `best` is a short text."""

    job: str
    state: str
    counts: ProgressCounts = attrs.field(factory=ProgressCounts)
    best: str = ""
