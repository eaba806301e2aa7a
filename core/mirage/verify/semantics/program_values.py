"""A tensor program evaluated by numpy, operator by operator, at any precision: values without terms, axes or PyTorch.

Nothing is taken from the terms that the other opinions compare, so what a lowering loses shows here. Contractions are
matrix products, so that programs run at their real sizes.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from mirage.ir.dtypes import DTYPES
from mirage.ir.opaque_calls import is_call
from mirage.ir.program import Attr, Operation, Program, freeze
from mirage.ir.tensor_spec import TensorType
from mirage.operators.block_operators import BLOCK
from mirage.operators.entry import Attrs, Expand, OperandsError
from mirage.operators.table import OPERATORS
from mirage.operators.type_rules import dims_of
from mirage.verify.semantics.arrays import Array
from mirage.verify.semantics.operator_values import EXACT, IN_DOUBLE, POINTWISE, einsum

UNIT = 2.0**-38  # of a disturbed result, far above the roundoff of float64
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
SELECTING = ("where", "masked_fill")  # their flags stay flags
GRID, INTEGERS = 2.0**24, 2.0**53  # sums of multiples of 1 / GRID are exact below INTEGERS / GRID
EXTENDED = bool(np.finfo(np.longdouble).nmant > np.finfo(np.float64).nmant)


STEP = 4000  # elements that an operator could compute in the time that it takes whatever its size
PRODUCTS = 16  # of a contraction, in the time of one element
DRAWN = 4  # for each element of an input, which is drawn and rounded for the run
LONG = 4  # times the work of float64, of which a processor computes several at once


class _Work(threading.local):
    """What the programs that ran in this thread cost so far: about so many elements of a pointwise operator."""

    done: float = 0.0


_work = _Work()


def work_done() -> float:
    """A clock of this thread that counts what was computed, in place of seconds: what ends by it ends at the same place on every
    machine, however busy."""
    return _work.done


class NoValue(Exception):
    """An operator that has no value here."""


@dataclass(frozen=True)
class ResultPrecision:
    """How floating-point results are kept: in `dtype`; with a `disturbance` each result that is rounded is also off by
    UNIT at random, which shows how a result depends on its roundings; `rounded` rounds each operator's result to the
    program's own dtype, and with `inside` what a composite operator computes on the way to it too, which PyTorch keeps in
    float32 at least; with `ranged` sums are infinite whose terms together are beyond the dtype, in whatever order; `compared` rounds
    numbers to the dtype of what they are compared with, which PyTorch does: float32 has no 0.7."""

    dtype: type[np.floating] = np.float64
    disturbance: int | None = None
    rounded: Callable[[Array, str], Array] | None = None
    inside: bool = False
    ranged: bool = False
    compared: Callable[[Array, str], Array] | None = None


@dataclass
class Events:
    """What IEEE arithmetic flagged while a program ran."""

    seen: set[str] = field(default_factory=set)

    def __call__(self, kind: str, flag: int) -> None:
        self.seen.add(kind.split()[0])


@dataclass
class Outcomes:
    """Which outcomes each comparison of values had in all runs of some programs: a comparison is named by its program and
    its place in it. A choice between two numbers, as a maximum is, is the comparison of them."""

    seen: dict[tuple[int, int], set[bool]] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Has each had both?"""
        return all(len(x) == 2 for x in self.seen.values())

    def note(self, where: tuple[int, int], flags: Array) -> None:
        seen = self.seen.setdefault(where, set())
        if len(seen) < 2:
            seen.update(k for k, found in ((True, flags.any()), (False, not flags.all())) if found)


def beyond(node: Operation) -> bool:
    """A number of the text that the dtype which it is given has no place for: 1e200 beside float64 is traced as a float32,
    and PyTorch computes with it as it is written."""
    if node.op != "const":
        return False
    dtype, value = DTYPES[node.type.dtype], dict(node.attrs)["value"]
    return isinstance(value, float) and value != 0 and not dtype.subnormal <= abs(value) <= dtype.largest


class Evaluation:
    """One run. It takes the place of the maker that expansions of composite operators write to."""

    def __init__(self, program: Program, how: ResultPrecision, outcomes: Outcomes | None = None) -> None:
        self.program, self.how, self.outcomes = program, how, outcomes
        self.varies: set[int] = set()  # what depends on the inputs
        self.values: dict[int, Array] = {}
        self.types: dict[int, TensorType] = {}
        self._rng = np.random.default_rng(how.disturbance or 0)
        self._next = 0
        self._depth = 0  # of expansions under way

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """The outputs, as bool, int64 or the precision's dtype."""
        _work.done += DRAWN * sum(i.type.numel for i in self.program.inputs)
        for x, i in zip(inputs, self.program.inputs, strict=True):
            self.varies.add(self._keep(self._stored(np.asarray(x), i.type), i.type))
        place = list(range(len(inputs)))
        last = self._last_uses()
        for at, node in enumerate(self.program.nodes, len(inputs)):
            before = self._next
            made = self._node(node, [place[a] for a in node.args])
            place.append(made)
            for x in {*range(before, made), *(place[a] for a in last.get(at, ()))}:
                del self.values[x]
        return [np.broadcast_to(self.values[place[o]], self.program.type_of(o).shape) for o in self.program.outputs]

    # ---- what expansions ask of a maker
    def type(self, x: int) -> TensorType:
        return self.types[x]

    def const(self, value: float | int | bool) -> int:
        return self.op("const", value=value)

    def op(self, op: str, *args: int, **attrs: object) -> int:
        given = {k: freeze(v) for k, v in attrs.items()}
        entry = OPERATORS[op]
        if entry.expand is not None and op not in MOVES:
            return self._expanded(entry.expand, args, given)
        inferred = entry.infer([self.types[a] for a in args], given)
        xs = self._compared(args) if op in COMPARISONS and self.how.compared else [self.values[a] for a in args]
        value = self._value(op, xs, given, inferred)
        _work.done += self._cost(op, xs, given, value)
        if self._depth and self.how.inside and self.how.rounded is not None and DTYPES[inferred.dtype].floating:
            value = self.how.rounded(np.asarray(value, self.how.dtype), accumulating(inferred.dtype))
        made = self._keep(self._stored(value, inferred), inferred)
        if self.varies.intersection(args):
            self.varies.add(made)
            if self.outcomes is not None and op in CHOOSING:
                self.outcomes.note((id(self.program), made), CHOOSING[op](xs, self.values[made]))
        return made

    # ---- inside
    def _compared(self, args: Sequence[int]) -> list[Array]:
        """The values, a number among them as the dtype of the other has it."""
        xs = [self.values[a] for a in args]
        for i, a in enumerate(args):
            other = self.types[args[1 - i]]
            number = not self.types[a].shape and a not in self.varies and xs[i].dtype.kind == "f"
            if number and self.how.compared is not None and DTYPES[other.dtype].floating:
                xs[i] = self.how.compared(np.asarray(xs[i], self.how.dtype), other.dtype)
        return xs

    def _cost(self, op: str, xs: Sequence[Array], attrs: Attrs, value: Array) -> float:
        elements = float(max([value.size, *(x.size for x in xs)])) if op not in VIEWS else 0.0
        if op == "einsum":
            left, _, result = str(attrs["equation"]).partition("->")
            inner = {c: n for part, x in zip(left.split(","), xs) for c, n in zip(part, x.shape) if c not in result}
            elements += value.size * math.prod(inner.values()) / PRODUCTS
        return (STEP + elements) * (LONG if self.how.dtype is np.longdouble else 1)

    def _expanded(self, expand: Expand, args: Sequence[int], attrs: Attrs) -> int:
        self._depth += 1
        try:
            return expand(self, args, attrs)
        finally:
            self._depth -= 1

    def _last_uses(self) -> dict[int, list[int]]:
        """For each node the arguments that nothing after it reads."""
        n = len(self.program.inputs)
        last = {a: n + i for i, node in enumerate(self.program.nodes) for a in node.args}
        out: dict[int, list[int]] = {}
        for a, at in last.items():
            if a not in self.program.outputs:
                out.setdefault(at, []).append(a)
        return out

    def _keep(self, value: Array, kind: TensorType) -> int:
        self.values[self._next], self.types[self._next] = value, kind
        self._next += 1
        return self._next - 1

    def _node(self, node: Operation, args: Sequence[int]) -> int:
        if is_call(node.op):
            raise NoValue(node.op)
        try:
            made = self.op(node.op, *args, **dict(node.attrs))
        except OperandsError as error:
            raise NoValue(node.op) from error
        value, rounded = self.values[made], self.how.rounded
        if rounded is not None and DTYPES[node.type.dtype].floating and not beyond(node):
            value = rounded(np.asarray(value, self.how.dtype), node.type.dtype)
        kept = self._keep(self._stored(value, node.type), node.type)
        self.varies |= {kept} if made in self.varies else set()
        return kept

    def _stored(self, value: Array, kind: TensorType) -> Array:
        """In the array type of its dtype; integers wrap as PyTorch's do."""
        d = DTYPES[kind.dtype]
        if d.floating:
            return np.asarray(value, self.how.dtype)
        if kind.dtype == "bool":
            return np.asarray(value != 0) if value.dtype != bool else value
        return np.asarray(value).astype(d.numpy).astype(np.int64)

    def _value(self, op: str, xs: list[Array], attrs: Mapping[str, Attr], kind: TensorType) -> Array:
        if op in MOVES:
            return MOVES[op](xs, attrs, kind)
        if op == "size":
            over = dims_of(attrs, xs[0].ndim)
            return np.asarray(float(np.prod([xs[0].shape[i] for i in over])))
        if op == "einsum":
            return self._einsum(str(attrs["equation"]), xs, kind)
        if op == "sum":
            return self._sum(xs[0], attrs, kind)
        if op == "amax":
            return np.asarray(xs[0].max(axis=dims_of(attrs, xs[0].ndim), keepdims=bool(attrs.get("keepdim"))))
        return self._pointwise(op, xs, attrs, kind)

    def _pointwise(self, op: str, xs: list[Array], attrs: Attrs, kind: TensorType) -> Array:
        function = POINTWISE.get(op)
        block = BLOCK.get(op)
        if function is None and block is not None and block.float64 is not None and block.form == "pointwise":
            function = partial(_without_attributes, block.float64)
        if function is None:
            raise NoValue(op)
        if op not in SELECTING:
            floating = DTYPES[kind.dtype].floating
            xs = [x.astype(self.how.dtype if floating else np.int64) if floating or x.dtype == bool else x for x in xs]
        out = np.asarray(function(attrs, *xs))
        if op in EXACT or self.how.disturbance is None or out.dtype.kind != "f":
            return out
        if op in ("add", "sub"):
            y = xs[1] if op == "add" else -xs[1]
            return self._disturbed(out, out, (out - xs[0] == y) & (out - y == xs[0]))
        again = np.asarray(function(attrs, *(x.astype(np.longdouble) if x.dtype.kind == "f" else x for x in xs)))
        finer = EXTENDED and op not in IN_DOUBLE  # whose value once more would be the same, and show nothing
        return self._disturbed(out, out, (again == out.astype(np.longdouble)) & finer)

    def _sum(self, x: Array, attrs: Attrs, kind: TensorType) -> Array:
        over, keep = dims_of(attrs, x.ndim), bool(attrs.get("keepdim"))
        x = x.astype(np.int64) if x.dtype == bool else x
        out = np.asarray(x.sum(axis=over, keepdims=keep))
        if not self._inspected(out):
            return out
        total = np.abs(x).sum(axis=over, keepdims=keep)
        if self.how.ranged:
            return np.where(total > DTYPES[accumulating(kind.dtype)].largest, np.inf, out)
        return self._disturbed(out, total, total * GRID < INTEGERS if _on_grid(x, GRID) else None)

    def _inspected(self, out: Array) -> bool:
        """Does it matter how large the terms of a sum are?"""
        return out.dtype.kind == "f" and (self.how.ranged or self.how.disturbance is not None)

    def _einsum(self, equation: str, xs: list[Array], kind: TensorType) -> Array:
        out = einsum(equation, xs)
        if not self._inspected(out):
            return out
        total = einsum(equation, [np.abs(x) for x in xs])
        if self.how.ranged:
            return np.where(total > DTYPES[accumulating(kind.dtype)].largest, np.inf, out)
        step = 2.0 ** (24 // len(xs))
        return self._disturbed(out, total, total * GRID < INTEGERS if all(_on_grid(x, step) for x in xs) else None)

    def _disturbed(self, out: Array, size: Array, exact: Array | None) -> Array:
        """Off by UNIT of `size` where the result is not exact."""
        signs = np.resize(self._rng.choice((-UNIT, UNIT), min(out.size, 1 << 16)), out.size).reshape(out.shape)
        moved = np.where(np.isfinite(size), out + signs * size, out)
        return moved if exact is None else np.where(exact, out, moved)


def accumulating(dtype: str) -> str:
    """The dtype in which PyTorch adds up, and keeps what one of its operators computes on the way, for results in `dtype`."""
    return dtype if dtype == "fp64" else "fp32"


def _on_grid(x: Array, steps: float) -> bool:
    """Are these multiples of 1 / steps, so that their sums are exact while they are small?"""
    scaled = x * steps
    return bool((scaled == np.rint(scaled)).all())


def _without_attributes(value: Callable[..., Array], attrs: Attrs, *xs: Array) -> Array:
    return np.asarray(value(*xs))


Move = Callable[[list[Array], Attrs, TensorType], Array]


def _const(xs: list[Array], attrs: Attrs, kind: TensorType) -> Array:
    return np.asarray(attrs["value"])


def _slice(xs: list[Array], attrs: Attrs, kind: TensorType) -> Array:
    where = [slice(None)] * xs[0].ndim
    where[attrs["dim"]] = slice(attrs["start"], attrs["start"] + attrs["length"])
    return np.asarray(xs[0][tuple(where)])


def _sort(xs: list[Array], attrs: Attrs, kind: TensorType) -> Array:
    """In PyTorch's order, in which NaN is the largest."""
    out = np.sort(xs[0], axis=attrs["dim"])
    return np.flip(out, axis=attrs["dim"]) if attrs["descending"] else out


def _cast(xs: list[Array], attrs: Attrs, kind: TensorType) -> Array:
    """The same number; of floats made eight-bit integers what these hold of it."""
    if kind.dtype != "int8" or xs[0].dtype.kind != "f":
        return xs[0]
    whole = np.trunc(xs[0])
    return np.asarray(whole - 256 * np.floor((whole + 128) / 256))


MOVES: dict[str, Move] = {
    "sort": _sort,
    "const": _const,
    "iota": lambda xs, a, kind: np.arange(a["size"]),
    "reshape": lambda xs, a, kind: xs[0].reshape(kind.shape),
    "permute": lambda xs, a, kind: np.transpose(xs[0], a["dims"]),
    "expand": lambda xs, a, kind: np.broadcast_to(xs[0], kind.shape),
    "slice": _slice,
    "concat": lambda xs, a, kind: np.concatenate(xs, axis=a["dim"]),
    "identity": lambda xs, a, kind: xs[0],
    "cast": _cast,
}

VIEWS = {"const", "reshape", "permute", "expand", "slice", "identity", "cast"}  # which copy nothing

# What each operator that compares numbers chooses, as flags.
CHOOSING: dict[str, Callable[[list[Array], Array], Array]] = {
    **dict.fromkeys(COMPARISONS, lambda xs, out: out),
    **dict.fromkeys(("maximum", "minimum", "clamp", "relu", "relu6"), lambda xs, out: np.asarray(out == xs[0])),
    **dict.fromkeys(("abs", "leaky_relu"), lambda xs, out: np.asarray(xs[0] < 0)),
}


def constant(program: Program, x: int) -> Array | None:
    """The value of a node that depends on no input; None if it does, or has no value here."""
    first = len(program.inputs)
    needed, todo = set[int](), [x]
    while todo:
        y = todo.pop()
        if y < first:
            return None
        if y not in needed:
            needed.add(y)
            todo += program.nodes[y - first].args
    order = sorted(needed)
    place = {y: i for i, y in enumerate(order)}
    nodes = (program.nodes[y - first] for y in order)
    alone = tuple(replace(n, args=tuple(place[a] for a in n.args)) for n in nodes)
    try:
        (value,) = Evaluation(replace(program, inputs=(), nodes=alone, outputs=(place[x],)), ResultPrecision()).run(())
    except NoValue:
        return None
    return value


def run(
    program: Program, inputs: Sequence[Array], how: ResultPrecision | None = None, outcomes: Outcomes | None = None
) -> tuple[list[Array], set[str]]:
    """The outputs, and what IEEE arithmetic flagged: "overflow", "underflow", "divide", "invalid". Raises NoValue."""
    events = Events()
    with np.errstate(all="call", call=events):
        outputs = Evaluation(program, how or ResultPrecision(), outcomes).run(inputs)
    return outputs, events.seen
