"""The programs that are broken on purpose: the six hand-written µGraphs, and what the search answers for the published
workloads. Each with its terms, its µGraph and its emitted module."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from workloads.hand import BUILDERS, small
from workloads.hand_targets import targets
from workloads.terms import WORKLOADS, problem

from mirage.codegen.emit import emit_module
from mirage.ir.program import Program
from mirage.ir.tensor_spec import TensorSpec
from mirage.meaning.terms import Terms
from mirage.mugraph.grammar import CustomKernel, Loop, MuGraph
from mirage.mugraph.resized import Sizes, Tiles, rigid_axes, same_size, shrink, tiny_sizes
from mirage.mugraph.walk import parts
from mirage.plan import plan
from mirage.search.engine import Bounds, Search
from mirage.verify.output_terms import Output

NAMES: tuple[str, ...] = (*(f"hand/{n}" for n in BUILDERS), *(f"search/{n}" for n in WORKLOADS))


@dataclass(frozen=True)
class Base:
    """`targets`: what the outputs mean; `module`: the emitted text; `parameters`: its inputs in order."""

    name: str
    t: Terms
    targets: tuple[Output, ...]
    mugraph: MuGraph
    module: str

    @property
    def launches(self) -> list[tuple[Sizes, Tiles]]:
        """Small launches with a tail for everything, the cheapest first, pairwise different."""
        return _launches(self.mugraph)

    @property
    def parameters(self) -> list[str]:
        return [i.name for i in self.mugraph.inputs]


def tiles_of(g: MuGraph, sizes: Mapping[str, int]) -> int:
    """How many tiles a launch runs through."""
    total = 0
    for p in parts(g):
        n = 1
        for d in p.graph.dims:
            size = 1
            for a in d.axes:
                size *= sizes[a]
            n *= -(-size // d.tile) if d.role in ("grid", "loop") else 1
        total += n
    return total


@lru_cache(maxsize=64)
def _launches(g: MuGraph) -> list[tuple[Sizes, Tiles]]:
    found: list[tuple[int, Sizes, Tiles]] = []
    for seed in range(40):
        sizes, tiles = tiny_sizes(g, seed)
        if all(sizes != s for _, s, _ in found):
            found.append((tiles_of(shrink(g, sizes, tiles), sizes), sizes, tiles))
    return [narrowed(g, s, t) for _, s, t in sorted(found, key=lambda x: x[0])]


def narrowed(g: MuGraph, sizes: Sizes, tiles: Tiles) -> tuple[Sizes, Tiles]:
    """Two tiles (more where sizes would meet), the last one a tail, for each dim that stands for one axis and is not
    split: the interpreter's time is that of its blocks. Sizes stay pairwise different."""
    small = shrink(g, sizes, tiles)
    keep = {a for p in parts(small) for d in p.graph.dims for a in d.axes if len(d.axes) > 1 or d.role == "split"}
    keep |= {a for p in parts(small) for d in p.graph.dims if d.role == "split" for a in p.graph.dim(d.splits).axes}
    keep |= rigid_axes(g) | set(
        same_size(g)[a] for a in sizes if list(same_size(g).values()).count(same_size(g)[a]) > 1
    )
    cut: dict[str, int] = {}
    for p in parts(small):
        for d in p.graph.dims:
            if d.role in ("grid", "loop") and d.tile > 1 and not keep & set(d.axes):
                cut[d.axes[0]] = max(cut.get(d.axes[0], 0), d.tile)
    out = {a: n for a, n in sizes.items() if a not in cut}
    for a, tile in cut.items():
        taken = set(out.values())
        out[a] = next(n for n in itertools.count(tile + 1) if (n % tile or tile == 1) and n not in taken)
    return {a: out[a] for a in sizes}, tiles


def statements(g: MuGraph) -> float:
    """A cost that prefers few kernels, then few passes, then few statements."""
    return sum(
        100.0 + 10 * sum(isinstance(s, Loop) for s in k.block.body) + len(k.block.body)
        for k in g.kernels
        if isinstance(k, CustomKernel)
    )


def program_of(g: MuGraph) -> Program:
    """The signature."""
    inputs = tuple(TensorSpec(t.name, g.shape(t), t.dtype) for t in g.inputs)
    return Program(g.name, inputs, (), tuple(range(len(g.outputs))))


def module_of(g: MuGraph) -> str:
    original = f"def {g.name}({', '.join(t.name for t in g.inputs)}):\n    return None"
    return emit_module(program_of(g), g, original, function=g.name, header={})


def base(name: str) -> Base:
    """A base program by its name in NAMES."""
    kind, _, own = name.partition("/")
    if kind == "hand":
        graph = small()[own].mugraph
        t, outputs = targets(graph)
        return Base(name, t, tuple(outputs), graph, module_of(graph))
    p = problem(own)
    search = Search(p, statements, bounds=Bounds(cuts=1, keep=8, tilings=2))
    list(search.run())
    graph = plan(search.best[0].mugraph)
    return Base(name, p.t, tuple(Output(o.tensor, o.term, o.dims) for o in p.outputs), graph, module_of(graph))
