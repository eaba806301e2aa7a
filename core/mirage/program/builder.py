"""The graph builder: programs without PyTorch. Types are inferred by the operator table.

b = Builder("scale")
x = b.input("x", (5, 7), "fp16", names=("b", ""))
b.output(b.op("mul", x, b.const(2.0)))
program = b.program()
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from mirage.errors import DtypeMix, MirageError, RankMismatch, UnknownOperator, UnsupportedOperands, ZeroSizeAxis
from mirage.ir.dtypes import DTYPES
from mirage.ir.opaque_calls import is_call
from mirage.ir.program import Attr, Operation, Program, freeze
from mirage.ir.tensor_spec import TensorSpec, TensorType
from mirage.operators.entry import DtypeError, OperandsError, ShapeError
from mirage.operators.table import OPERATORS

Made = TypeVar("Made")
_MISTAKES: tuple[tuple[type[Exception], type[MirageError]], ...] = (
    (ShapeError, RankMismatch),
    (DtypeError, DtypeMix),
    (OperandsError, UnsupportedOperands),
)


class Builder:
    """Makes a Program. `line` is given to the nodes made next; equal nodes are one. Inputs must come first."""

    def __init__(self, name: str = "program") -> None:
        self.name = name
        self.line: int | None = None
        self.inputs: list[TensorSpec] = []
        self.nodes: list[Operation] = []
        self.outputs: list[int] = []
        self.notes: list[str] = []
        self._known: dict[tuple[object, ...], int] = {}

    def input(self, name: str, shape: Sequence[int], dtype: str = "fp32", names: Sequence[str] = ()) -> int:
        """A parameter. Raises ZeroSizeAxis, UnsupportedOperands."""
        if self.nodes:
            raise ValueError("inputs come before operators")
        if any(n < 1 for n in shape):
            raise ZeroSizeAxis(f"`{name}` has shape {list(shape)}", line=self.line)
        if dtype not in DTYPES:
            raise UnsupportedOperands(f"`{name}` has dtype {dtype!r}", line=self.line)
        self.inputs.append(TensorSpec(name, tuple(shape), dtype, None, tuple(names)))
        return len(self.inputs) - 1

    def type(self, x: int) -> TensorType:
        n = len(self.inputs)
        return self.inputs[x].type if x < n else self.nodes[x - n].type

    def const(self, value: float | int | bool) -> int:
        return self.op("const", value=value)

    def op(self, op: str, *args: int, **attrs: object) -> int:
        """One operator applied. Raises UnknownOperator, RankMismatch, DtypeMix, UnsupportedOperands, with the line."""
        entry = OPERATORS.get(op)
        if entry is None:
            raise UnknownOperator(f"`{op}` is not in the operator table", line=self.line)
        if not entry.least <= len(args) <= entry.most:
            raise UnsupportedOperands(f"`{op}` takes {entry.least} to {entry.most} operands", line=self.line)
        frozen = tuple(sorted((k, freeze(v)) for k, v in attrs.items()))
        inferred = self._checked(lambda: entry.infer([self.type(x) for x in args], dict(frozen)))
        if any(n < 1 for n in inferred.shape):
            raise ZeroSizeAxis(f"`{op}` gives shape {list(inferred.shape)}", line=self.line)
        # Numbers that are equal are not the same attribute: 1, 1.0 and True differ in dtype.
        key = (op, args, tuple((k, repr(v)) for k, v in frozen))
        return self._node(key, Operation(op, tuple(args), frozen, inferred, self.line))

    def _node(self, key: tuple[object, ...], node: Operation) -> int:
        if key not in self._known:
            self.nodes.append(node)
            self._known[key] = len(self.inputs) + len(self.nodes) - 1
        return self._known[key]

    def call(self, op: str, *args: int, type: TensorType, attrs: Mapping[str, object]) -> int:
        """A call that stays PyTorch's own (`opaque_calls.py`), with the type that PyTorch gives its result. Raises ZeroSizeAxis."""
        if any(n < 1 for n in type.shape):
            raise ZeroSizeAxis(f"`{op}` gives shape {list(type.shape)}", line=self.line)
        frozen = tuple(sorted((k, freeze(v)) for k, v in attrs.items()))
        key = (op, args, tuple((k, repr(v)) for k, v in frozen))
        return self._node(key, Operation(op, tuple(args), frozen, type, self.line))

    def copied(self, node: Operation, args: Sequence[int]) -> int:
        """A node of another program, with its type, its line and its name, applied to these operands."""
        key = (node.op, tuple(args), tuple((k, repr(v)) for k, v in node.attrs))
        return self._node(key, replace(node, args=tuple(args)))

    def _checked(self, infer: Callable[[], Made]) -> Made:
        try:
            return infer()
        except tuple(kind for kind, _ in _MISTAKES) as mistake:
            error = next(e for kind, e in _MISTAKES if isinstance(mistake, kind))
            raise error(str(mistake), line=self.line) from mistake

    def called(self, x: int, name: str) -> None:
        """A node gets its name in the source, unless it has one."""
        i = x - len(self.inputs)
        if name and i >= 0 and not self.nodes[i].name:
            self.nodes[i] = replace(self.nodes[i], name=name)

    def output(self, x: int) -> None:
        self.outputs.append(x)

    def program(self, *, returns_tuple: bool = False) -> Program:
        """The program, without the nodes that no output needs."""
        n = len(self.inputs)
        needed: set[int] = set()
        todo = list(self.outputs)
        while todo:
            x = todo.pop()
            if x >= n and x not in needed:
                needed.add(x)
                todo += self.nodes[x - n].args
        kept = sorted(needed)
        place = {**{i: i for i in range(n)}, **{x: n + i for i, x in enumerate(kept)}}
        nodes = tuple(replace(m, args=tuple(place[a] for a in m.args)) for m in (self.nodes[x - n] for x in kept))
        outputs = tuple(place[x] for x in self.outputs)
        return Program(self.name, tuple(self.inputs), nodes, outputs, returns_tuple or len(outputs) > 1,
                       notes=tuple(dict.fromkeys(self.notes)))  # fmt: skip


def expand(program: Program) -> Program:
    """The program in primitives and pointwise operators: every expansion of the table carried out."""
    b = Builder(program.name)
    for i in program.inputs:
        b.input(i.name, i.type.shape, i.type.dtype, i.names)

    def made(op: str, args: Sequence[int], attrs: dict[str, Attr]) -> int:
        entry = OPERATORS[op]
        if entry.expand is None:
            return b.op(op, *args, **attrs)
        expansion = entry.expand
        return int(b._checked(lambda: expansion(_Expander(), args, attrs)))

    class _Expander:
        def op(self, op: str, *args: int, **attrs: object) -> int:
            return made(op, args, {k: freeze(v) for k, v in attrs.items()})

        def const(self, value: float | int | bool) -> int:
            return b.const(value)

        def type(self, x: int) -> TensorType:
            return b.type(x)

    place: list[int] = list(range(len(program.inputs)))
    for node in program.nodes:
        b.line = node.line
        args = [place[a] for a in node.args]
        if is_call(node.op):
            place.append(b.call(node.op, *args, type=node.type, attrs=dict(node.attrs)))
        else:
            place.append(made(node.op, args, dict(node.attrs)))
        b.called(place[-1], node.name)
    for x in program.outputs:
        b.output(place[x])
    b.notes += program.notes
    return b.program(returns_tuple=program.returns_tuple)
