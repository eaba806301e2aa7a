"""The error bound of the function as written: operator by operator as PyTorch runs it, each computed in float32 and rounded once
to its dtype.

A sum is added up in any order, since PyTorch states none; a product is made by a matrix unit where its operands are shorter than
float32. An operator that is made of others (a softmax, an attention) computes in float32 inside; computed operands of products within
it are rounded to its dtype, as fused attentions do. The program is the traced one; its inputs may have other sizes, as
long as no operator names one that has become another.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from mirage.ir.dtypes import DTYPES
from mirage.ir.opaque_calls import is_call
from mirage.ir.program import Attr, Operation, Program, freeze
from mirage.ir.tensor_spec import TensorType
from mirage.operators.block_operators import BLOCK
from mirage.operators.entry import OperandsError, Operator, ShapeError
from mirage.operators.error_rules import UNIT, absolute
from mirage.operators.table import OPERATORS
from mirage.operators.type_rules import dims_of
from mirage.verify.rounding.bounds import ErrorBounds, contract, join, rounded, split
from mirage.verify.rounding.mugraph_bound import NotBounded
from mirage.verify.semantics.arrays import Array
from mirage.verify.semantics.operator_values import einsum
from mirage.verify.semantics.program_values import MOVES

AMBIGUOUS = -1


class _Arena:
    """Where an operator's value is written as a term: it is computed at once."""

    def __init__(self, a: ErrorBounds) -> None:
        self.a = a
        self.values: list[Array] = []
        self.sizes: dict[str, int] = {}

    def put(self, value: Array) -> int:
        self.values.append(value)
        return len(self.values) - 1

    def fn(self, name: str, *xs: int) -> int:
        return self.put(self.a.fn(name, *(self.values[x] for x in xs)))

    def const(self, value: Fraction | int) -> int:
        return self.put(self.a.const(value))

    def literal(self, value: float) -> int:
        return self.put(self.a.literal(value))

    def where(self, c: int, a: int, b: int) -> int:
        return self.fn("where", c, a, b)

    select = where

    def negation(self, c: int) -> int:
        return self.fn("not", c)

    def is_const(self, x: int, value: int | None = None) -> bool:
        return False

    def is_boolean(self, x: int) -> bool:
        return self.values[x].dtype == bool

    def is_whole(self, x: int) -> bool:
        return False

    def range_of(self, x: int) -> tuple[float, float]:
        return -math.inf, math.inf

    def __getattr__(self, name: str) -> Callable[..., int]:
        if name not in BLOCK:
            raise AttributeError(name)
        return lambda *xs: self.fn(name, *xs)


class _Written:
    """One run. It takes the place of the maker that expansions of composite operators write to."""

    def __init__(self, program: Program) -> None:
        self.program, self.a = program, ErrorBounds()
        self.values: list[Array] = []
        self.types: list[TensorType] = []
        self.inside = ""  # the dtype of the composite operator in hand
        self.sizes: dict[int, int] = {}  # of dims here, by their size in the program

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        for x, i in zip(inputs, self.program.inputs, strict=True):
            self._keep(np.asarray(x)[None], TensorType(x.shape, i.type.dtype))
            self._learn(i.type.shape, x.shape)
        place = list(range(len(inputs)))
        for node in self.program.nodes:
            place.append(self._node(node, [place[x] for x in node.args]))
        return [self.a.lift(self.values[place[o]]) for o in self.program.outputs]

    def _node(self, node: Operation, args: Sequence[int]) -> int:
        if is_call(node.op):
            raise NotBounded(f"{node.op} is PyTorch's own")
        composite = OPERATORS[node.op].expand is not None
        self.inside = node.type.dtype if composite else ""
        try:
            made = self.op(node.op, *args, **self._resized(node, args))
        except (OperandsError, ShapeError, ValueError) as error:
            raise NotBounded(f"{node.op} at other sizes: {error}") from error
        value = self.values[made]
        if DTYPES[node.type.dtype].floating:
            value = rounded(self.a.lift(value), node.type.dtype)
        shape = self.types[made].shape
        self._learn(node.type.shape, shape)
        return self._keep(value, TensorType(shape, node.type.dtype))

    def _learn(self, stated: Sequence[int], here: Sequence[int]) -> None:
        """Which size of the program is which here."""
        for a, b in zip(stated, here, strict=True):
            self.sizes[a] = b if self.sizes.get(a, b) == b else AMBIGUOUS

    def _resized(self, node: Operation, args: Sequence[int]) -> dict[str, Attr]:
        """A program's attributes with the sizes that they name at those of this run."""
        attrs = dict(node.attrs)
        if all(stated == here for stated, here in self.sizes.items()):
            return attrs
        if node.op in ("reshape", "expand"):
            attrs["shape"] = self._shape(node.type.shape)
        elif node.op == "iota":
            (attrs["size"],) = self._shape((attrs["size"],))  # type: ignore[arg-type]
        elif node.op == "slice":
            dim = int(attrs["dim"])  # type: ignore[arg-type]
            whole, here = self.program.type_of(node.args[0]).shape[dim], self.types[args[0]].shape[dim]
            attrs |= {k: self._share(int(attrs[k]), whole, here) for k in ("start", "length")}  # type: ignore[arg-type]
        return attrs

    def _shape(self, stated: tuple[int, ...]) -> tuple[int, ...]:
        """The sizes here of dims of these; one that is not known is what is left."""
        found = tuple(n if n == 1 else self.sizes.get(n, AMBIGUOUS) for n in stated)
        if found.count(AMBIGUOUS) > 1:
            raise NotBounded(f"sizes {list(stated)} have no counterpart at the sizes of the run")
        return found

    @staticmethod
    def _share(at: int, whole: int, here: int) -> int:
        if at * here % whole:
            raise NotBounded(f"index {at} of {whole} has no counterpart at the sizes of the run")
        return at * here // whole

    # ---- what expansions ask of a maker
    def type(self, x: int) -> TensorType:
        return self.types[x]

    def const(self, value: float | int | bool) -> int:
        return self.op("const", value=value)

    def op(self, op: str, *args: int, **attrs: object) -> int:
        given = {k: freeze(v) for k, v in attrs.items()}
        entry = OPERATORS[op]
        if entry.expand is not None:
            return int(entry.expand(self, args, given))
        kind = entry.infer([self.types[x] for x in args], given)
        return self._keep(self._value(entry, [self.values[x] for x in args], given, kind), kind)

    # ---- inside
    def _keep(self, value: Array, kind: TensorType) -> int:
        self.values.append(value)
        self.types.append(kind)
        return len(self.values) - 1

    def _value(self, entry: Operator, xs: list[Array], attrs: Mapping[str, Attr], kind: TensorType) -> Array:
        if entry.name == "const":
            value = attrs["value"]
            assert isinstance(value, (int, float))
            return np.array([bool(value)]) if isinstance(value, bool) else self.a.literal(float(value))
        if entry.name == "size":
            over = dims_of(attrs, xs[0].ndim - 1)
            return self.a.const(int(np.prod([xs[0].shape[1 + i] for i in over], dtype=np.int64)))
        drops = entry.name == "cast" and kind.dtype == "int8" and attrs.get("event")
        if entry.name in MOVES and not drops:
            return self._moved(entry.name, xs, attrs, kind)
        if entry.name == "einsum":
            return self._einsum(str(attrs["equation"]), [self.a.lift(x) for x in xs], kind)
        if entry.name in ("sum", "amax"):
            return self._reduced(entry.name, xs[0], attrs)
        if entry.value is None and entry.name not in BLOCK:
            raise NotBounded(f"no rule says how {entry.name} rounds")
        rank = max(x.ndim for x in xs)
        lined = [x.reshape(x.shape[0], *(1,) * (rank - x.ndim), *x.shape[1:]) for x in xs]
        if entry.value is None:
            return self.a.fn(entry.name, *lined)
        arena = _Arena(self.a)
        made = entry.value(arena, [arena.put(x) for x in lined], attrs)
        return arena.values[made]

    @staticmethod
    def _moved(name: str, xs: list[Array], attrs: Mapping[str, Attr], kind: TensorType) -> Array:
        leads = max((x.shape[0] for x in xs), default=1)
        parts = [[x[i] if i < x.shape[0] else np.zeros(x.shape[1:]) for x in xs] for i in range(leads)]
        return np.stack([np.asarray(MOVES[name](part, attrs, kind)) for part in parts])

    def _reduced(self, name: str, x: Array, attrs: Mapping[str, Attr]) -> Array:
        over, keep = dims_of(attrs, x.ndim - 1), bool(attrs.get("keepdim"))
        axes = tuple(1 + i for i in over)
        if name == "sum":
            out = self.a.total(x, axes)
        else:
            out = self.a.lift(x)
            for axis in sorted(axes, reverse=True):
                out = self.a.max(out, axis)
        return np.expand_dims(out, axes) if keep else out

    def _einsum(self, equation: str, xs: list[Array], kind: TensorType) -> Array:
        """Of two operands as a product; of more, in any order, with as many roundings as factors and terms."""
        short = self.inside or kind.dtype
        xs = [rounded(x, short) for x in xs]
        if len(xs) == 2:
            return contract(equation, xs[0], xs[1], DTYPES[short].bytes < DTYPES["fp32"].bytes)
        pairs = [split(x) for x in xs]
        with np.errstate(all="ignore"):
            value = einsum(equation, [v for v, _ in pairs])
            size = einsum(equation, [np.abs(v) for v, _ in pairs])
            largest = einsum(equation, [absolute(v, e) for v, e in pairs])
            ones = einsum(equation, [np.ones(v.shape) for v, _ in pairs])
            error = (largest - size) + (ones + len(xs)) * UNIT * largest
        return join(value, np.where(np.isfinite(value) & ~np.isnan(error), error, np.inf))


def written_bound(program: Program, inputs: Sequence[Array]) -> list[Array]:
    """Of each output (value, bound on the error) of each element. `inputs`: float64, flags or integers. Raises NotBounded."""
    return _Written(program).run(inputs)
