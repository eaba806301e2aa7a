"""The task `optimize`: the whole pipeline in a worker of the project's interpreter, for the daemon.

This process runs no user code: that happens in workers of its own, fresh ones for every job, so that nothing of one job is
left for the next. The ones of the next job are made while nothing waits for them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

from mirage.errors import MirageError
from mirage.isolate.confinement import empty_shared
from mirage.isolate.imported_ahead import REHEARSAL, RUNNING, TRACING
from mirage.isolate.task_table import Emit, Value
from mirage.pipeline.optimize import optimize
from mirage.pipeline.processes import IMPORTS, Tools
from mirage.pipeline.request_payload import from_payload
from mirage.results.codec import unstructure
from mirage.results.progress import CancelToken
from mirage.search.checkpoint import Checkpoint, decode, encode
from mirage.search.subproblems import Key, Part

log = logging.getLogger("mirage.pipeline")
WARM_S = 120.0
_beside = ThreadPoolExecutor(1, thread_name_prefix="mirage-warm")
_spare: list[Future[Tools]] = []


STOPPED = "stopped"  # the name, which no part has, of the bound at which a search ended on another machine


class Sent(Checkpoint):
    """A checkpoint that lies with the parent: it gave what is finished (search -> name -> line), and gets every further part
    as an event {"part": {"search", "name", "line"}}. `whole`: also what a bound cut short, and the bound, so that whoever takes
    the search up ends where it ended."""

    def __init__(self, known: dict[str, dict[str, str]], emit: Emit, *, whole: bool = False) -> None:
        super().__init__()
        self._known, self._emit, self._search, self._whole = known, emit, "", whole

    def open(self, problem: str) -> None:
        self._search, self._lines = problem, dict(self._known.get(problem, {}))

    def get(self, key: Key) -> Part | None:
        if str(key) not in self._lines and STOPPED in self._lines:  # the search did not get to it
            return decode(self._lines[STOPPED])
        return super().get(key)

    def put(self, key: Key, part: Part) -> None:
        self._tell(str(key), part)

    def put_stopped(self, key: Key, part: Part) -> None:
        if self._whole:
            self._tell(str(key), part)

    def close(self, stopped: str) -> None:
        if self._whole and stopped and STOPPED not in self._lines:
            self._tell(STOPPED, Part(stopped=stopped))

    def _tell(self, name: str, part: Part) -> None:
        line = self._lines[name] = encode(part)
        self._emit({"part": {"search": self._search, "name": name, "line": line}})


def warm_tools(compiles: bool) -> Tools:
    """Tools whose worker that traces has imported what takes long, and nothing else; the one that compiles, if it is wanted, begins with
    it."""
    tools = Tools()
    try:
        modules = {"modules": [*TRACING, *RUNNING], "calls": [REHEARSAL]}
        tools.runner.call("warm", modules, timeout_s=WARM_S)
        if compiles:
            tools.compiler.warm(*IMPORTS)
    except MirageError as e:  # the job that uses it meets it too, and says so to its user
        log.info("no worker is ready for the next job: %s", e)
    return tools


def make_spare(compiles: bool) -> None:
    """Begins with the tools of the next job, where none are there."""
    if not _spare:
        _spare.append(_beside.submit(warm_tools, compiles))


def _begun(compiles: bool) -> Tools:
    """Tools that nobody made ahead. Whoever compiles lets both workers begin by itself (`Tools.begin`)."""
    tools = Tools()
    if not compiles:
        tools.runner.warm(*TRACING, calls=[REHEARSAL])
    return tools


@contextmanager
def tools_of_a_job(then_warm: bool, compiles: bool = True) -> Iterator[Tools]:
    """Fresh tools for one job: those that were made ahead, where there are some. `then_warm`: the next job's are made afterwards, while
    nothing waits for them."""
    tools = _spare.pop().result() if _spare else _begun(compiles)
    try:
        with tools:
            yield tools
    finally:
        empty_shared()
        if then_warm:
            make_spare(compiles)


def optimize_task(payload: Value, emit: Emit) -> Value:
    """The request's fields -> {"result": Result as a dict}; progress and finished parts go out as events.

    {"checkpoint": search -> name -> line} takes up what an earlier run finished; {"warm": True} makes the next job's workers."""
    request = from_payload(payload, checkpoint=Sent(payload.get("checkpoint") or {}, emit))
    with tools_of_a_job(bool(payload.get("warm"))) as tools:
        return {"result": unstructure(optimize(request, lambda p: emit(unstructure(p)), CancelToken(), tools))}
