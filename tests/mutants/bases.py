"""The programs that are broken on purpose: the six hand-written µGraphs, and what the search answers for the published
workloads. Each with its terms, its µGraph and its emitted module."""

from __future__ import annotations

from dataclasses import dataclass

from workloads.hand import BUILDERS, small
from workloads.hand_targets import targets
from workloads.terms import WORKLOADS, problem

from mirage.codegen.emit import emit_module
from mirage.meaning.terms import Terms
from mirage.mugraph.grammar import CustomKernel, Loop, MuGraph
from mirage.plan import plan
from mirage.program.ir import Input, Program, TensorType
from mirage.search.engine import Bounds, Search
from mirage.verify.schedule import Output

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
    def parameters(self) -> list[str]:
        return [i.name for i in self.mugraph.inputs]


def statements(g: MuGraph) -> float:
    """A cost that prefers few kernels, then few passes, then few statements."""
    return sum(
        100.0 + 10 * sum(isinstance(s, Loop) for s in k.block.body) + len(k.block.body)
        for k in g.kernels
        if isinstance(k, CustomKernel)
    )


def module_of(g: MuGraph) -> str:
    inputs = tuple(Input(t.name, TensorType(g.shape(t), t.dtype)) for t in g.inputs)
    original = f"def {g.name}({', '.join(t.name for t in g.inputs)}):\n    return None"
    program = Program(g.name, inputs, (), tuple(range(len(g.outputs))))
    return emit_module(program, g, original, function=g.name, header={})


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
