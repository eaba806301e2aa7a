"""Answers of the daemon, by the fields that they have on the wire."""

from __future__ import annotations

from typing import TypedDict

from mirage.ir.json_value import Json, JsonObject
from mirage.link.request_parameters import Inputs


class Submitted(TypedDict):
    """A job; a state that is final means that its result is there already. `key` is the digest of the question."""

    job: str
    key: str
    state: str


class JudgedSizes(TypedDict):
    """The verdict on one row of sizes; `inputs` are its shapes in words."""

    inputs: str
    verdict: JsonObject


class Judged(TypedDict):
    """The verdict on each row of sizes that both sides have; `missing`: rows of one side alone, with the side that has none."""

    left: str
    right: str
    rows: list[JudgedSizes]
    missing: list[tuple[str, str]]


class Outcome(TypedDict):
    """How a job ended: its result, or the error that it ended with."""

    state: str
    result: JsonObject | None
    error: JsonObject | None


class CancelAnswer(TypedDict):
    """Whether the work was stopped, because nobody else wants it."""

    cancelled: bool


class Found(TypedDict):
    """A result from the cache, None where it has none."""

    result: JsonObject | None


class JobEvent(TypedDict):
    """Where a job is: see protocol.Event; of the counts those that are not 0."""

    job: str
    state: str
    counts: dict[str, int]
    best: str


class Explanation(JobEvent, total=False):
    """A job with all that its result says of itself but the module and the µGraphs."""

    error: JsonObject | None
    function: str
    reason: str
    answer: str
    verdict: JsonObject
    search: JsonObject


class WatchedProject(TypedDict):
    """A folder whose saves are submitted; `problem` says why some are not."""

    root: str
    folders: int
    files: int
    functions: int
    submitted: int
    problem: str


class Unwatched(TypedDict):
    """Whether the folder was watched."""

    watched: bool


class Recorded(TypedDict):
    """Whether the inputs were new for the function."""

    new: bool


class ObservedShapes(TypedDict):
    """The inputs of the calls of each function, the latest last."""

    shapes: dict[str, list[Inputs]]


class Origin(TypedDict, total=False):
    """What asks the same question elsewhere: the least text of a function, its target, options and inputs."""

    text: str
    function: str
    target: str
    options: JsonObject
    inputs: Inputs


class CacheEntry(TypedDict):
    """Where an entry of the cache lies, and what it takes."""

    key: str
    size: int
    created: float
    used: float


class CacheRow(TypedDict, total=False):
    """A result in a page: what `list` tells of it, or what `export` gives of it to a colleague (`says` is for people, no
    daemon reads it)."""

    key: str
    size: int
    created: float
    used: float
    state: str
    function: str
    target: str
    reason: str
    verdict: str
    text: str
    options: JsonObject
    inputs: Inputs
    mugraph: Json
    says: JsonObject


class CacheResult(CacheEntry):
    """What `show` gives of a result."""

    state: str
    result: JsonObject
    origin: Origin


class CacheNumbers(TypedDict):
    """Entries and their bytes, and what happened since the daemon's start."""

    entries: int
    bytes: int
    hits: int
    misses: int
    refused: int
    write_errors: int


class CacheAnswer(TypedDict, total=False):
    """What a command of `request_parameters.Cache` gives. `list`, `export`: a page of results, which `after` continues,
    and how many are `passed`, not being for others; `show`: a CacheResult; `verify`: how many are sound, how many were
    refused; `gc`: how many were deleted, and CacheNumbers."""

    results: list[CacheRow]
    after: str
    passed: int
    key: str
    size: int
    created: float
    used: float
    state: str
    result: JsonObject
    origin: Origin
    sound: int
    refused: int
    deleted: int
    entries: int
    bytes: int


class LogLines(TypedDict):
    lines: list[str]


class ActiveJob(JobEvent):
    """A job that is queued or running; `saves` of those that want it are watched projects, the others clients."""

    key: str
    priority: int
    wanted: int
    saves: int
    function: str
    path: str


class EndedJob(TypedDict):
    """A job that is over."""

    job: str
    state: str
    function: str
    path: str
    ago_s: float
    reason: str
    verdict: str
    error: str


class RemoteCacheNumbers(TypedDict):
    """The shared cache: seconds for which it is left alone, what was wrong last, and since the start: µGraphs that it proposed and
    keys that it did not have; of the former those that were verified here and those that were not taken; faults of the server;
    entries that it took."""

    url: str
    pause_s: float
    problem: str
    proposed: int
    misses: int
    verified: int
    refused: int
    faults: int
    uploaded: int


class JobCounts(TypedDict):
    """Jobs that wait and run now, and those that ended since the daemon's start."""

    queued: int
    running: int
    done: int
    kept: int
    failed: int
    cancelled: int


class NodeNumbers(TypedDict):
    """A machine that works for the daemon: itself ("daemon"), a cluster that it reaches at an address as a whole ("cluster"), and each
    of that one's nodes ("node"). `gpus` are their models, `jobs` how many pieces of work it took up since the daemon's start."""

    name: str
    role: str
    processors: int
    gpus: list[str]
    jobs: int


class DaemonStatus(TypedDict):
    pid: int
    package: str
    uptime_s: float
    clients: int
    jobs: list[ActiveJob]
    counts: JobCounts
    nodes: list[NodeNumbers]
    ended: list[EndedJob]
    cache: CacheNumbers
    remote: RemoteCacheNumbers | None
    sandbox: dict[str, bool]
    projects: list[WatchedProject]


class MetricsText(TypedDict):
    """What the daemon counts, in the text form of OpenMetrics."""

    text: str


class Stopping(TypedDict):
    stopping: bool
