"""The test whether the arguments of a program's exponentials are independent and uniform, for the better error bound.

The bound is far better than the general theorem's: with y = omega^score independent and uniform, a wrong program is a nonzero
Laurent polynomial in the y.

An argument A qualifies when it is affine in an input Y that no other argument and no root reads, and the matrix of its
coefficients has full row rank: given the other inputs, A is then uniform. The rank is computed at a random point.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from mirage.ir.index import DimIndex
from mirage.meaning.nodes import Add, Input, Mul
from mirage.meaning.terms import Terms
from mirage.operators.block_operators import BLOCK, field_methods
from mirage.verify.field.arithmetic import Field, pack, second
from mirage.verify.field.sampling import input_node, is_root
from mirage.verify.semantics.arrays import Array
from mirage.verify.semantics.evaluate_terms import TermEvaluator

MOST_COLUMNS = 512
MOST_ROWS = 64


def strip_shift(t: Terms, x: int) -> int:
    """An argument without the maxima that are subtracted from it: they count as free values."""
    n = t.node(x)
    parts = n.parts if isinstance(n, Add) else (x,)
    return t.add(*[y for y in parts if not _is_shift(t, y)])


def _is_shift(t: Terms, x: int) -> bool:
    y = t.neg(x)
    if t.applies(y, "finite"):
        (y,) = t.kids(y)
    return t.is_maximum(y)


def arguments(t: Terms, roots: list[int], opaque: bool = True) -> list[int]:
    """The distinct arguments of the exponentials below `roots`; of sigmoids too where these are not `opaque`."""
    return sorted({strip_shift(t, k) for x in _exponentials(t, roots, opaque) for k in t.kids(x)})


def _exponentials(t: Terms, roots: list[int], opaque: bool) -> list[int]:
    every = {x for r in roots for x in t.walk(r)}
    return [x for x in every if _exponent_degree(t, x, opaque) is not None]


def _exponent_degree(t: Terms, x: int, opaque: bool) -> int | None:
    """Of an exponential, and of a function that is made of some: the degree of the exponents in its arguments."""
    entry = BLOCK.get(t.operator(x))
    if entry is None or entry.form != "pointwise":
        return None
    made = field_methods(entry)
    found = [made[m] for m in ("exp",) + (() if opaque else ("sigmoid",)) if m in made]
    return max(found, default=None)


def linear_inputs(t: Terms, x: int) -> list[int]:
    """The inputs in which `x` is affine: on every path to them only sums and products, met once in a product."""
    reads = {y: n.name for y in t.walk(x) if isinstance(n := t.node(y), Input)}
    times = Counter(reads.values())

    def degree(y: int, node: int, memo: dict[int, int]) -> int:
        if y not in memo:
            if y == node:
                memo[y] = 1
            else:
                ds = [degree(k, node, memo) for k in t.kids(y)]
                n = t.node(y)
                if not any(ds):
                    memo[y] = 0
                elif isinstance(n, Mul):
                    memo[y] = sum(ds)
                else:
                    memo[y] = max(ds) if isinstance(n, Add) or t.is_sum(y) else 2
        return memo[y]

    once = [y for y, name in sorted(reads.items()) if times[name] == 1 and name not in t.bool_inputs]
    return [y for y in once if degree(x, y, {}) == 1]


def independent(
    t: Terms, roots: list[int], inputs: Mapping[str, Array], sizes: Mapping[str, int], seed: int, opaque: bool = True
) -> int | None:
    """How many scores there are, if all exponentials' arguments are independent and uniform; None if that is not
    known. The input that makes them so is real, and under no root: what is redrawn is not uniform."""
    if any((_exponent_degree(t, x, opaque) or 0) > 1 for x in _exponentials(t, roots, opaque)):
        return None  # an exponent that is not affine in what stands under the function
    args = arguments(t, roots, opaque)
    rooted = {n for r in roots for x in t.walk(r) if is_root(t, x) for n in t.inputs(x)}
    total = 0
    for x in args:
        others = rooted.union(*(t.inputs(y) for y in args if y != x))
        found = [(y, input_node(t, y)) for y in linear_inputs(t, x)]
        free = [y for y, n in found if n.name not in others and inputs[n.name].dtype == np.uint64]
        if not any(_full_rank(t, x, y, inputs, sizes, seed) for y in free):
            return None
        total += int(np.prod([sizes[d] for d in t.dims(x)], dtype=np.int64))
    return total if args else None


def widened(t: Terms, roots: list[int], sizes: dict[str, int], fixed: frozenset[str]) -> dict[str, int]:
    """Sizes at which the scores can be independent: the contracted axis at least as long as there are rows that share
    a slice. Odd and distinct, so that every tile keeps its tail; `fixed` axes stay."""
    sizes = dict(sizes)
    for x in arguments(t, roots):
        for y in linear_inputs(t, x):
            inner = sorted(t.dims(y) - t.dims(x))
            rows = int(np.prod([sizes[d] for d in t.dims(x) - t.dims(y)], dtype=np.int64))
            if len(inner) == 1 and inner[0] not in fixed and sizes[inner[0]] < rows <= MOST_ROWS:
                n = rows | 1
                while n in sizes.values():
                    n += 2
                sizes[inner[0]] = n
    return sizes


def _full_rank(
    t: Terms, x: int, y: int, inputs: Mapping[str, Array], sizes: Mapping[str, int], seed: int
) -> int | None:
    """The rows of the coefficient matrix of `x` in the input term `y`, if it has full row rank for each common index."""
    name, index = input_node(t, y).name, input_node(t, y).index
    dims = tuple(sorted(t.dims(x)))
    shared = [d for d in dims if d in t.dims(y)]
    inner = sorted(t.dims(y) - t.dims(x))
    axes_of = [a for d in index for a in d.axes]
    if len(set(axes_of)) != len(axes_of):
        return None  # a diagonal: slices would overlap
    columns = int(np.prod([sizes[a] for a in inner], dtype=np.int64))
    rows = int(np.prod([sizes[d] for d in dims if d not in shared], dtype=np.int64))
    if rows > columns or columns > MOST_COLUMNS:
        return None
    field = Field(seed, columns + 1)
    values = {n: v[:1] for n, v in inputs.items()}  # drawn in this field, at a point where the roots exist
    unit = _unit_inputs(index, inner, inputs[name].shape[1:], sizes)
    e = TermEvaluator(t, {**values, name: unit}, field, sizes)
    value = second(field.lift(e.full(x, dims)))
    matrix = (value[:-1] + np.uint64(field.q) - value[-1:]) % np.uint64(field.q)
    order = [1 + dims.index(d) for d in shared] + [1 + i for i, d in enumerate(dims) if d not in shared]
    matrix = np.transpose(matrix, [*order, 0]).reshape(-1, rows, columns)
    return rows if all(rank(m, field.q) == rows for m in matrix) else None


def _unit_inputs(
    index: Sequence[DimIndex], inner: Sequence[str], shape: tuple[int, ...], sizes: Mapping[str, int]
) -> Array:
    """An input of that shape with one draw for each index along `inner` and one more: it is 1 where its inner index is that of
    the draw, 0 elsewhere; in the last draw it is 0 everywhere."""
    columns = int(np.prod([sizes[a] for a in inner], dtype=np.int64))
    unit: Array = np.zeros((columns + 1, *shape), np.uint64)
    at = np.indices(shape)
    flat: Array = np.zeros(shape, np.int64)
    known: Array = np.ones(shape, bool)
    place = {}
    for i, d in enumerate(index):
        rest = at[i] - d.offset
        for a in reversed(d.axes):
            place[a] = rest % sizes[a]
            rest = rest // sizes[a]
        known &= rest == 0
    for a in inner:
        flat = flat * sizes[a] + place[a]
    for j in range(columns):
        unit[j] = np.where(known & (flat == j), pack(np.uint64(1), np.uint64(1)), np.uint64(0))
    return unit


def rank(matrix: Array, q: int) -> int:
    """The rank of a matrix of residues modulo a prime below 2^32."""
    m = matrix.astype(np.uint64) % np.uint64(q)
    r = 0
    for c in range(m.shape[1]):
        if r == m.shape[0]:
            break
        pivot = next((i for i in range(r, m.shape[0]) if m[i, c]), None)
        if pivot is None:
            continue
        m[[r, pivot]] = m[[pivot, r]]
        m[r] = m[r] * np.uint64(pow(int(m[r, c]), -1, q)) % np.uint64(q)
        factors = m[r + 1 :, c].copy()
        m[r + 1 :] = (m[r + 1 :] + (np.uint64(q) - factors)[:, None] * m[r][None] % np.uint64(q)) % np.uint64(q)
        r += 1
    return r
