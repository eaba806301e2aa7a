"""`superoptimize` with the original's parameters: a list of distinct µGraphs, each verified, best first.

Those that narrow the search narrow ours (griddims, blockdims, imaps, omaps, fmaps, franges). One that is left out has the
default that the original documents, which is for attention; None leaves it free. Those that steered the original's compiler,
profiler or caches mean nothing here, and say so once.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mirage.devices.table import Device, device
from mirage.errors import MirageError, SavedFileUnreadable
from mirage.ir.narrowing import Narrowing
from mirage.ir.program import Program
from mirage.mugraph.check import broken_rule
from mirage.mugraph.grammar import CustomKernel, MuGraph
from mirage.mugraph.structure import canonical, structure_key
from mirage.pipeline.processes import Tools
from mirage.pipeline.request import Function, Request, read, trace
from mirage.pipeline.search_problems import problem
from mirage.plan import plan
from mirage.profile.roofline import estimate
from mirage.program.lower import lower
from mirage.results.progress import CancelToken
from mirage.search.engine import Bounds, Candidate, Problem, Search
from mirage.verify.field.schedule_opinion import schedule_opinion
from mirage.verify.judge import Case, algebra, judge
from mirage.verify.memory.mugraph_opinion import memory_opinion
from mirage.verify.proof.opinion import proof_opinion
from mirage.verify.ranges.opinion import range_opinion
from mirage_original.arguments import finite, path_of, shown
from mirage_original.found_mugraph import Found
from mirage_original.graph_builder import KNGraph
from mirage_original.mistakes import mistake

if TYPE_CHECKING:
    from mirage_original.previous_checkpoint import Previous

TARGET = "sm_90"
MOST, SECONDS = 1024, 300.0
# What the original's first version documents for a parameter that is left out: lists for attention with 16 heads.
GRIDDIMS = ((16, 1, 1), (16, 2, 1), (16, 4, 1))
BLOCKDIMS = ((128, 1, 1),)
IMAPS = ((0, -1, -1), (0, 1, -1), (0, 2, -1), (0, -1, 1))
OMAPS = ((0, -1, -1), (0, 1, -1), (0, 2, -1), (0, 2, 1))
FMAPS, FRANGES = (-1, 1, 2), (1, 4, 8, 16)
DEFAULTS: dict[str, Any] = {
    "griddims": GRIDDIMS, "blockdims": BLOCKDIMS, "imaps": IMAPS, "omaps": OMAPS, "fmaps": FMAPS, "franges": FRANGES,
}  # fmt: skip
NAME = "program"
WITHOUT_MEANING = {
    "config": "there are no modes: attention, low-rank adapters and the rest go through one search",
    "backend": "kernels are Triton",
    "warmup_iters": "without a GPU nothing is timed, with one `mirage optimize` decides how often",
    "profile_iters": "without a GPU nothing is timed, with one `mirage optimize` decides how often",
    "use_graph_dataset": "the daemon's cache is used by `mirage optimize`",
    "use_cached_graphs": "the daemon's cache is used by `mirage optimize`",
    "save_codes": "generate_triton_program writes a graph's code",
    "is_formal_verified": "every graph is verified",
    "default_config": "there are no modes",
    "max_num_threadblock_graph_op": "the search is bounded by time",
    "max_num_kernel_graph_op": "the search is bounded by time",
    "num_search_thread": "one process is enough",
    "use_symbolic_search": "sizes are symbolic always",
    "symbolic_checkpoint": "sizes are symbolic always",
}
_said: set[str] = set()


def superoptimize(
    graph: KNGraph,
    *,
    imaps: Any = IMAPS,
    omaps: Any = OMAPS,
    griddims: Any = GRIDDIMS,
    blockdims: Any = BLOCKDIMS,
    fmaps: Any = FMAPS,
    franges: Any = FRANGES,
    verbose: bool = False,
    max_num_new_graphs: int = MOST,
    search_time_limit_sec: float = -1.0,
    previous_checkpoint: str | None = None,
    **others: Any,
) -> list[KNGraph]:
    """Distinct µGraphs that compute what `graph` does, best first by the estimate: each valid, its algebra proved or tested,
    its schedule tested in the field, its memory accesses checked. Prints how many there are.

    Each of the six lists narrows every kernel, and None leaves it free. Where nothing is within the defaults of those that are
    left out, the search is done again without the one for griddims, which depends on the sizes, and then without any, and says so.

    `search_time_limit_sec` bounds search and verification (negative: 300 s). `previous_checkpoint`: a file of graphs that the
    original saved, which are verified and join what is found, or a checkpoint of this project's search, which is begun where
    there is no file. Raises TypeError for a parameter that no version has, BadSearchParameter, GraphMistake,
    SavedFileUnreadable."""
    for name, value in others.items():
        if name not in WITHOUT_MEANING:
            raise TypeError(f"superoptimize() got an unexpected keyword argument {name!r}")
        if value not in (None, False, -1) and name not in _said:
            _said.add(name)
            print(f"mirage: {name}= has no meaning here: {WITHOUT_MEANING[name]}", file=sys.stderr)
    if not isinstance(graph, KNGraph):
        raise mistake(f"superoptimize of {shown(graph)}", "give a kernel graph: mirage.new_kernel_graph()")
    if graph.found is not None:
        raise mistake("this graph was found by a search", "superoptimize the graph that it was found for")
    from mirage_original.previous_checkpoint import opened

    lists = {
        "imaps": imaps, "omaps": omaps, "griddims": griddims, "blockdims": blockdims, "fmaps": fmaps, "franges": franges
    }  # fmt: skip
    ways = [Narrowing.of(**way) for way in within(lists)]
    most = MOST if max_num_new_graphs is None else max_num_new_graphs
    if not isinstance(most, int) or most < 1:
        raise mistake(f"max_num_new_graphs={shown(most)}", "give a number from 1")
    limit = -1.0 if search_time_limit_sec is None else finite("search_time_limit_sec", search_time_limit_sec)
    previous = opened(path_of(previous_checkpoint)) if previous_checkpoint not in (None, "") else None
    with Tools() as tools:
        new = _searched(graph, ways, most, limit if limit > 0 else SECONDS, previous, tools)
    structures = len({g.found.structure for g in new if g.found is not None})
    print(f"mirage: {len(new)} µGraphs found and verified, {structures} structures with sizes erased")
    if verbose:
        for g in new:
            if g.found is not None:
                print(f"mirage: {g.found.us:.1f} µs estimated: {g.found.label}")
    for g in new:
        g.nodes, g.tensors, g.marked, g.layouts = graph.nodes, graph.tensors, graph.marked, graph.layouts
    return new


def within(lists: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The lists as given; then, as long as some are defaults, with that of griddims free, and with all of them free."""
    left_out = {name for name, value in lists.items() if value is DEFAULTS[name]}
    yield lists
    if "griddims" in left_out and len(left_out) > 1:
        yield {**lists, "griddims": None}
    if left_out:
        yield {name: None if name in left_out else value for name, value in lists.items()}


def _searched(
    graph: KNGraph, ways: list[Narrowing], most: int, seconds: float, previous: Previous | None, tools: Tools
) -> list[KNGraph]:
    """What the first way gives by which anything is found. A checkpoint of this project's search is that of one of them."""
    from mirage_original import previous_checkpoint

    given: list[Found] = []
    first = Searched.of(graph, ways[0], tools)
    for i, way in enumerate(ways):
        searched, last = replace(first, given=way), way is ways[-1]
        if i:
            free = ", ".join(n for n in ways[0].names if n not in way.names)
            print(f"mirage: nothing is within the defaults: searched with {free} free", file=sys.stderr)
        elif previous is not None and previous.entries is not None:
            given = previous_checkpoint.found_in(previous, searched)
        try:
            found = list(searched.verified(most, seconds, given, previous))
        except SavedFileUnreadable:
            if last:
                raise
            continue
        if last or any(all(f is not g for g in given) for f in found):
            return [KNGraph(f) for f in found]
        if previous is not None and previous.begun:
            Path(previous.path).unlink(missing_ok=True)  # it is of a search that found nothing
    return []


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

    def verified(
        self, most: int, seconds: float, given: list[Found], previous: Previous | None = None
    ) -> Iterator[Found]:
        """The distinct µGraphs (warps and stages left out) that are accepted, best first, until the time is over. `given` join
        what is found; `previous`: a checkpoint that the search goes on from."""
        from mirage_original import previous_checkpoint

        end = time.monotonic() + seconds
        wide: dict[str, Any] = {"per_kernel": 200, "structures": 64, "tilings": 64} if self.given else {}
        bounds = Bounds(keep=max(2 * most, 8) if most < 128 else 256, given=self.given, seconds=seconds / 2, **wide)
        search = Search(self.problem, lambda g: estimate(g, self.device), bounds=bounds)
        if previous is not None and previous.entries is None:
            search.checkpoint = previous_checkpoint.checkpoint(previous.path, search)
        for _ in search.run():
            pass
        seen: set[MuGraph] = set()
        both: list[Candidate | Found] = [*given, *search.best]  # of equal estimates the given ones first
        for c in sorted(both, key=lambda c: c.us):
            form = without_launch(c.mugraph)
            if form in seen:
                continue
            if len(seen) >= most or time.monotonic() > end:
                return
            if isinstance(c, Found) or self.sound(c.mugraph):
                seen.add(form)
                yield (
                    c if isinstance(c, Found) else Found(plan(c.mugraph), c.us, c.label, structure_key(c.mugraph), self)
                )

    def sound(self, mugraph: MuGraph) -> bool:
        """Valid, its algebra proved or accepted in the field, its schedule accepted in the field, its memory accesses right.
        A proof spares the algebra's field, which the schedule's run contains."""
        p = self.problem
        if broken_rule(mugraph) is not None:
            return False
        proof = proof_opinion(p.t, {o.tensor: (o.term, o.dims) for o in p.outputs}, mugraph)
        if proof is None and any(e.word == "REJECTED" for e in algebra(self.case(mugraph, ""))):
            return False
        graph = plan(mugraph)
        if schedule_opinion(p.t, p.outputs, graph).word != "TESTED":
            return False
        return memory_opinion(graph).word != "REJECTED"

    def case(self, graph: MuGraph, text: str) -> Case:
        return Case(self.problem.t, self.problem.outputs, graph, text, self.program, self.function.slice.text, NAME)

    def emit(self, found: Found) -> str:
        from mirage.codegen.emit import emit_module

        header = {
            "made by": "mirage",
            "program": self.program.key[:16],
            "verdict": "algebra and schedule accepted; this text was not judged (`verify()` does)",
            "time": f"{found.us:.1f} us estimated for {self.device.name}",
        }
        return emit_module(self.program, found.mugraph, self.function.slice.readable, function=NAME, header=header)

    def in_range(self, found: Found) -> str:
        return range_opinion(self.problem.t, self.problem.outputs, found.mugraph).summary

    def judge(self, found: Found, *, text: bool = True) -> dict[str, Any]:
        """The verdict; without `text`, of the µGraph alone, nothing runs in a worker."""
        case = self.case(found.mugraph, found.text if text else "")
        with Tools() if text else nullcontext() as tools:

            def task(name: str, payload: dict[str, Any]) -> dict[str, Any]:
                assert tools is not None
                return tools.runner.call(name, payload, timeout_s=120.0)

            try:
                return judge(case, task).to_dict()
            except MirageError as e:
                e.path = e.path or "<kernel graph>"
                raise


def without_launch(m: MuGraph) -> MuGraph:
    """The canonical form with warps and stages left out."""
    kernels = tuple(replace(k, warps=4, stages=3) if isinstance(k, CustomKernel) else k for k in m.kernels)
    return canonical(replace(m, kernels=kernels))
