"""The lowering of a tensor program to terms over named axes.

First every dim of every tensor gets its axes (by dataflow: `axis_classes.py`), then each output's term is made from the top,
one index a dim, so that a tensor used at two indices is read at both. The rules of the primitives are the operator
table's; this file knows no operator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from dataclasses import replace as dc_replace
from typing import Literal

from mirage.errors import UnsupportedOperands
from mirage.ir.index import DimIndex
from mirage.ir.opaque_calls import RESULT_TENSOR, is_call, sizes_of
from mirage.ir.program import Operation, Program
from mirage.ir.tensor_spec import TensorType
from mirage.meaning.terms import Terms
from mirage.mugraph.grammar import DTensor, LibraryKernel
from mirage.operators import axis_rules
from mirage.operators.entry import Operator
from mirage.operators.table import OPERATORS
from mirage.program.axis_classes import AxisClasses, Leaves
from mirage.program.axis_names import AxisNames, output_names, readable
from mirage.program.builder import expand
from mirage.program.integers import is_integer

Index = tuple[DimIndex, ...]


@dataclass(frozen=True)
class Made:
    """A tensor that the program must make for a call: its term, the axes of each of its dims, its dtype."""

    name: str
    term: int
    dims: tuple[tuple[str, ...], ...]
    dtype: str


@dataclass(frozen=True)
class Lowered:
    """`outputs`: for each output its term and, for each of its dims, the axes (major first; none for size one).
    `tensors` are the inputs. `named` maps a dim's name in the annotations to the axes that it became.

    `calls` stay PyTorch's own (`opaque_calls.py`), in the program's order. What they give, `given`, are inputs of the terms; what
    they take are inputs, outputs, what others give, or `made`. The outputs' tensors are named by `output_names`; one of them
    may be what a call gives."""

    terms: Terms
    outputs: list[tuple[int, tuple[tuple[str, ...], ...]]]
    tensors: list[DTensor]
    named: dict[str, tuple[str, ...]] = field(default_factory=dict)
    given: tuple[DTensor, ...] = ()
    made: tuple[Made, ...] = ()
    calls: tuple[LibraryKernel, ...] = ()

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
        self._sources = self._source_names()
        self._rigid: dict[str, list[bool]] = {
            name: [False] * len(self.type(x).shape) for x, name in self._sources.items()
        }
        self._first: dict[str, list[tuple[str, ...]]] = {}
        for i in self.program.inputs:
            self.dims.append([self.fresh(n) for n in i.type.shape])
        for node in self.program.nodes:
            self.dims.append(list(self._axes(node)))
        self._supply = AxisNames(self._sources.values())
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

    def unify(self, a: Leaves, b: Leaves, node: Operation) -> Leaves:
        return self.classes.unify(a, b, node.line)

    def leaves(self, x: int, dim: int) -> Leaves:
        return self.resolve(self.dims[x][dim])

    def node_dims(self, node: Operation) -> list[Leaves]:
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
            node = None if x in self._sources else self.program.nodes[x - len(self.program.inputs)]
            self._memo[key] = self._read(x, index) if node is None else self._term(node, index)
        return self._memo[key]

    # ---- inside
    def _source_names(self) -> dict[int, str]:
        """What terms read: the inputs, and what calls give (an output's name where it is one)."""
        p = self.program
        names = {x: i.name for x, i in enumerate(p.inputs)}
        outputs = output_names(p)
        taken = {*names.values(), *outputs}
        for x, node in enumerate(p.nodes, len(p.inputs)):
            if is_call(node.op):
                name = f"call{sum(y >= len(p.inputs) for y in names)}"
                while name in taken:
                    name += "_"
                names[x] = outputs[p.outputs.index(x)] if x in p.outputs else name
                taken.add(names[x])
        return names

    def _called(self, node: Operation) -> list[Leaves]:
        """The axes of what a call gives: dims that change together are one axis, all others are their own."""
        dims = [self.fresh(n) for n in node.type.shape]
        for group in sizes_of(node.attrs):
            first, *rest = [dims if i == RESULT_TENSOR else self.dims[node.args[i]] for i, _ in group]
            (_, d), *others = group
            for tensor, (_, e) in zip(rest, others, strict=True):
                tensor[e] = first[d] = self.unify(first[d], tensor[e], node)
        return dims

    def _axes(self, node: Operation) -> Sequence[Leaves]:
        if is_call(node.op):
            return self._called(node)
        rule = self.entry(node.op).axes
        return axis_rules.broadcast_axes(self, node) if rule is None else rule(self, node)

    def _term(self, node: Operation, index: Index) -> int:
        rule = self.entry(node.op).term
        return axis_rules.pointwise_term(self, node, index) if rule is None else rule(self, node, index)

    def _read(self, x: int, index: Index) -> int:
        name, given = self._sources[x], self.type(x)
        for i, (d, n) in enumerate(zip(index, given.shape, strict=True)):
            length = 1
            for a in d.axes:
                length *= self.t.sizes[a]
            if d.offset or length != n:
                self._rigid[name][i] = True
        self._first.setdefault(name, [d.axes for d in index])
        if is_integer(given.dtype):
            self.t.whole_inputs.add(name)
        return self.t.input(name, index, boolean=given.dtype == "bool")

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
        outputs = [self.whole(x) for x in self.program.outputs]
        made, calls = self._calls()
        inputs = len(self.program.inputs)
        tensors = [self._tensor(x) for x in range(inputs)]
        given = tuple(self._tensor(x) for x in self._sources if x >= inputs)
        named: dict[str, tuple[str, ...]] = {}
        for x, i in enumerate(self.program.inputs):
            for d, wish in enumerate(i.names):
                if wish and d < len(self.dims[x]):
                    here = tuple(self.name(leaf) for leaf in self.leaves(x, d))
                    named[wish] = tuple(dict.fromkeys([*named.get(wish, ()), *here]))
        return Lowered(self.t, outputs, tensors, named, given, made, calls)

    def whole(self, x: int) -> tuple[int, tuple[tuple[str, ...], ...]]:
        """A tensor's term, with an index for each of its dims."""
        taken: set[str] = set()
        dims: list[tuple[str, ...]] = []
        for leaves in self.dims[x]:
            dims.append(self.bind(leaves, taken))
            taken |= set(dims[-1])
        return self.term(x, tuple(DimIndex(axes, 0) for axes in dims)), tuple(dims)

    def _calls(self) -> tuple[tuple[Made, ...], tuple[LibraryKernel, ...]]:
        """The calls, and what has to be made for them."""
        p = self.program
        names = dict(self._sources)
        names |= {x: n for n, x in reversed(list(zip(output_names(p), p.outputs, strict=True))) if x not in names}
        made: list[Made] = []
        calls: list[LibraryKernel] = []
        taken = set(names.values())
        for x, node in enumerate(p.nodes, len(p.inputs)):
            if not is_call(node.op):
                continue
            for a in node.args:
                if a not in names:
                    names[a] = f"given{len(made)}"
                    while names[a] in taken:
                        names[a] += "_"
                    taken.add(names[a])
                    made.append(Made(names[a], *self.whole(a), self.type(a).dtype))
            args = tuple(names[a] for a in node.args)
            calls.append(LibraryKernel(f"own{len(calls)}", node.op, args, names[x], node.attrs))
        return tuple(made), tuple(calls)

    def _tensor(self, x: int) -> DTensor:
        name, given = self._sources[x], self.type(x)
        rigid = self._rigid[name]
        read = self._first.get(name)
        dims = tuple(
            read[d] if read and rigid[d] else tuple(self.name(leaf) for leaf in self.leaves(x, d))
            for d in range(len(given.shape))
        )
        fixed = tuple(n if r else None for n, r in zip(given.shape, rigid, strict=True))
        n = len(self.program.inputs)
        kind: Literal["input", "temp", "output"] = (
            "input" if x < n else "output" if x in self.program.outputs else "temp"
        )
        return DTensor(name, given.dtype, dims, fixed if any(rigid) else (), kind)


def unshared(program: Program) -> Program:
    """Every use of an operator without operands (0, 1, 2, ...) gets a node of its own: the rows and the columns of a
    mask are different axes, also where they have one length."""
    first = len(program.inputs)
    nodes: list[Operation] = []
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
