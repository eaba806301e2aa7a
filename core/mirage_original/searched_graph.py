"""A kernel graph as a function that was read and traced: its search problem, and how a µGraph that is found for it is judged."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mirage.codegen.emit import emit_module
from mirage.devices.table import Device, device
from mirage.errors import MirageError
from mirage.ir.narrowing import Narrowing
from mirage.ir.program import Program
from mirage.isolate.task_table import Payload, Value
from mirage.mugraph.check import Limits, broken_rule
from mirage.mugraph.grammar import CustomKernel, MuGraph
from mirage.mugraph.structure import canonical
from mirage.pipeline.processes import Tools
from mirage.pipeline.request import Function, Request, read, trace
from mirage.pipeline.search_problems import problem
from mirage.plan import plan
from mirage.program.lower import lower
from mirage.results.codec import unstructure
from mirage.results.progress import CancelToken
from mirage.search.engine import Problem
from mirage.verify.field.schedule_opinion import schedule_opinion
from mirage.verify.judge import Case, algebra, judge
from mirage.verify.memory.mugraph_opinion import memory_opinion
from mirage.verify.proof.opinion import proof_opinion
from mirage.verify.ranges.opinion import range_opinion

if TYPE_CHECKING:
    from mirage_original.found_mugraph import FoundMugraph
    from mirage_original.graph_builder import KNGraph

TARGET = "sm_90"
NAME = "program"


@dataclass(frozen=True)
class Searched:
    """A kernel graph as a function that was read and traced, and its search's problem."""

    function: Function
    program: Program
    problem: Problem
    given: Narrowing
    device: Device

    @staticmethod
    def of(graph: KNGraph, given: Narrowing, tools: Tools) -> Searched:
        function = read(Request(graph.source(NAME), "<kernel graph>", NAME))
        program = trace(function, "<kernel graph>", tools.runner, CancelToken())
        return Searched(function, program, problem(program, lower(program)), given, device(TARGET))

    def sound(self, mugraph: MuGraph) -> bool:
        """Valid, its algebra proved or accepted in the field, its schedule accepted in the field, its memory accesses right.
        A proof spares the algebra's field, which the schedule's run contains."""
        p = self.problem
        if broken_rule(mugraph, Limits.of(self.device)) is not None:
            return False
        proof = proof_opinion(p.t, {o.tensor: (o.term, o.dims) for o in p.outputs}, mugraph)
        if proof is None and any(e.word == "REJECTED" for e in algebra(self.case(mugraph, ""))):
            return False
        graph = plan(mugraph, self.device)
        if schedule_opinion(p.t, p.outputs, graph).word != "TESTED":
            return False
        return memory_opinion(graph).word != "REJECTED"

    def case(self, graph: MuGraph, text: str) -> Case:
        return Case(self.problem.t, self.problem.outputs, graph, text, self.program, self.function.slice.text, NAME)

    def emit(self, found: FoundMugraph) -> str:
        header = {
            "made by": "mirage",
            "program": self.program.key[:16],
            "verdict": "algebra and schedule accepted; this text was not judged (`verify()` does)",
            "time": f"{found.us:.1f} us estimated for {self.device.name}",
        }
        return emit_module(self.program, found.mugraph, self.function.slice.readable, function=NAME, header=header)

    def in_range(self, found: FoundMugraph) -> str:
        return range_opinion(self.problem.t, self.problem.outputs, found.mugraph).summary

    def judge(self, found: FoundMugraph, *, text: bool = True) -> Value:
        """The verdict; without `text`, of the µGraph alone, nothing runs in a worker."""
        case = self.case(found.mugraph, found.text if text else "")
        with Tools() if text else nullcontext() as tools:

            def task(name: str, payload: Payload) -> Value:
                assert tools is not None
                return tools.runner.call(name, payload, timeout_s=120.0)

            try:
                return unstructure(judge(case, task))
            except MirageError as e:
                e.path = e.path or "<kernel graph>"
                raise


def without_launch(m: MuGraph) -> MuGraph:
    """The canonical form with warps and stages left out."""
    kernels = tuple(replace(k, warps=4, stages=3) if isinstance(k, CustomKernel) else k for k in m.kernels)
    return canonical(replace(m, kernels=kernels))
