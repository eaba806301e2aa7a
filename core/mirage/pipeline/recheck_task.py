"""The task `recheck`: a µGraph from another machine is judged again here, before the cache takes it.

Nothing but the µGraph is taken over. It is planned, emitted, verified, compiled and timed as if the search of this
machine had found it, so that no text, verdict or figure of a stranger reaches a user.
"""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import replace

from mirage.devices.table import device
from mirage.errors import MirageError, MugraphSyntax, NotVerified, UntrustedWorkspace
from mirage.isolate.task_table import Emit, Value
from mirage.mugraph import json_form
from mirage.mugraph.without_calls import other_calls
from mirage.pipeline.attempt import Attempt
from mirage.pipeline.candidate_timing import Report
from mirage.pipeline.job_task import tools_of_a_job
from mirage.pipeline.optimize import as_written
from mirage.pipeline.processes import Tools
from mirage.pipeline.request import Request, read, traced
from mirage.pipeline.request_payload import from_payload
from mirage.pipeline.search_problems import problems, which
from mirage.profile.roofline import baseline, estimate
from mirage.results.codec import unstructure
from mirage.results.progress import CancelToken, Progress
from mirage.results.result import Result
from mirage.search.engine import Candidate

LABEL = "given"  # a candidate's label: nobody here searched for it


def recheck(
    request: Request, mugraph: object, progress: Report, cancel: CancelToken, tools: Tools | None = None
) -> Result:
    """The result of `request` with that µGraph (its JSON form): "kernel", or "keep" where it is right but not faster.

    Raises NotVerified where it is not shown to compute the function, MugraphSyntax and InvalidMugraph where it is
    none, and what `pipeline.optimize` raises for the user's mistakes.
    """
    if not request.trusted:
        raise UntrustedWorkspace("nothing of this workspace may run", path=request.path)
    function, dev, graph = read(request), device(request.target), json_form.from_json(mugraph)
    progress(Progress("tracing"))
    with nullcontext(tools) if tools is not None else Tools() as own:
        own.begin()
        function, program = traced(function, request.path, own.runner, cancel)
        attempt = Attempt(request, function, program, dev, progress, cancel, own)
        posed, base = problems(program), baseline(program, dev)
        found = posed[which(posed, graph)]
        candidate = Candidate(graph, estimate(graph, dev) + attempt.copies, LABEL, LABEL)
        rejected: list[str] = []
        if wrong := other_calls(found.calls, graph):
            raise NotVerified(f"the µGraph has {wrong}")
        try:
            measured = attempt.tune([candidate], as_they_are=True)
            if measured is not None:
                attempt.measured, candidate, base = measured, measured.candidates[0], measured.baseline(base)
            chosen = attempt.verify(candidate, found, base, rejected)
        except MirageError:
            raise
        except (ArithmeticError, LookupError, TypeError, ValueError, AssertionError) as e:
            # well formed, but not of this program: a part of the path met what no search gives it
            raise NotVerified(f"the µGraph does not fit the function ({type(e).__name__}: {e})") from e
        if chosen is None:
            raise NotVerified("; ".join(rejected) or "the µGraph was not verified")
        result = attempt.explained(attempt.result(base, chosen, rejected, 0.0), found, chosen.mugraph, ())
        return as_written(function, result)


def recheck_task(payload: Value, emit: Emit) -> Value:
    """For the isolated worker: the request's fields and "mugraph" (a text) -> {"result": Result as a dict}. {"warm": True} as for
    the task `optimize`."""
    try:
        mugraph = json.loads(payload["mugraph"])
    except (ValueError, RecursionError) as e:
        raise MugraphSyntax(f"it is not JSON: {e}") from None
    with tools_of_a_job(bool(payload.get("warm"))) as tools:
        result = recheck(from_payload(payload), mugraph, lambda p: emit(unstructure(p)), CancelToken(), tools)
    notes = (*result.notes, "verified again here; the µGraph was imported")
    return {"result": unstructure(replace(result, notes=notes))}
