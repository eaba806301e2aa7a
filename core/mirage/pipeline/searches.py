"""The searches that one traced program needs: their problems, their bounds and their order.

They are the same on every machine, so that one takes up the parts that another one finished.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mirage.devices.table import Device
from mirage.ir.program import Program
from mirage.mugraph.capacity import Limits
from mirage.pipeline.request import Function, Request
from mirage.pipeline.search_problems import problems
from mirage.profile.candidate_choice import KEPT
from mirage.profile.roofline import estimate
from mirage.results.progress import CancelToken, Progress
from mirage.search.engine import Bounds, Candidate, Problem, Search
from mirage.search.one_row import bounds_for


def asked_bounds(request: Request, function: Function, *, timed: bool) -> Bounds:
    """What the request says, else the decorator. `timed`: a GPU chooses among the candidates, and has more of them to choose from."""
    bounds = request.bounds
    if not bounds.given:
        bounds = replace(bounds, given=function.decorated.options.given)
    return replace(bounds, keep=max(bounds.keep, KEPT)) if timed else bounds


def search_all(
    program: Program, bounds: Bounds, searched: Callable[[Problem, Bounds], Search]
) -> tuple[list[Search], list[Candidate]]:
    """The searches for a program, each done by `searched`, and the candidates of all of them, best first."""
    searches: list[Search] = []
    best: list[Candidate] = []
    for found in problems(program)[: 1 if bounds.given else None]:  # narrowed: no calls
        searches.append(searched(found, bounds_for(found, bounds, best)))
        best = sorted([*best, *searches[-1].best], key=lambda c: c.us)
    return searches, best


def search_for(
    found: Problem, bounds: Bounds, request: Request, dev: Device, cancel: CancelToken, progress: Callable[[Progress], None]
) -> Search:  # fmt: skip
    """The search for one problem, not yet begun."""
    return Search(
        found, lambda g: estimate(g, dev), bounds=bounds, cancel=cancel, progress=progress, checkpoint=request.checkpoint,
        limits=Limits.of(dev),
    )  # fmt: skip
