"""What PyTorch's own calls mean, for the comparison of two functions: a table from calls to operators of the operator table.

A kernel leaves these calls to PyTorch, and of a call nothing is known but that equal arguments give equal results. Two
functions are compared with the calls written out: `torch.roll` is a concatenation, `F.hardswish` a product of clamps. What a
function computes near zero that its definition loses is written out where the roundings of both are compared, and else a call.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from mirage.ir.dtypes import DTYPES
from mirage.ir.opaque_calls import RESULT, SIZES, TENSOR, is_call
from mirage.ir.program import Attr, Operation, Program
from mirage.operators.call_functions import FAR_FROM_ZERO, NEAR_ZERO
from mirage.operators.protocols import Maker
from mirage.operators.type_rules import dim, is_float
from mirage.program.builder import Builder
from mirage.program.integers import is_integer
from mirage.verify.semantics.call_pieces import Given, Meaning, block, cast_to, listed, number_of, piece
from mirage.verify.semantics.program_values import constant
from mirage.verify.semantics.window_meanings import WINDOW_MEANINGS

MOST = 1 << 20  # elements of a mask over pairs of places
MOST_WINDOWS = 64  # that are joined
MOST_PLACES = 1 << 12  # of a list of indices
FINEST = DTYPES["fp64"].roundoff  # nothing is known of the roundings that are made in it
NAMED = ("log2", "log10", "cosh")


def roll(m: Maker, xs: Mapping[str, int], a: Given) -> int | None:
    x, shape = xs["self"], m.type(xs["self"]).shape
    dims, shifts = listed(a.get("dims", ())), listed(a["shifts"])
    if not dims and len(shifts) == 1:  # of all elements in their order
        flat = m.op("reshape", x, shape=(-1,))
        return m.op("reshape", _rolled(m, flat, 0, shifts[0]), shape=shape)
    for i, by in zip(dims, shifts, strict=True):
        x = _rolled(m, x, dim(i, len(shape)), by)
    return x


def _rolled(m: Maker, x: int, at: int, by: int) -> int:
    n = m.type(x).shape[at]
    cut = by % n
    return x if not cut else m.op("concat", piece(m, x, at, n - cut, cut), piece(m, x, at, 0, n - cut), dim=at)


def pad(m: Maker, xs: Mapping[str, int], a: Given) -> int | None:
    """A constant at the ends of the last dims; a negative width cuts."""
    if a.get("mode", "constant") != "constant":
        return None
    x, widths, value = xs["self"], listed(a["pad"]), a.get("value")
    number = float(value) if isinstance(value, (int, float, str)) else 0.0
    for k in range(len(widths) // 2):
        at = len(m.type(x).shape) - 1 - k
        low, high = widths[2 * k : 2 * k + 2]
        n = m.type(x).shape[at]
        x = piece(m, x, at, max(0, -low), n - max(0, -low) - max(0, -high))
        before, after = ([block(m, x, at, w, number)] if w > 0 else [] for w in (low, high))
        parts = [*before, x, *after]
        x = m.op("concat", *parts, dim=at) if len(parts) > 1 else x
    return x


def flip(m: Maker, xs: Mapping[str, int], a: Given) -> int | None:
    x: int | None = xs["self"]
    for i in listed(a["dims"]):
        if x is not None:
            at = dim(i, len(m.type(x).shape))
            n = m.type(x).shape[at]
            x = _picked(m, x, at, lambda j, k, n=n: m.op("eq", m.op("add", j, k), m.const(n - 1)))  # type: ignore[misc]
    return x


def cumsum(m: Maker, xs: Mapping[str, int], a: Given) -> int | None:
    x = xs["self"]
    if "dtype" in a or not is_float(m.type(x).dtype):
        return None
    return _picked(m, x, dim(int(str(a["dim"])), len(m.type(x).shape)), lambda j, k: m.op("le", k, j))


def _picked(
    m: Maker, x: int, at: int, chosen: Callable[[int, int], int], op: str = "sum", otherwise: float = 0.0
) -> int | None:
    """At each place j of a dim the sum, or another reduction, over those of its places k that are chosen."""
    kind = m.type(x)
    n = kind.shape[at]
    if n * math.prod(kind.shape) > MOST or not is_float(kind.dtype):
        return None
    rest = (1,) * (len(kind.shape) - at - 1)
    j = m.op("reshape", m.op("iota", size=n), shape=(n, 1, *rest))
    k = m.op("reshape", m.op("iota", size=n), shape=(1, n, *rest))
    wide = m.op("reshape", x, shape=(*kind.shape[:at], 1, *kind.shape[at:]))
    nothing = cast_to(m, m.const(otherwise), kind.dtype)
    return m.op(op, m.op("where", chosen(j, k), wide, nothing), dim=(at + 1,), keepdim=False)


def cummax(m: Maker, xs: Mapping[str, int], a: Given) -> int | None:
    return _extremes(m, xs["self"], a, "amax", -math.inf)


def cummin(m: Maker, xs: Mapping[str, int], a: Given) -> int | None:
    return _extremes(m, xs["self"], a, "amin", math.inf)


def _extremes(m: Maker, x: int, a: Given, op: str, otherwise: float) -> int | None:
    at = dim(int(str(a["dim"])), len(m.type(x).shape))
    return _picked(m, x, at, lambda j, k: m.op("le", k, j), op, otherwise)


def diagonal(m: Maker, xs: Mapping[str, int], a: Given) -> int | None:
    """A matrix with a vector on its diagonal."""
    x, shape = xs["self"], m.type(xs["self"]).shape
    if len(shape) != 1 or a.get("diagonal", 0) != 0 or shape[0] ** 2 > MOST:
        return None
    return _on_the_diagonal(m, x, shape[0])


def trace(m: Maker, xs: Mapping[str, int], a: Given) -> int | None:
    x, (rows, columns) = xs["self"], m.type(xs["self"]).shape
    if rows * columns > MOST or not is_float(m.type(x).dtype):
        return None
    n = min(rows, columns)
    square = piece(m, piece(m, x, 0, 0, n), 1, 0, n)
    return m.op("sum", _on_the_diagonal(m, square, n), dim=(0, 1), keepdim=False)


def _on_the_diagonal(m: Maker, x: int, n: int) -> int:
    i, j = (m.op("reshape", m.op("iota", size=n), shape=shape) for shape in ((n, 1), (1, n)))
    return m.op("where", m.op("eq", i, j), x, cast_to(m, m.const(0.0), m.type(x).dtype))


def diff(m: Maker, xs: Mapping[str, int], a: Given) -> int | None:
    """The differences of neighbours in a dim."""
    if a.get("n", 1) != 1 or len(xs) != 1:
        return None
    x, shape = xs["self"], m.type(xs["self"]).shape
    at = dim(int(str(a.get("dim", -1))), len(shape))
    n = shape[at] - 1
    return m.op("sub", piece(m, x, at, 1, n), piece(m, x, at, 0, n)) if n > 0 and is_float(m.type(x).dtype) else None


def windows(m: Maker, xs: Mapping[str, int], a: Given) -> int | None:
    """Each window of a dim, in its place; what stands in it becomes the last dim. Of the last dim alone."""
    x, shape = xs["self"], m.type(xs["self"]).shape
    size, step = int(str(a["size"])), int(str(a["step"]))
    if dim(int(str(a["dimension"])), len(shape)) != len(shape) - 1 or size < 1:
        return None
    starts = range(0, shape[-1] - size + 1, step)
    if len(starts) > MOST_WINDOWS:
        return None
    at = len(shape) - 1
    parts = [m.op("reshape", piece(m, x, at, s, size), shape=(*shape[:-1], 1, size)) for s in starts]
    return m.op("concat", *parts, dim=at) if len(parts) > 1 else parts[0]


def clamp(m: Maker, xs: Mapping[str, int], a: Given) -> int | None:
    x = m.op("maximum", xs["self"], xs["min"]) if "min" in xs else xs["self"]
    return m.op("minimum", x, xs["max"]) if "max" in xs else x


def either(m: Maker, xs: Mapping[str, int], a: Given) -> int | None:
    """Exclusive or, of flags alone."""
    x, y = xs["self"], xs["other"]
    if {m.type(x).dtype, m.type(y).dtype} != {"bool"}:
        return None
    one, two = (m.op("where", z, m.const(1.0), m.const(0.0)) for z in (x, y))
    return m.op("ne", one, two)


def largest(m: Maker, xs: Mapping[str, int], a: Given) -> int | None:
    """The largest or the smallest of a dim."""
    x, at, count = xs["self"], _dim(m, xs, a, "dim", -1), int(str(a["k"]))
    down = bool(a.get("largest", True))
    if count == 1 and is_float(m.type(x).dtype):
        return m.op("amax" if down else "amin", x, dim=(at,), keepdim=True)
    made = _sorted(m, x, at, down) if a.get("sorted", True) else None
    return made if made is None else piece(m, made, at, 0, count)


def _counted(word: str) -> Meaning:
    """Whether any, or all, of some dims' elements are not zero: none of those that decide it is missing."""

    def build(m: Maker, xs: Mapping[str, int], a: Given) -> int | None:
        x, shape = xs["self"], m.type(xs["self"]).shape
        given = a.get("dim")
        over = tuple(dim(i, len(shape)) for i in listed(given)) if given is not None else tuple(range(len(shape)))
        if not shape or not over:
            return None
        held = m.op("ne" if word == "any" else "eq", x, m.const(False if m.type(x).dtype == "bool" else 0))
        found = m.op(
            "sum", m.op("where", held, m.const(1.0), m.const(0.0)), dim=over, keepdim=bool(a.get("keepdim", False))
        )
        return m.op("gt" if word == "any" else "eq", found, m.const(0.0))

    return build


def _dim(m: Maker, xs: Mapping[str, int], a: Given, name: str, otherwise: int) -> int:
    return dim(int(str(a.get(name, otherwise))), len(m.type(xs["self"]).shape))


def _sorted(m: Maker, x: int, at: int, down: bool) -> int | None:
    kind = m.type(x)
    if not is_float(kind.dtype) or not kind.shape or kind.shape[at] * math.prod(kind.shape) > MOST:
        return None
    return m.op("sort", x, dim=at, descending=down)


def sort(m: Maker, xs: Mapping[str, int], a: Given) -> int | None:
    return _sorted(m, xs["self"], _dim(m, xs, a, "dim", -1), bool(a.get("descending", False)))


def sorted_rows(m: Maker, xs: Mapping[str, int], a: Given) -> int | None:
    return _sorted(m, xs["self"], 0, False)


def kth(m: Maker, xs: Mapping[str, int], a: Given) -> int | None:
    """The k-th smallest of a dim."""
    at = _dim(m, xs, a, "dim", -1)
    made = _sorted(m, xs["self"], at, False)
    return made if made is None else _at_place(m, made, at, int(str(a["k"])) - 1, bool(a.get("keepdim", False)))


def median(m: Maker, xs: Mapping[str, int], a: Given) -> int | None:
    """The lower one of the two in the middle; NaN where there is one."""
    x = xs["self"] if "dim" in a else m.op("reshape", xs["self"], shape=(-1,))
    at, keep = dim(int(str(a.get("dim", 0))), len(m.type(x).shape)), bool(a.get("keepdim", False))
    made = _sorted(m, x, at, False)
    if made is None:
        return None
    top = m.op("amax", x, dim=(at,), keepdim=keep)
    middle = _at_place(m, made, at, (m.type(x).shape[at] - 1) // 2, keep)
    return m.op("where", m.op("eq", top, top), middle, top)


def _at_place(m: Maker, x: int, at: int, place: int, keep: bool) -> int:
    shape = m.type(x).shape
    piece = m.op("slice", x, dim=at, start=place, length=1)
    return piece if keep else m.op("reshape", piece, shape=(*shape[:at], *shape[at + 1 :]))


def taken(m: Maker, xs: Mapping[str, int], a: Given) -> int | None:
    """The places of one dim that a list of numbers names."""
    indices = a["indices"]
    named = [(i, p) for i, p in enumerate(indices) if p is not None] if isinstance(indices, tuple) else []
    return _listed_places(m, xs["self"], *named[0]) if len(named) == 1 else None


def selected(m: Maker, xs: Mapping[str, int], a: Given) -> int | None:
    return _listed_places(m, xs["self"], _dim(m, xs, a, "dim", -1), a.get("index"))


def _listed_places(m: Maker, x: int, at: int, places: Attr) -> int | None:
    """Whole pieces where the places are neighbours."""
    n = m.type(x).shape[at]
    if not isinstance(places, tuple) or not places or not all(isinstance(p, int) and -n <= p < n for p in places):
        return None
    runs: list[list[int]] = []
    for p in (int(str(p)) % n for p in places):
        if runs and p == sum(runs[-1]):
            runs[-1][1] += 1
        else:
            runs.append([p, 1])
    if len(runs) > MOST_WINDOWS:
        return None
    parts = [piece(m, x, at, start, length) for start, length in runs]
    return m.op("concat", *parts, dim=at) if len(parts) > 1 else parts[0]


def both_exponentials(m: Maker, xs: Mapping[str, int], a: Given) -> int | None:
    x, y = xs["self"], xs["other"]
    return m.op("logaddexp", x, y) if m.type(x).dtype == m.type(y).dtype else None


def _of_float(meaning: Callable[[Maker, int, Given], int]) -> Meaning:
    def build(m: Maker, xs: Mapping[str, int], a: Given) -> int | None:
        x = xs["self"]
        return cast_to(m, meaning(m, x, a), m.type(x).dtype) if is_float(m.type(x).dtype) else None

    return build


def _of_coarse(meaning: Callable[[Maker, int, Given], int]) -> Meaning:
    """Of a dtype whose roundings float64 shows."""

    def build(m: Maker, xs: Mapping[str, int], a: Given) -> int | None:
        kind = DTYPES[m.type(xs["self"]).dtype]
        return _of_float(meaning)(m, xs, a) if kind.floating and kind.roundoff > FINEST else None

    return build


def _trunc(m: Maker, x: int, a: Given) -> int:
    return m.op("where", m.op("lt", x, m.const(0.0)), m.op("ceil", x), m.op("floor", x))


def quotient(m: Maker, xs: Mapping[str, int], a: Given) -> int | None:
    """Rounded toward zero: of floats that are compared without their roundings (a half's quotient may be rounded to a whole number
    before), and of whole numbers by one above zero."""
    x, by = xs["self"], a.get("other")
    dtype = m.type(x).dtype
    if a.get("rounding_mode") != "trunc":
        return None
    if is_integer(dtype):
        if not isinstance(by, int) or not 0 < by <= np.iinfo(DTYPES[dtype].numpy).max:
            return None
        up = m.op("where", m.op("lt", x, m.const(0)), m.const(by - 1), m.const(0))
        return m.op("floor_divide", m.op("add", x, cast_to(m, up, dtype)), by=by)
    y = xs["other"] if "other" in xs else number_of(m, a, "other", 1.0)
    fine = is_float(dtype) and DTYPES[dtype].roundoff <= DTYPES["fp32"].roundoff
    if not fine or ("other" in xs and m.type(y).dtype != dtype):
        return None
    return cast_to(m, _trunc(m, m.op("div", x, y), a), dtype)


def _hardsigmoid(m: Maker, x: int, a: Given) -> int:
    return m.op("div", m.op("clamp", m.op("add", x, m.const(3.0)), min=0.0, max=6.0), m.const(6.0))


def _hardswish(m: Maker, x: int, a: Given) -> int:
    return m.op("div", m.op("mul", x, m.op("clamp", m.op("add", x, m.const(3.0)), min=0.0, max=6.0)), m.const(6.0))


def _threshold(m: Maker, x: int, a: Given) -> int:
    above = m.op("gt", x, number_of(m, a, "threshold", 0.0))
    return m.op("where", above, x, cast_to(m, number_of(m, a, "value", 0.0), m.type(x).dtype))


def _mish(m: Maker, x: int, a: Given) -> int:
    return m.op("mul", x, m.op("tanh", m.op("softplus", x)))


def _softshrink(m: Maker, x: int, a: Given) -> int:
    """Nearer to zero by lambd, beyond that; NaN of NaN."""
    by = number_of(m, a, "lambd", 0.5)
    near = m.op("mul", x, m.const(0.0))
    below = m.op("where", m.op("lt", x, m.op("neg", by)), m.op("add", x, by), near)
    return m.op("where", m.op("gt", x, by), m.op("sub", x, by), below)


def _hardshrink(m: Maker, x: int, a: Given) -> int:
    by = number_of(m, a, "lambd", 0.5)
    near = m.op("logical_and", m.op("ge", x, m.op("neg", by)), m.op("le", x, by))
    return m.op("where", near, cast_to(m, m.const(0.0), m.type(x).dtype), x)


def prelu(m: Maker, xs: Mapping[str, int], a: Given) -> int | None:
    """x, times its channel's slope below zero."""
    x, slope = xs["self"], xs["weight"]
    shape, slopes = m.type(x).shape, m.type(slope).numel
    if not is_float(m.type(x).dtype):
        return None
    wide = (1,) * len(shape) if slopes == 1 else (slopes,) + (1,) * (len(shape) - 2)
    below = m.op("mul", m.op("reshape", slope, shape=wide), x)
    return m.op("where", m.op("gt", x, m.const(0.0)), x, below)


def _whole(m: Maker, x: int, a: Given) -> int | None:
    """The number of an operator of an integer and a number."""
    number = a.get("other")
    whole = is_integer(m.type(x).dtype) and type(number) is int
    return int(str(number)) if whole else None


def bits(m: Maker, xs: Mapping[str, int], a: Given) -> int | None:
    """The lowest bits of an integer, which are what a power of two leaves of it."""
    x, mask = xs["self"], _whole(m, xs["self"], a)
    if mask is None or mask < 1 or mask & (mask + 1) or mask >= np.iinfo(DTYPES[m.type(x).dtype].numpy).max:
        return None
    return m.op("remainder", x, by=mask + 1)


def _shift(m: Maker, x: int, a: Given) -> int | None:
    """By how many bits, fewer than there are."""
    by = _whole(m, x, a)
    return by if by is not None and 0 <= by < np.iinfo(DTYPES[m.type(x).dtype].numpy).bits - 1 else None


def shifted_right(m: Maker, xs: Mapping[str, int], a: Given) -> int | None:
    """The quotient by a power of two, rounded down."""
    by = _shift(m, xs["self"], a)
    return None if by is None else m.op("floor_divide", xs["self"], by=1 << by) if by else xs["self"]


def shifted_left(m: Maker, xs: Mapping[str, int], a: Given) -> int | None:
    """The product with a power of two, which wraps around as it does."""
    by = _shift(m, xs["self"], a)
    return None if by is None else m.op("mul", xs["self"], m.const(1 << by))


def inverted(m: Maker, xs: Mapping[str, int], a: Given) -> int | None:
    """All bits of an integer: -1 - x."""
    x = xs["self"]
    return m.op("sub", m.const(-1), x) if is_integer(m.type(x).dtype) else None


def _elu(m: Maker, x: int, a: Given) -> int:
    """Below zero alpha expm1(x input_scale), above it x; times scale."""
    inner = m.op("minimum", m.op("mul", x, number_of(m, a, "input_scale", 1.0)), m.const(0.0))
    below = m.op("mul", m.op("expm1", inner), number_of(m, a, "alpha", 1.0))
    chosen = m.op("where", m.op("gt", x, m.const(0.0)), x, below)
    return m.op("mul", chosen, number_of(m, a, "scale", 1.0))


def _selu(m: Maker, x: int, a: Given) -> int:
    """The unit of Klambauer et al. (2017), with its two numbers as PyTorch has them."""
    return _elu(m, x, {"alpha": 1.6732632423543772848170429916717, "scale": 1.0507009873554804934193349852946})


def _celu(m: Maker, x: int, a: Given) -> int:
    alpha = number_of(m, a, "alpha", 1.0)
    below = m.op("mul", m.op("expm1", m.op("minimum", m.op("div", x, alpha), m.const(0.0))), alpha)
    return m.op("where", m.op("gt", x, m.const(0.0)), x, below)


def _named(name: str) -> Callable[[Maker, int, Given], int]:
    """The operator of the same name."""
    return lambda m, x, a: m.op(name, x)


MEANINGS: dict[str, Meaning] = {
    "aten.roll.default": roll,
    "aten.pad.default": pad,
    "aten.constant_pad_nd.default": pad,
    "aten.flip.default": flip,
    "aten.cumsum.default": cumsum,
    "aten.trunc.default": _of_float(_trunc),
    "aten.div.Tensor_mode": quotient,
    "aten.cummax.default": cummax,
    "aten.cummin.default": cummin,
    "aten.diag.default": diagonal,
    "aten.trace.default": trace,
    "aten.diff.default": diff,
    "aten.unfold_copy.default": windows,
    "aten.clamp.Tensor": clamp,
    "aten.__xor__.Tensor": either,
    "aten.topk.default": largest,
    "aten.any.default": _counted("any"),
    "aten.any.dim": _counted("any"),
    "aten.any.dims": _counted("any"),
    "aten.all.default": _counted("all"),
    "aten.all.dim": _counted("all"),
    "aten.all.dims": _counted("all"),
    "aten.sort.default": sort,
    "aten.msort.default": sorted_rows,
    "aten.kthvalue.default": kth,
    "aten.median.dim": median,
    "aten.median.default": median,
    "aten.index.Tensor": taken,
    "aten.index_select.default": selected,
    "aten.logaddexp.default": both_exponentials,
    **{f"aten.{name}.default": _of_float(_named(name)) for name in NAMED},
    "aten.hardsigmoid.default": _of_float(_hardsigmoid),
    "aten.hardswish.default": _of_float(_hardswish),
    "aten.threshold.default": _of_float(_threshold),
    "aten.mish.default": _of_float(_mish),
    "aten.softshrink.default": _of_float(_softshrink),
    "aten.hardshrink.default": _of_float(_hardshrink),
    "aten.prelu.default": prelu,
    **{f"aten.{name}": bits for name in ("__and__.Scalar", "bitwise_and.Scalar")},
    **{f"aten.{name}": shifted_right for name in ("__rshift__.Scalar", "bitwise_right_shift.Tensor_Scalar")},
    **{f"aten.{name}": shifted_left for name in ("__lshift__.Scalar", "bitwise_left_shift.Tensor_Scalar")},
    "aten.bitwise_not.default": inverted,
    **WINDOW_MEANINGS,
}
# Of these the algebra alone would say that they equal what has none of their digits near zero.
ROUNDED_MEANINGS: dict[str, Meaning] = {
    **{f"aten.{name}.default": _of_coarse(_named(name)) for name in (*NEAR_ZERO, *FAR_FROM_ZERO)},
    "aten.special_erfc.default": _of_coarse(_named("erfc")),
    "aten.elu.default": _of_coarse(_elu),
    "aten.selu.default": _of_coarse(_selu),
    "aten.celu.default": _of_coarse(_celu),
}


def written_out(p: Program, roundings: bool = False) -> Program:
    """The program with the calls of the table written out, with `roundings` those too that need the roundings of both programs
    compared; the others stay."""
    table = {**MEANINGS, **ROUNDED_MEANINGS} if roundings else MEANINGS
    if not any(n.op in table for n in p.nodes):
        return p
    b = Builder(p.name)
    for i in p.inputs:
        b.input(i.name, i.type.shape, i.type.dtype, i.names)
    place = list(range(len(p.inputs)))
    for node in p.nodes:
        b.line = node.line
        args = [place[x] for x in node.args]
        place.append(_meant(b, p, node, args, table[node.op]) if node.op in table else _same(b, node, args))
    for x in p.outputs:
        b.output(place[x])
    made = b.program(returns_tuple=p.returns_tuple)
    return replace(p, nodes=made.nodes, outputs=made.outputs)


def _same(b: Builder, node: Operation, args: Sequence[int]) -> int:
    if is_call(node.op):
        return b.call(node.op, *args, type=node.type, attrs=dict(node.attrs))
    return b.op(node.op, *args, **dict(node.attrs))


def _meant(b: Builder, p: Program, node: Operation, args: Sequence[int], meaning: Meaning) -> int:
    attrs = {k: v for k, v in node.attrs if k not in (RESULT, SIZES)}
    places = {k: TENSOR.match(v) for k, v in attrs.items() if isinstance(v, str)}
    tensors = {k: args[int(found[1])] for k, found in places.items() if found is not None}
    given = {k: _known(p, node, v) for k, v in attrs.items()}
    made = meaning(b, tensors, {k: v for k, v in given.items() if k not in tensors or isinstance(v, tuple)})
    if made is None or b.type(made) != node.type:
        return _same(b, node, args)
    return made


def _known(p: Program, node: Operation, value: Attr) -> Attr:
    """An attribute with the numbers of each tensor in it that is a list of whole numbers whatever the inputs are."""
    if isinstance(value, tuple):
        return tuple(_known(p, node, v) for v in value)
    found = TENSOR.match(value) if isinstance(value, str) else None
    if found is None:
        return value
    x = node.args[int(found[1])]
    kind = p.type_of(x)
    whole = kind.dtype != "bool" and not is_float(kind.dtype) and len(kind.shape) == 1 and kind.numel <= MOST_PLACES
    numbers = constant(p, x) if whole else None
    return value if numbers is None else tuple(int(n) for n in numbers)
