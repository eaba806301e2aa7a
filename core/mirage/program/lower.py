"""From a tensor program to terms over named axes.

First every dim of every tensor gets its axes (by dataflow: `axes.py`), then each output's term is made from the top,
one index a dim, so that a tensor used at two indices is read at both. The rules of the primitives are the operator
table's; this file knows no operator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from dataclasses import replace as dc_replace

from mirage.errors import UnsupportedOperands
from mirage.meaning.terms import Terms
from mirage.mugraph.grammar import DimIndex, DTensor
from mirage.operators import rules
from mirage.operators.entry import Operator
from mirage.operators.table import OPERATORS
from mirage.program.axes import AxisClasses, Leaves
from mirage.program.builder import expand
from mirage.program.ir import Node, Program, TensorType
from mirage.program.names import Names, readable

Index = tuple[DimIndex, ...]


@dataclass(frozen=True)
class Lowered:
    """`outputs`: for each output its term and, for each of its dims, the axes (major first; none for size one).
    `tensors` are the inputs. `named` maps a dim's name in the annotations to the axes that it became."""

    terms: Terms
    outputs: list[tuple[int, tuple[tuple[str, ...], ...]]]
    tensors: list[DTensor]
    named: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def sizes(self) -> dict[str, int]:
        return self.terms.sizes


class Lowering:
    """The state of one lowering; the rules of the primitives talk to it."""

    def __init__(self, program: Program, t: Terms) -> None:
        self.program, self.t = unshared(expand(program)), t
        self.classes = AxisClasses()
        self.dims: list[list[Leaves]] = []
        self.letters: dict[int, dict[str, Leaves]] = {}
        self._reduced: list[Leaves] = []
        self._place = {id(n): i for i, n in enumerate(self.program.nodes, len(self.program.inputs))}
        self._names: dict[int, list[str]] = {}
        self._memo: dict[tuple[int, Index], int] = {}
        self._rigid: dict[str, list[bool]] = {i.name: [False] * len(i.type.shape) for i in self.program.inputs}
        self._first: dict[str, list[tuple[str, ...]]] = {}
        for i in self.program.inputs:
            self.dims.append([self.fresh(n) for n in i.type.shape])
        for node in self.program.nodes:
            self.dims.append(list(self._axes(node)))
        self._supply = Names(i.name for i in self.program.inputs)
        self._name_all()

    # ---- what rules ask
    def entry(self, op: str) -> Operator:
        return OPERATORS[op]

    def type(self, x: int) -> TensorType:
        return self.program.type_of(x)

    def fresh(self, size: int) -> Leaves:
        return self.classes.fresh(size)

    def size(self, leaf: int) -> int:
        return self.classes.size(leaf)

    def split(self, leaf: int, minor: int) -> tuple[int, int]:
        return self.classes.split(leaf, minor)

    def resolve(self, leaves: Leaves) -> Leaves:
        return self.classes.resolve(leaves)

    def unify(self, a: Leaves, b: Leaves, node: Node) -> Leaves:
        return self.classes.unify(a, b, node.line)

    def leaves(self, x: int, dim: int) -> Leaves:
        return self.resolve(self.dims[x][dim])

    def node_dims(self, node: Node) -> list[Leaves]:
        return self.dims[self._place[id(node)]]

    def reduces(self, leaves: Leaves) -> None:
        """Remembers that an axis is summed over: it gets another kind of letter."""
        self._reduced.append(leaves)

    def name(self, leaf: int) -> str:
        """The axis' own name."""
        return self._name(leaf, frozenset())

    def bind(self, leaves: Leaves, taken: set[str]) -> tuple[str, ...]:
        """Names for the binders over a dim: the axes' own unless they stand in `taken`, the axes already indexed."""
        out: list[str] = []
        for leaf in self.resolve(leaves):
            out.append(self._name(leaf, frozenset(taken) | set(out)))
        return tuple(out)

    def sum(self, axis: str, body: int) -> int:
        """A sum over `axis`; over a body that does not vary, a product by the size of the axis under its own name."""
        if axis in self.t.dims(body):
            return self.t.sum(axis, body)
        own = next(names[0] for names in self._names.values() if axis in names)
        self._use(own, self.t.sizes[axis])
        return self.t.mul(self.t.size(own), body)

    def term(self, x: int, index: Index) -> int:
        """The term of a tensor at an index."""
        key = (x, index)
        if key not in self._memo:
            n = len(self.program.inputs)
            self._memo[key] = self._read(x, index) if x < n else self._term(self.program.nodes[x - n], index)
        return self._memo[key]

    # ---- inside
    def _axes(self, node: Node) -> Sequence[Leaves]:
        rule = self.entry(node.op).axes
        return rules.broadcast_axes(self, node) if rule is None else rule(self, node)

    def _term(self, node: Node, index: Index) -> int:
        rule = self.entry(node.op).term
        return rules.pointwise_term(self, node, index) if rule is None else rule(self, node, index)

    def _read(self, x: int, index: Index) -> int:
        given = self.program.inputs[x]
        for i, (d, n) in enumerate(zip(index, given.type.shape, strict=True)):
            length = 1
            for a in d.axes:
                length *= self.t.sizes[a]
            if d.offset or length != n:
                self._rigid[given.name][i] = True
        self._first.setdefault(given.name, [d.axes for d in index])
        return self.t.input(given.name, index, boolean=given.type.dtype == "bool")

    def _use(self, name: str, size: int) -> str:
        self.t.sizes.setdefault(name, size)
        return name

    def _name(self, leaf: int, taken: frozenset[str]) -> str:
        names = self._names[leaf]
        for name in names:
            if name not in taken:
                return self._use(name, self.size(leaf))
        names.append(self._supply.give(names[0], summed=False))
        return self._use(names[-1], self.size(leaf))

    def _name_all(self) -> None:
        """Annotations' names first, then letters in the order of outputs, inputs, and the rest."""
        wishes: dict[int, str] = {}
        for x, i in enumerate(self.program.inputs):
            for d, wish in enumerate(i.names):
                leaves = self.leaves(x, d) if d < len(self.dims[x]) else ()
                if len(leaves) == 1 and readable(wish):
                    wishes.setdefault(leaves[0], readable(wish))
        for leaf, wish in wishes.items():
            self._names[leaf] = [self._supply.give(wish, summed=False)]
        kept = [leaf for x in self.program.outputs for leaves in self.dims[x] for leaf in self.resolve(leaves)]
        summed = {leaf for leaves in self._reduced for leaf in self.resolve(leaves)} - set(kept)
        every = [leaf for dims in self.dims for leaves in dims for leaf in self.resolve(leaves)]
        bound = [leaf for leaves in self._reduced for leaf in self.resolve(leaves)]
        for leaf in [*kept, *every, *bound]:
            if leaf not in self._names:
                self._names[leaf] = [self._supply.give("", summed=leaf in summed)]

    def run(self) -> Lowered:
        outputs = []
        for x in self.program.outputs:
            taken: set[str] = set()
            dims: list[tuple[str, ...]] = []
            for leaves in self.dims[x]:
                dims.append(self.bind(leaves, taken))
                taken |= set(dims[-1])
            outputs.append((self.term(x, tuple(DimIndex(axes, 0) for axes in dims)), tuple(dims)))
        tensors = [self._tensor(x) for x in range(len(self.program.inputs))]
        named: dict[str, tuple[str, ...]] = {}
        for x, i in enumerate(self.program.inputs):
            for d, wish in enumerate(i.names):
                if wish and d < len(self.dims[x]):
                    here = tuple(self.name(leaf) for leaf in self.leaves(x, d))
                    named[wish] = tuple(dict.fromkeys([*named.get(wish, ()), *here]))
        return Lowered(self.t, outputs, tensors, named)

    def _tensor(self, x: int) -> DTensor:
        given = self.program.inputs[x]
        rigid = self._rigid[given.name]
        read = self._first.get(given.name)
        dims = tuple(
            read[d] if read and rigid[d] else tuple(self.name(leaf) for leaf in self.leaves(x, d))
            for d in range(len(given.type.shape))
        )
        fixed = tuple(n if r else None for n, r in zip(given.type.shape, rigid, strict=True))
        return DTensor(given.name, given.type.dtype, dims, fixed if any(rigid) else ())


def unshared(program: Program) -> Program:
    """Every use of an operator without operands (0, 1, 2, ...) gets a node of its own: the rows and the columns of a
    mask are different axes, also where they have one length."""
    first = len(program.inputs)
    nodes: list[Node] = []
    place = {i: i for i in range(first)}
    for i, node in enumerate(program.nodes, first):
        args = []
        for a in node.args:
            source = program.nodes[a - first] if a >= first else None
            if source is not None and not source.args and source.op != "const":
                nodes.append(dc_replace(source))
                args.append(first + len(nodes) - 1)
            else:
                args.append(place[a])
        nodes.append(dc_replace(node, args=tuple(args)))
        place[i] = first + len(nodes) - 1
    return dc_replace(program, nodes=tuple(nodes), outputs=tuple(place[o] for o in program.outputs))


def lower(program: Program, t: Terms | None = None) -> Lowered:
    """The meaning of a program. Raises UnsupportedReshape, with the line, for dims that have no named axes, and
    UnsupportedOperands for a chain of operators that is too long."""
    try:
        return Lowering(program, t if t is not None else Terms()).run()
    except RecursionError as error:
        raise UnsupportedOperands(
            f"the function chains {len(program.nodes)} operators, more than can be taken together",
            next_step="split the function",
        ) from error
