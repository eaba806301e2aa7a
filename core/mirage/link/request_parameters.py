"""Parameters of every request that a client sends to the daemon, as dataclasses; `requests` has the table of requests."""

from __future__ import annotations

import attrs

# (parameter, shape, dtype) of the tensors of one call, in the order of the parameters
Inputs = list[tuple[str, list[int], str]]


@attrs.frozen
class SearchOptions:
    """Bounds on the search, as `mirage optimize` takes them (0: the search's own). `rules` is the text of a file of the
    user's rules, `given` the parameters that narrow the search (mirage.ir.narrowing), which go before those that the decorator
    gives."""

    kernels: int = 0
    loops: int = 0
    seconds: float = 0.0
    anyway: bool = False
    rules: str = ""
    given: dict[str, list[object]] = attrs.field(factory=dict)


@attrs.frozen
class Submit:
    """Optimize one function: the file's text and path, the function's name, the target architecture, the priority
    (0 = on screen, larger is later), whether user code may run."""

    text: str
    path: str
    function: str
    target: str = "sm_90"
    priority: int = 1
    trusted: bool = True
    interpreter: str = ""
    options: SearchOptions = attrs.field(factory=SearchOptions)
    inputs: Inputs = attrs.field(factory=list)  # of a function that does not say its own
    fresh: bool = False  # work on it though the cache has an answer


@attrs.frozen
class Subscribe:
    """Stream a job's events, beginning with its present state; the answer comes once it is final."""

    job: str


@attrs.frozen
class Cancel:
    """Stop a job for this client; the work stops when no client wants it."""

    job: str


@attrs.frozen
class Abandon:
    """As Cancel, by the user's own hand: what saves in watched projects asked for is taken back too, and a save of the same
    text does not ask again."""

    job: str


@attrs.frozen
class Result:
    """The result of a job that is final; UnknownJob of any other."""

    job: str


@attrs.frozen
class Lookup:
    """A result from the cache alone; nothing is started."""

    text: str
    path: str
    function: str
    target: str = "sm_90"
    interpreter: str = ""
    options: SearchOptions = attrs.field(factory=SearchOptions)
    inputs: Inputs = attrs.field(factory=list)


@attrs.frozen
class Adopt:
    """A µGraph (its JSON form as a text) that somebody else found for a function: verified here, and only then kept.
    `options` has no rules: a stranger's laws are not believed."""

    text: str
    path: str
    function: str
    mugraph: str
    target: str = "sm_90"
    interpreter: str = ""
    options: SearchOptions = attrs.field(factory=SearchOptions)
    inputs: Inputs = attrs.field(factory=list)


@attrs.frozen
class JudgedText:
    """One side of a comparison: the file's path as the user gave it, the function that is named ("" for none), the file's text and its
    full path."""

    path: str
    function: str
    text: str
    full: str


@attrs.frozen
class Verify:
    """Whether two sides compute the same, by the rules of `mirage verify`. `overflow`, `undefined`: what may differ."""

    a: JudgedText
    b: JudgedText
    target: str = "sm_90"
    overflow: bool = False
    undefined: bool = False
    interpreter: str = ""


@attrs.frozen
class Explain:
    """Why a job's answer is what it is: the job, and what its result says of itself without its module and its µGraphs."""

    job: str


@attrs.frozen
class Watch:
    """Watch a trusted project: a save that changes a decorated function submits it. `root` is the full path of a folder."""

    root: str
    trusted: bool = False
    interpreter: str = ""
    target: str = "sm_90"


@attrs.frozen
class Unwatch:
    """Watch a project no longer."""

    root: str


@attrs.frozen
class Seen:
    """A decorated function of a running program was called with these inputs."""

    path: str
    function: str
    inputs: Inputs


@attrs.frozen
class Shapes:
    """What the decorated functions of a file were called with."""

    path: str


@attrs.frozen
class Cache:
    """`do`: list, show, export (results whose keys begin with `key`; `after` continues), verify (read every entry and
    drop what is not sound), gc (at most `limit_bytes`, nothing unused for `older_s`; -1: no such bound)."""

    do: str
    key: str = ""
    after: str = ""
    limit_bytes: int = -1
    older_s: float = -1.0


@attrs.frozen
class Log:
    """The last lines of the daemon's log, at most 1000."""

    lines: int = 40


@attrs.frozen
class Metrics:
    """What the daemon counts, for whoever watches many."""


@attrs.frozen
class Status:
    """The daemon's jobs, clients, projects, cache and the limits that hold for its workers."""


@attrs.frozen
class Shutdown:
    """End the daemon after running jobs were told to stop."""
