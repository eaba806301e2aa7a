"""From a decorated function to a result: read, trace, search, plan, emit, verify, profile."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

from mirage.devices.table import device
from mirage.errors import UntrustedWorkspace
from mirage.mugraph import json_form
from mirage.pipeline import by_size
from mirage.pipeline.attempt import Attempt
from mirage.pipeline.candidate_timing import Report
from mirage.pipeline.processes import Tools
from mirage.pipeline.request import Request, read, runnable, trace
from mirage.pipeline.search_problems import problems, which
from mirage.results.progress import CancelToken, Progress, ProgressCounts
from mirage.results.result import Result


def optimize(request: Request, progress: Report, cancel: CancelToken, tools: Tools | None = None) -> Result:
    """The best verified kernel for a function, or "keep" with the reason; where several sizes are asked for, that of each
    in one module. Raises MirageError for the user's mistakes.

    `tools` serve several runs one after the other; without them a run has its own."""
    if not request.trusted:
        raise UntrustedWorkspace("nothing of this workspace may run", path=request.path)
    function = read(request)
    dev = device(request.target)
    rows = []
    with nullcontext(tools) if tools is not None else Tools() as own:
        if request.measure:
            own.warm(dev.target)
        for inputs in function.rows:
            progress(Progress("tracing"))
            program = trace(replace(function, inputs=inputs), request.path, own.runner, cancel)
            runnable(program, dev, request.path)
            attempt = Attempt(request, function, program, dev, progress, cancel, own)
            result, posed = attempt.run(), problems(program)
            found = posed[which(posed, json_form.from_json(result.mugraphs[0])) if result.mugraphs else 0]
            rows.append(by_size.SizedResult(program, found, result))
        if len(rows) == 1:
            return rows[0].result
        progress(Progress("verifying", ProgressCounts(sizes=len(rows))))
        return by_size.together(
            rows, by_size.SharedByRows(function.decorated, function.slice, request.rules, attempt.task)
        )
