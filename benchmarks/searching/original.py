"""The original's grouped-query attention, and merged contractions: µGraphs that are found within what is asked, judged and run.

`Q (2, 256, 64) x K (2, 64, 4096) x V (2, 4096, 64)`, exp, sum, division without a shift, griddims (2, 16, 1) and (2, 16, 4). A
µGraph counts if it is valid, its algebra is proved (or accepted in the field), its schedule is accepted in the field (tiny
sizes with a tail everywhere) and by the memory opinion, and its canonical form, with warps and stages left out, is met for
the first time. Samples are emitted and judged as a user's kernel is, by every opinion on every link: the text too, in the
field, in floats, and its memory.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from mirage.codegen.emit import emit_module
from mirage.devices.table import Device, device
from mirage.ir.program import Program
from mirage.mugraph import maps
from mirage.mugraph.grammar import Accumulate, Compute, CustomKernel, Loop, MuGraph
from mirage.mugraph.structure import structure_key
from mirage.pipeline.processes import Tools
from mirage.pipeline.request import Function, Request, read, trace
from mirage.pipeline.search_problems import problem
from mirage.plan import plan
from mirage.profile.roofline import estimate
from mirage.program.lower import lower
from mirage.results.progress import CancelToken
from mirage.search.engine import Bounds, Candidate, Search
from mirage.verify.judge import Case, judge
from mirage_original.searched_graph import TARGET, Searched, without_launch
from searching.rows import Clock, Row, at_least, at_most, row

WANTED, WITHIN, SAMPLE, KEEP = 69, 60.0, 8, 160  # µGraphs, seconds, emitted ones, answers of the search
GRIDS = {(2, 16), (2, 16, 4)}  # without ones
HEAD = "import mirage\nimport torch\n\n\n"
ATTENTION = (
    HEAD
    + """@mirage.optimize(
    inputs=[((2, 256, 64), "fp16"), ((2, 64, 4096), "fp16"), ((2, 4096, 64), "fp16")],
    griddims=[(2, 16, 1), (2, 16, 4)],
)
def grouped_query_attention(Q, K, V):
    A = torch.matmul(Q, K)
    E = torch.exp(A)
    S = torch.sum(E, -1, keepdim=True)
    D = torch.div(E, S)
    return torch.matmul(D, V)
"""
)
ADAPTER = (
    HEAD
    + """@mirage.optimize(
    inputs=[((16, 4096), "fp16"), ((4096, 4096), "fp16"), ((4096, 16), "fp16"), ((16, 4096), "fp16")],
)
def low_rank_adapter(X, W, A, B):
    return torch.matmul(X, W) + torch.matmul(torch.matmul(X, A), B)
"""
)


@dataclass(frozen=True)
class Bench:
    """A function that was read and traced, and its search."""

    function: Function
    program: Program
    search: Search
    tools: Tools

    def case(self, mugraph: MuGraph, *, emitted: bool) -> Case:
        graph, name, text = plan(mugraph), self.function.decorated.name, ""
        if emitted:
            text = emit_module(self.program, graph, self.function.slice.readable, function=name, header={})
        p = self.search.problem
        return Case(p.t, p.outputs, graph, text, self.program, self.function.slice.text, name)

    def sound(self, mugraph: MuGraph) -> bool:
        """What `mirage.superoptimize` asks of a µGraph before it gives it."""
        p = self.search.problem
        given = self.search.bounds.given
        return Searched(self.function, self.program, p, given, device(TARGET)).sound(mugraph)

    def runs(self, candidates: list[Candidate]) -> int:
        """How many the judge accepts as it does for a user: on all three links, every opinion."""
        good = 0
        for c in candidates:
            verdict = judge(self.case(c.mugraph, emitted=True), self.task)
            if not verdict.accepted:
                why = [e.summary for link in verdict.links for e in link.evidence if e.word == "REJECTED"]
                print(f"{c.label}: {'; '.join(why)}", file=sys.stderr)
            good += verdict.accepted
        return good

    def task(self, name: str, payload: dict[str, Any]) -> dict[str, Any]:
        return self.tools.runner.call(name, payload, timeout_s=120.0)


def prepared(text: str, device: Device, tools: Tools, **bounds: Any) -> Bench:
    name = text.split("def ")[1].split("(")[0]
    function = read(Request(text, f"<{name}>", name))
    program = trace(function, f"<{name}>", tools.runner, CancelToken())
    limits = Bounds(given=function.decorated.options.given, **bounds)
    search = Search(problem(program, lower(program)), lambda g: estimate(g, device), bounds=limits)
    return Bench(function, program, search, tools)


def grids(m: MuGraph) -> set[tuple[int, ...]]:
    return {tuple(n for n in maps.grid(m, k) if n > 1) for k in m.kernels if isinstance(k, CustomKernel)}


def one_of_each(found: list[Candidate], count: int) -> list[Candidate]:
    """`count` candidates of as many structures, spread over the ranks."""
    first: dict[str, Candidate] = {}
    for c in found:
        first.setdefault(structure_key(c.mugraph), c)
    every = list(first.values())
    return every[:: max(1, len(every) // count)][:count]


def attention(device: Device, tools: Tools) -> Iterator[Row]:
    name = "the original's attention"
    bench = prepared(ATTENTION, device, tools, keep=KEEP, per_kernel=200, structures=64, tilings=64)
    clock = Clock()
    list(bench.search.run())
    yield row(f"{name}: search", clock.read()[0], "s")
    verified: dict[MuGraph, Candidate] = {}
    refused, reached = 0, (float("inf"), float("inf"))
    for c in bench.search.best:
        form = without_launch(c.mugraph)
        if form in verified:
            continue
        if clock.read()[0] > WITHIN:
            break
        if not bench.sound(c.mugraph):
            refused += 1
            continue
        verified[form] = c
        if len(verified) == WANTED:
            reached = clock.read()
    yield at_least(f"{name}: distinct verified µGraphs within {WITHIN:g} s", len(verified), "", WANTED)
    yield at_most(f"{name}: {WANTED} of them", reached[0], "s", WITHIN)
    yield row(f"{name}: {WANTED} of them, wall", reached[1], "s")
    yield row(f"{name}: refused by the verifier, and not counted", refused)
    yield row(f"{name}: their structures (sizes erased)", len({structure_key(c.mugraph) for c in verified.values()}))
    others = sum(not grids(c.mugraph) <= GRIDS for c in verified.values())
    yield row(f"{name}: with a grid that was not asked for", others, "", "== 0", others == 0)
    good = bench.runs(one_of_each(list(verified.values()), SAMPLE))
    yield row(f"{name}: of {SAMPLE} structures emitted and run, equal to the program", good, "", f"== {SAMPLE}",
              good == SAMPLE)  # fmt: skip


def merged(along: str) -> Callable[[MuGraph], bool]:
    """One accumulator, and a product over a dim of the size `along` says is an operand of another product."""

    def form(m: MuGraph) -> bool:
        kernel = next(k for k in m.kernels if isinstance(k, CustomKernel))
        body = [s for item in kernel.block.body if isinstance(item, Loop) for s in item.body]
        dots = {s.out: s for s in body if isinstance(s, Compute) and s.op == "dot"}
        first = [dots[a] for d in dots.values() for a in d.args if a in dots]
        looped = any(d.attr("dim") in {x.name for x in kernel.block.dims if x.role == "loop"} for d in first)
        one = sum(isinstance(s, Accumulate) for s in body) == 1
        return one and bool(first) and looped == (along == "loop")

    return form


def adapter(device: Device, tools: Tools) -> Iterator[Row]:
    bench = prepared(ADAPTER, device, tools, cuts=0)
    list(bench.search.run())
    for what, along in (("x W + (x A) B in one accumulator", "loop"), ("x (W + A B)", "rank")):
        found = [c for c in bench.search.best if merged(along)(c.mugraph)]
        yield at_least(f"low-rank adapter: {what}, found", len(found), "", 1)
        good = bench.runs(found[:1])
        yield row(f"low-rank adapter: {what}, emitted and run, equal to the program", good, "", "== 1", good == 1)


def rows(device: Device) -> Iterator[Row]:
    with Tools() as tools:
        yield from adapter(device, tools)
        yield from attention(device, tools)
