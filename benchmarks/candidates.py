"""A point of the GPU benchmark made ready: its function traced and searched."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from points import WORKLOADS

from mirage.codegen.emit import emit_module
from mirage.devices.table import device
from mirage.ir.program import Program
from mirage.mugraph.grammar import MuGraph
from mirage.pipeline.answer import floor
from mirage.pipeline.request import Request, read
from mirage.pipeline.search_problems import problems
from mirage.profile.candidate_choice import KEPT
from mirage.profile.roofline import estimate
from mirage.search.engine import Bounds, Candidate, Search
from mirage.search.one_row import bounds_for

TARGET = "sm_90"


@dataclass(frozen=True)
class Found:
    """A point: the function as read, its program, the search's answers, the µs of its bytes alone, and what the search took."""

    name: str
    batch: int
    dtype: str
    function: Any
    program: Program
    best: list[Candidate]
    floor: float
    seconds: float

    @property
    def point(self) -> str:
        return f"{self.name}/bs{self.batch}" + ("" if self.dtype == "fp16" else f"/{self.dtype}")

    def emit(self, graph: MuGraph) -> str:
        return emit_module(self.program, graph, self.function.slice.text, function=self.name, header={})


def traced(name: str, batch: int, dtype: str) -> tuple[Any, Program]:
    """A point's decorated function as it was read, and its tensor program."""
    from mirage.program.trace_task import trace_task as trace

    function = read(Request(WORKLOADS[name].text(name, (batch,), dtype), f"{name}.py", name))
    inputs = [
        {"name": i.name, "shape": list(i.shape), "dtype": i.dtype, "names": list(i.names)} for i in function.inputs
    ]
    payload = {"text": function.slice.text, "function": name, "inputs": inputs}
    return function, Program.from_dict(cast("dict[str, object]", trace(payload)["program"]))


def searched(name: str, batch: int, dtype: str = "fp16", ahead: Callable[[Found], None] = lambda _: None) -> Found:
    """Traces and searches. Raises MirageError where the function cannot be read or traced. `ahead` gets, once, what the search
    has while it goes on."""
    start = time.monotonic()
    function, program = traced(name, batch, dtype)
    dev = device(TARGET)

    def found(best: list[Candidate]) -> Found:
        light = floor(program, min((c.us for c in best), default=math.inf), dev)
        return Found(name, batch, dtype, function, program, best, light, time.monotonic() - start)

    best: list[Candidate] = []
    told = False
    for posed in problems(program):
        search = Search(posed, lambda g: estimate(g, dev), bounds=bounds_for(posed, Bounds(keep=KEPT), best))
        for candidate in search.run():
            if search.best and not told:  # what comes before has no rank yet
                told = True
                ahead(found([candidate]))
        best += search.best
    return found(sorted(best, key=lambda c: c.us))
