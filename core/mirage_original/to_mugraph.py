"""Our µGraph of a kernel graph of the original: `mugraph_of`.

Each block graph is a CustomKernel, a matmul between kernels is PyTorch's, and each other operator between kernels a small
CustomKernel. With a program beside it the µGraph's tensors have that program's axes, cut as the kernels cut them; the program's
terms are then cut alike (`hand_graph_terms.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product

from mirage.errors import InvalidMugraph, UnsupportedReshape
from mirage.ir.narrowing import WARP
from mirage.mugraph.check import SM_90, Limits, broken_rule
from mirage.mugraph.grammar import CustomKernel, DTensor, LibraryKernel, MuGraph
from mirage.mugraph.rules.breach import Breach
from mirage.program.axis_classes import Leaves
from mirage.program.axis_names import AxisNames
from mirage_original.block_data import Threadblock
from mirage_original.block_statements import Emission, Emitted, Index
from mirage_original.graph_axes import Joint
from mirage_original.graph_builder import GraphNode, KNGraph
from mirage_original.merge_units import Dims, Naming, Renderer, joined, masked, united
from mirage_original.mistakes import Place, mistake
from mirage_original.row_blocks import block_of
from mirage_original.tensors import inverse

STAGES = (3, 2, 1)  # of the loops' pipelines: as many as fit
PROGRAM = -1  # the group of a program's axes
Axes = tuple[tuple[str, ...], ...]  # of a tensor: the axes of each of its dims


@dataclass(frozen=True)
class Sides:
    """What a program calls the graph's inputs and outputs, their axes, the axes' sizes, and every name of an axis in it."""

    inputs: tuple[tuple[str, Axes], ...]
    outputs: tuple[tuple[str, Axes], ...]
    sizes: dict[str, int]
    taken: frozenset[str] = frozenset()


@dataclass
class LoweredGraph:
    """The µGraph; for each axis of the program the µGraph's that it is; the script's line of each tile and kernel."""

    mugraph: MuGraph
    axes: dict[str, tuple[str, ...]]
    places: dict[str, Place | None]


@dataclass
class LoweredKernel:
    """A kernel while its axes are found: a block graph's statements, or a matmul. `reads` and `writes` are tensors."""

    name: str
    node: GraphNode
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    emitted: Emitted | None = None
    threads: int = 128
    accesses: list[tuple[int, Index]] = field(default_factory=list)


def mugraph_of(graph: KNGraph, limits: Limits = SM_90) -> MuGraph:
    """The µGraph, checked for a device's limits. Raises, with the line of the script, GraphMistake for dims that
    are cut in ways that do not fit together, and InvalidMugraph for a block graph that breaks a validity rule."""
    return lowered_of(graph, limits=limits).mugraph


def lowered_of(
    graph: KNGraph, program: Sides | None = None, name: str = "program", limits: Limits = SM_90
) -> LoweredGraph:
    """As `mugraph_of`, with the tensors' names and axes of a program."""
    return Lowerer(graph, program, name).run(limits)


class Lowerer:
    def __init__(self, graph: KNGraph, program: Sides | None, name: str) -> None:
        self.graph, self.program, self.name = graph, program, name
        self.joint = Joint()
        self.outputs = [t.place for t in graph.outputs]
        self.inputs = [t.place for t in graph.inputs]
        self.axes = {a: self.joint.of(n, PROGRAM, alone=True) for a, n in (program.sizes if program else {}).items()}
        self.names: dict[int, str] = {}
        self.dims: dict[int, list[Leaves]] = {}
        for t in graph.tensors:
            self.names[t.place] = f"t{t.place}"
            self.dims[t.place] = [self.joint.fresh(n) for n in t.shape]
        for places, given, hint in (
            (self.inputs, program.inputs if program else (), "x"),
            (self.outputs, program.outputs if program else (), "out"),
        ):
            for i, p in enumerate(places):
                own = hint if hint == "out" and len(places) == 1 else f"{hint}{i}"
                self.names[p] = given[i][0] if given else own
                if given:
                    stored = [tuple(x for a in d for x in self.axes[a]) for d in given[i][1]]
                    order = self.order(p)
                    self.dims[p] = [stored[d] for d in inverse(order)] if order else stored

    def run(self, limits: Limits) -> LoweredGraph:
        if not self.outputs:
            raise mistake("the graph has no operator", "build what it computes first")
        kernels = [self.kernel(i, nodes) for i, nodes in enumerate(self.calls())]
        self.settle(kernels)
        for k in kernels:
            if k.emitted is not None:
                k.emitted = united(k.emitted, self.joint)
        failures = []
        for loops, stages in product((True, False), STAGES):
            found = self.rendered(kernels, loops, stages)
            failed = broken_rule(found.mugraph, limits)
            if failed is None:
                return found
            failures.append((found, *failed))
        raise self.broken(*failures[0])

    def order(self, place: int) -> tuple[int, ...]:
        """The dims of an input or output as they lie in memory; () for row-major."""
        return self.graph.tensors[place].order or self.graph.layouts.get(place, ()) if not self.is_temp(place) else ()

    # ---- kernels
    def calls(self) -> list[list[int]]:
        """The nodes of each kernel: the outputs of a block graph together."""
        found: dict[object, list[int]] = {}
        for i, n in enumerate(self.graph.nodes):
            if n.op != "input":
                found.setdefault(n.attr("call") if n.op == "customized" else (n.op, i), []).append(i)
        return list(found.values())

    def kernel(self, group: int, nodes: list[int]) -> LoweredKernel:
        node = self.graph.nodes[nodes[0]]
        k = LoweredKernel(f"kernel{group}", node, node.args, tuple(nodes))
        if node.op == "matmul":
            if any(self.order(p) for p in (*node.args, *nodes)):
                raise mistake(
                    "a matmul between kernels of a tensor that is not row-major",
                    "put it into a block graph, or call superoptimize on the whole",
                    node.place,
                )
            *batch, m, kk = self.graph.tensors[node.args[0]].shape
            n = self.graph.tensors[node.args[1]].shape[-1]
            axes = [self.joint.of(x, group, alone=True) for x in (*batch, m, kk, n)]
            rows, contracted, columns = axes[-3:]
            b = axes[:-3]
            indices = ((*b, rows, contracted), (*b, contracted, columns), (*b, rows, columns))
            k.accesses = list(zip((*node.args, *nodes), indices, strict=True))
            return k
        data: Threadblock = node.attr("block") if node.op == "customized" else block_of(self.graph, nodes[0])
        k.reads = tuple(dict.fromkeys(node.args))
        k.threads = data.threads
        reads = [self.names[p] for p in k.reads]
        k.emitted = Emission(data, self.joint, group, reads, [self.names[p] for p in nodes]).run()
        k.accesses = [(k.reads[i], x) for i, x in k.emitted.inputs] + [(nodes[i], x) for i, x in k.emitted.outputs]
        return k

    def settle(self, kernels: Sequence[LoweredKernel]) -> None:
        """Tensors and what reads and writes them get the same axes, as far as they can."""
        changed = True
        while changed:
            changed = False
            for k in kernels:
                for place, index in k.accesses:
                    for have, want in zip(self.dims[place], index, strict=True):
                        if self.joint.total(have) != self.joint.total(want):
                            continue  # a part of a concat
                        try:
                            changed |= self.joint.meet(have, want)
                        except UnsupportedReshape as e:
                            raise mistake(
                                f"{self.names[place]}: {e.message}", "cut it alike wherever it is used", k.node.place
                            ) from None

    # ---- names
    def rendered(self, kernels: Sequence[LoweredKernel], loops: bool, stages: int) -> LoweredGraph:
        dims = {k.name: joined(k.emitted, self.joint, loops=loops) for k in kernels if k.emitted is not None}
        chains = self.chains(kernels, dims)
        names = self.chain_names(chains)

        def naming(leaves: Leaves) -> tuple[str, ...]:
            return tuple(names[x] for x in self.joint.resolve(leaves) if x in names)

        orders = {self.names[p]: self.order(p) for p in (*self.inputs, *self.outputs)}
        made: list[CustomKernel | LibraryKernel] = []
        places: dict[str, Place | None] = {}
        for k in kernels:
            places[k.name] = k.node.place
            if k.emitted is None:
                made.append(self.library_kernel(k))
                continue
            places |= k.emitted.places
            block = Renderer(k.emitted, self.joint, dims[k.name], naming, orders).block()
            made.append(CustomKernel(k.name, block, warps=k.threads // WARP, stages=stages))
        order = [*self.inputs, *(t.place for t in self.graph.tensors if self.is_temp(t.place)), *self.outputs]
        tensors = tuple(self.tensor(p, naming) for p in order)
        sizes = {names[c[0]]: self.joint.total(c) for c in chains}
        used = used_axes(tensors, made)
        graph = MuGraph(self.name, tuple(sorted((a, n) for a, n in sizes.items() if a in used)), tensors, tuple(made))
        return LoweredGraph(masked(graph), {a: naming(x) for a, x in self.axes.items()}, places)

    def library_kernel(self, k: LoweredKernel) -> LibraryKernel:
        return LibraryKernel(k.name, "matmul", tuple(self.names[p] for p in k.reads), self.names[k.writes[0]])

    def is_temp(self, place: int) -> bool:
        return place not in self.inputs and place not in self.outputs

    def tensor(self, place: int, naming: Naming) -> DTensor:
        t = self.graph.tensors[place]
        kind = "input" if place in self.inputs else "output" if place in self.outputs else "temp"
        dims = tuple(naming(self.dims[place][d]) for d in self.order(place) or range(len(t.shape)))
        return DTensor(self.names[place], t.dtype.short, dims, kind=kind)  # type: ignore[arg-type]

    def sequences(self, kernels: Sequence[LoweredKernel], dims: dict[str, Dims]) -> list[Leaves]:
        """Every place where classes stand in a row."""
        every = [d for place in self.dims.values() for d in place] + list(self.axes.values())
        for k in kernels:
            every += [d for _, index in k.accesses for d in index]
            if k.emitted is not None:
                every += dims[k.name].groups
        return [self.joint.resolve(d) for d in every if d]

    def chains(self, kernels: Sequence[LoweredKernel], dims: dict[str, Dims]) -> list[Leaves]:
        """Classes that always stand in one row are one axis."""
        after: dict[int, set[int | None]] = {}
        before: dict[int, set[int | None]] = {}
        for row in self.sequences(kernels, dims):
            for a, b in pairwise((None, *row, None)):
                if a is not None:
                    after.setdefault(a, set()).add(b)
                if b is not None:
                    before.setdefault(b, set()).add(a)

        def follows(a: int) -> int | None:
            b = next(iter(after[a])) if len(after[a]) == 1 else None
            return b if b is not None and before[b] == {a} else None

        found, seen = [], set[int]()
        for first in before:
            if any(a is not None and follows(a) == first for a in before[first]) or first in seen:
                continue
            chain = [first]
            while (following := follows(chain[-1])) is not None and following not in chain:
                chain.append(following)
            seen |= set(chain)
            found.append(tuple(chain))
        return found

    def chain_names(self, chains: Sequence[Leaves]) -> dict[int, str]:
        """A name for each chain, under its first class: the program's axis where it is one, else after the one it is part of."""
        supply = AxisNames((*self.names.values(), *(self.program.taken if self.program else ()), *self.axes))
        whole = {self.joint.resolve(x): a for a, x in self.axes.items()}
        part = {x: a for a, leaves in self.axes.items() for x in self.joint.resolve(leaves)}
        names = {c[0]: whole[c] for c in chains if c in whole}
        for c in chains:
            if c[0] not in names:
                wish = f"{part[c[0]]}_part" if c[0] in part else ""
                names[c[0]] = supply.give(wish, summed=False)
        return names

    # ---- what is wrong
    def broken(self, found: LoweredGraph, rule: str, breach: Breach) -> Exception:
        """At the line of the tile that the rule speaks of, else of the kernel."""
        tile = breach.statement.split("[")[0].split(" ")[0]
        place = found.places.get(tile) or found.places.get(breach.where)
        quoted = f" `{breach.statement}`:" if breach.statement else ""
        error = InvalidMugraph(
            f"{breach.where}:{quoted} {breach.message} (rule {rule})",
            next_step=f"see rule {rule} in `mirage docs mugraph`",
        )
        if place is not None:
            error.path, error.line = place
        return error


def used_axes(tensors: Sequence[DTensor], kernels: Sequence[CustomKernel | LibraryKernel]) -> set[str]:
    """The axes that tensors and blocks have."""
    blocks = [k.block for k in kernels if isinstance(k, CustomKernel)]
    return {a for t in tensors for d in t.dims for a in d} | {a for b in blocks for d in b.dims for a in d.axes}
