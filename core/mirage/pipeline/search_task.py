"""The task `search`: the searches of a request and nothing else, for a machine that lends its processors to a daemon.

What it finds goes out as finished parts (`pipeline.job_task.Sent`), which are candidates and no answer: whoever asked takes them
up in the task `optimize`, where they are emitted, verified and timed.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from mirage.devices.table import Device, device
from mirage.errors import UntrustedWorkspace
from mirage.ir.program import Program
from mirage.isolate.forked_task import InChildren
from mirage.isolate.runner import Worker
from mirage.isolate.task_table import Emit, Value
from mirage.pipeline.job_task import Sent
from mirage.pipeline.processes import IMPORTS
from mirage.pipeline.request import Request, read, runnable, traced
from mirage.pipeline.request_payload import from_payload
from mirage.pipeline.searches import asked_bounds, search_all, search_for
from mirage.results.codec import unstructure
from mirage.results.progress import CancelToken, Progress
from mirage.search.engine import Bounds, Problem, Search, SearchCounts, reported


@lru_cache(maxsize=1)
def _tracer() -> InChildren:
    """Traces each function in a child of one worker, which imports PyTorch once. No evidence is given here, so that nothing of
    one function could falsify the verdict on another one."""
    worker = Worker(env={"TRITON_INTERPRET": "1"})
    worker.warm(*IMPORTS)
    return InChildren(worker)


def search_task(payload: Value, emit: Emit) -> Value:
    """The request's fields -> {"parts"}, how many were searched; finished parts and progress go out as events. "checkpoint" as for
    the task `optimize`; "timed": whether a GPU will choose among the candidates."""
    request = from_payload(payload, checkpoint=Sent(payload.get("checkpoint") or {}, emit, whole=True))
    if not request.trusted:
        raise UntrustedWorkspace("nothing of this workspace may run", path=request.path)
    tracer = _tracer()
    function, dev, cancel = read(request), device(request.target), CancelToken()
    bounds = asked_bounds(request, function, timed=bool(payload.get("timed")))
    counts = SearchCounts()
    for i in dict.fromkeys(function.models):
        emit(unstructure(Progress("tracing")))
        row = replace(function, inputs=function.rows[i])
        function, program = traced(row, request.path, tracer, cancel)
        runnable(program, dev, request.path)
        counts = _search(program, bounds, request, dev, counts, emit)
    return {"parts": counts.parts}


def _search(
    program: Program, bounds: Bounds, request: Request, dev: Device, counts: SearchCounts, emit: Emit
) -> SearchCounts:
    """All searches of a program; the counts of those before and of these."""

    def told(p: Progress) -> None:
        emit(unstructure(replace(p, counts=p.counts + reported(counts))))

    def searched(found: Problem, bounds: Bounds) -> Search:
        nonlocal counts
        search = search_for(found, bounds, request, dev, CancelToken(), told)
        for _ in search.run():
            pass  # the parts went out when they were finished
        counts += search.counts
        return search

    search_all(program, bounds, searched)
    return counts
