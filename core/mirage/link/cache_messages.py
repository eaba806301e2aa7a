"""Messages about what is kept: the cache, why an answer is what it is, the log."""

from __future__ import annotations

import attrs

from mirage.link.question_options import Inputs, Options


@attrs.frozen
class Adopt:
    """A µGraph (its JSON form as a text) that somebody else found for a function: verified here, and only then kept.
    Replies as Submit. `options` without rules: a stranger's laws are not believed."""

    text: str
    path: str
    function: str
    mugraph: str
    target: str = "sm_90"
    interpreter: str = ""
    options: Options = attrs.field(factory=Options)
    inputs: Inputs = attrs.field(factory=list)


@attrs.frozen
class Explain:
    """Why a job's answer is what it is: {"job", "state", "counts", "best", "error"} and what the result says of itself,
    without its module and its µGraphs."""

    job: str


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
    """The last lines of the daemon's log, at most 1000: {"lines": [...]}."""

    lines: int = 40


MESSAGES = (Adopt, Explain, Cache, Log)
