"""Searches of workloads that ran to their end, once for all tests: of what stops, resumes or spreads one, and must end the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from mirage.devices.table import DEVICES
from mirage.mugraph.grammar import MuGraph
from mirage.profile.roofline import estimate
from mirage.search.engine import Bounds, Candidate, Search
from workloads.terms import problem

FEW = Bounds(keep=12, tilings=3, structures=3, seconds=600.0)
COST: Callable[[MuGraph], float] = partial(estimate, device=DEVICES["sm_90"])


def search(name: str, bounds: Bounds = FEW, **more: Any) -> Search:
    """A search of the workload that has not begun."""
    return Search(problem(name), COST, bounds=bounds, **more)


@dataclass(frozen=True)
class Whole:
    """A search at its end, and what it gave on the way. It is for reading alone."""

    search: Search
    found: list[Candidate]


@cache
def whole(name: str) -> Whole:
    run = search(name)
    return Whole(run, list(run.run()))
