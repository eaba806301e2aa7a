"""From a decorated function to a result: read, trace, search, plan, emit, verify, profile."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace

from mirage.codegen.writing_module import with_writes
from mirage.devices.table import device
from mirage.errors import (
    Cancelled,
    MirageError,
    UnknownOperator,
    UnsupportedOperands,
    UnsupportedReshape,
    UntrustedWorkspace,
)
from mirage.ir.program import Program
from mirage.mugraph import json_form
from mirage.pipeline import by_size
from mirage.pipeline.attempt import Attempt
from mirage.pipeline.candidate_timing import Report
from mirage.pipeline.phase_clock import PhaseClock
from mirage.pipeline.processes import Tools
from mirage.pipeline.request import MAY_WRITE, Function, Request, read, runnable, trace, without_writes
from mirage.pipeline.search_problems import problems, which
from mirage.pipeline.size_range import at_size
from mirage.results.progress import CancelToken, Progress, ProgressCounts
from mirage.results.result import Result

REFUSED = (
    UnknownOperator,
    UnsupportedOperands,
    UnsupportedReshape,
)  # PyTorch runs what the operator table does not cover


def optimize(request: Request, progress: Report, cancel: CancelToken, tools: Tools | None = None) -> Result:
    """The best verified kernel for a function, or "keep" with the reason; where several sizes are asked for, that of each
    in one module. Raises MirageError for the user's mistakes.

    `tools` serve several runs one after the other; without them a run has its own."""
    if not request.trusted:
        raise UntrustedWorkspace("nothing of this workspace may run", path=request.path)
    clock = PhaseClock()
    function = read(request)
    dev = device(request.target)
    with nullcontext(tools) if tools is not None else Tools() as own:
        own.begin()
        if request.measure:
            own.warm(dev.target)

        def attempt(program: Program) -> Attempt:
            return Attempt(request, function, program, dev, progress, cancel, own, clock)

        def traced(i: int) -> Program:
            nonlocal function
            progress(Progress("tracing"))
            with clock.phase("trace"):
                row = replace(function, inputs=function.rows[i])
                try:
                    program = trace(row, request.path, own.runner, cancel)
                except MAY_WRITE as refused:
                    function = without_writes(row, own.runner, cancel, refused)
                    program = trace(function, request.path, own.runner, cancel)
            runnable(program, dev, request.path)
            return program

        def searched(i: int) -> by_size.SizedResult:
            try:
                program = traced(i)
            except REFUSED as refused:
                return _by_pytorch(replace(function, inputs=function.rows[i]), refused, attempt)
            result, posed = attempt(program).run(), problems(program)
            problem = posed[which(posed, json_form.from_json(result.mugraphs[0])) if result.mugraphs else 0]
            return by_size.SizedResult(program, problem, result)

        models = {i: searched(i) for i in dict.fromkeys(function.models)}
        rows = []
        for i, model in enumerate(function.models):
            found = models[i] if i == model else at_size(traced(i), models[model], dev)
            rows.append(searched(i) if found is None else found)
        if len(rows) == 1:
            return replace(as_written(function, rows[0].result), seconds=clock.seconds())
        progress(Progress("verifying", ProgressCounts(sizes=len(rows))))
        task = attempt(rows[0].program).task
        with clock.phase("verdict"):
            book = by_size.SharedByRows(
                function.decorated, function.slice, request.rules, task, written=function.written
            )
            whole = by_size.together(rows, book, searched)
        return replace(as_written(function, whole), seconds=clock.seconds())


def as_written(function: Function, result: Result) -> Result:
    """The result for the function as the user wrote it: where that writes to its inputs, the module writes them too."""
    if function.writes is None:
        return result
    own, names = function.users.decorated, [i.name for i in function.inputs]
    source, writes = result.source, function.writes
    if result.answer == "kernel":
        source = with_writes(source, own.name, own.docstring, names, writes)
    said = f"`{own.name}` {writes.words(names)}: the new values are computed, then copied to where they belong"
    return replace(result, function=own.name, source=source, notes=(*result.notes, said))


def _by_pytorch(row: Function, refused: MirageError, attempt: Callable[[Program], Attempt]) -> by_size.SizedResult:
    """The answer for a function that has no meaning here: one of PyTorch's own ways to run it, where it was measured to be faster
    than the function as written. Raises what was `refused` where there is none."""
    asked = attempt(Program(row.decorated.name, row.inputs, (), ()))
    if asked.timing is None:
        raise refused
    try:
        with asked.clock.phase("trace"):
            program = trace(row, asked.request.path, asked.tools.runner, asked.cancel, task="whole_function")
    except Cancelled:
        raise
    except MirageError as error:  # it is no function of its tensors either
        raise refused from error
    return by_size.SizedResult(program, None, attempt(program).without_search(refused))
