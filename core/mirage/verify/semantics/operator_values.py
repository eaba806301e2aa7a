"""Values of pointwise operators and contractions of tensor programs, by numpy: stated once more, apart from their terms."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from mirage.operators import block_operator_values
from mirage.operators.entry import Attrs
from mirage.verify.semantics.arrays import Array

Value = Callable[..., Array]


def _clamp(a: Attrs, x: Array) -> Array:
    x = x if a.get("min") is None else np.maximum(x, a["min"])
    return x if a.get("max") is None else np.minimum(x, a["max"])


def _gelu(a: Attrs, x: Array) -> Array:
    if a.get("approximate", "none") == "tanh":
        inner = np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x))
    else:
        inner = block_operator_values.erf(np.asarray(x * math.sqrt(0.5), np.float64))
    return np.asarray(0.5 * x * (1 + inner))


def _pow(a: Attrs, x: Array) -> Array:
    n = a["exponent"]
    if x.dtype.kind == "i" and int(n) == n and n >= 0:
        return np.asarray(x ** int(n))
    return np.asarray(np.power(x, float(n)))


def _softplus(a: Attrs, x: Array) -> Array:
    beta = float(a.get("beta", 1.0))
    return np.asarray(np.logaddexp(0.0, x * beta) / beta)


IN_DOUBLE = ("erf", "erfc", "gelu")  # are computed in float64 whatever they are asked for
_erfc = np.vectorize(math.erfc, otypes=[np.float64])  # numpy has none that keeps its digits where it is small


POINTWISE: dict[str, Value] = {
    "add": lambda a, x, y: x + y,
    "sub": lambda a, x, y: x - y,
    "mul": lambda a, x, y: x * y,
    "div": lambda a, x, y: x / y,
    "square": lambda a, x: x * x,
    "reciprocal": lambda a, x: 1.0 / x,
    "relu": lambda a, x: np.maximum(x, 0),
    "relu6": lambda a, x: np.minimum(np.maximum(x, 0), 6),
    "silu": lambda a, x: x / (1.0 + np.exp(-x)),
    "gelu": _gelu,
    "pow": _pow,
    "exponential": lambda a, x: np.power(float(a["base"]), x),
    "clamp": _clamp,
    "lerp": lambda a, x, y, w: x + w * (y - x),
    "addcmul": lambda a, x, y, z: x + y * z,
    "where": lambda a, c, x, y: np.where(c, x, y),
    "masked_fill": lambda a, x, m, v: np.where(m, v, x),
    "gt": lambda a, x, y: x > y,
    "ge": lambda a, x, y: x >= y,
    "ne": lambda a, x, y: x != y,
    "lt": lambda a, x, y: x < y,
    "le": lambda a, x, y: x <= y,
    "eq": lambda a, x, y: x == y,
    "logical_and": lambda a, x, y: (x != 0) & (y != 0),
    "logical_or": lambda a, x, y: (x != 0) | (y != 0),
    "logical_not": lambda a, x: x == 0,
    "softplus": _softplus,
    "floor_divide": lambda a, x: x // int(a["by"]),
    "remainder": lambda a, x: x % int(a["by"]),
    "leaky_relu": lambda a, x: np.where(x > 0, x, x * float(a.get("slope", 0.01))),
    "log2": lambda a, x: np.log2(x),
    "log10": lambda a, x: np.log10(x),
    "cosh": lambda a, x: np.cosh(x),
    "erfc": lambda a, x: np.asarray(_erfc(np.asarray(x, np.float64)), np.float64),
    "sinh": lambda a, x: np.sinh(x),
    "expm1": lambda a, x: np.expm1(x),
    "log1p": lambda a, x: np.log1p(x),
    "round": lambda a, x: np.rint(x),
    "logaddexp": lambda a, x, y: np.logaddexp(x, y),
    "finite": lambda a, x: np.where(np.isneginf(x), 0, x),
}

# Operators whose results are not rounded.
EXACT = {
    "neg", "abs", "relu", "relu6", "clamp", "where", "masked_fill", "maximum", "minimum", "floor", "round", "finite", "floor_divide",
    "remainder", "gt", "ge", "ne", "lt", "le", "eq", "logical_and", "logical_or", "logical_not",
}  # fmt: skip


def _spread(x: Array, part: str, letters: Sequence[str]) -> Array:
    """`x` with one array axis for each of `letters` (of length one where it lacks the letter); a letter that stands twice
    is a diagonal."""
    for c in dict.fromkeys(part):
        while part.count(c) > 1:
            i = part.index(c)
            j = part.index(c, i + 1)
            x = np.diagonal(x, axis1=i, axis2=j)
            part = part[:i] + part[i + 1 : j] + part[j + 1 :] + c
    moved = np.transpose(x, [part.index(c) for c in letters if c in part])
    lengths = iter(moved.shape)
    return np.asarray(moved.reshape([next(lengths) if c in part else 1 for c in letters]))


def einsum(equation: str, xs: Sequence[Array]) -> Array:
    """The contraction of an explicit equation, from left to right, two operands at a time by a matrix product."""
    left, _, result = equation.partition("->")
    parts, arrays = left.split(","), [x.astype(np.int64) if x.dtype == bool else x for x in xs]
    part, out = parts[0], arrays[0]
    for i, (other, x) in enumerate(zip(parts[1:], arrays[1:], strict=True), 2):
        wanted = set(result).union(*parts[i:])
        part, out = _product(part, out, other, x, wanted)
    letters = [*result, *sorted(set(part) - set(result))]
    out = _spread(out, part, letters)
    over = tuple(range(len(result), len(letters)))
    return np.asarray(out.sum(axis=over)) if over else out


def _product(one: str, x: Array, two: str, y: Array, wanted: set[str]) -> tuple[str, Array]:
    """Two operands as one: letters that are not `wanted` and stand in both are summed over."""
    both = [c for c in dict.fromkeys(one) if c in two]
    batch, inner = [c for c in both if c in wanted], [c for c in both if c not in wanted]
    rows = [c for c in dict.fromkeys(one) if c not in both]
    columns = [c for c in dict.fromkeys(two) if c not in both]
    x, y = _spread(x, one, [*batch, *rows, *inner]), _spread(y, two, [*batch, *inner, *columns])
    length = {c: n for letters, z in (([*batch, *rows, *inner], x), ([*batch, *inner, *columns], y))
              for c, n in zip(letters, z.shape, strict=True) if n != 1}  # fmt: skip

    def shape(letters: Sequence[str]) -> list[int]:
        return [length.get(c, 1) for c in letters]

    x = np.broadcast_to(x, shape([*batch, *rows, *inner]))
    y = np.broadcast_to(y, shape([*batch, *inner, *columns]))
    lead, k = shape(batch), math.prod(shape(inner))
    # a view with odd strides has no fast product
    left, right = (np.ascontiguousarray(v) for v in (x.reshape(*lead, -1, k), y.reshape(*lead, k, -1)))
    out = np.matmul(left, right)
    return "".join([*batch, *rows, *columns]), np.asarray(out.reshape(shape([*batch, *rows, *columns])))
