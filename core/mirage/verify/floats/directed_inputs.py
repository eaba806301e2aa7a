"""Inputs that are directed at two programs: at and around every constant that they name, ties, zeros, masked rows, extremes.

Random numbers never fall between two constants that are near each other, nor exactly on one. These do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from mirage.ir.dtypes import DTYPES
from mirage.ir.program import Attr, Program
from mirage.ir.tensor_spec import TensorSpec
from mirage.verify.floats.regimes import round_to, whole_lines
from mirage.verify.label_ranges import EVERY_INDEX, Labels, Ranges
from mirage.verify.semantics.arrays import Array

Rng = np.random.Generator
# Attributes that say where or how, and are no numbers that a value meets.
PLACES = {"dim", "dims", "shape", "start", "length", "size", "equation", "rank", "keepdim", "dtype", "event", "repeats"}
OWN = (0.0, 1.0)  # every operator with a kink or a pole has it at one of these, or names it
OPERATORS = {"relu6": (6.0,), "softplus": (20.0,)}  # constants that an operator has without naming them
MOST_CONSTANTS = 24
MOST_PAIRED = 10
PRODUCTS_WRAP = 33  # bits of 64-bit integers of which products wrap around, and sums of few do not
UNUSUAL = (float("inf"), float("-inf"), float("nan"))


def constants(programs: Iterable[Program]) -> list[float]:
    """Every number that stands in the programs' operators and is no shape, in rising order."""
    found = set(OWN)
    for p in programs:
        for node in p.nodes:
            found.update(OPERATORS.get(node.op, ()))
            found.update(x for k, v in node.attrs if k not in PLACES for x in _numbers(v))
    finite = sorted(x for x in found if math.isfinite(x))
    return finite if len(finite) <= MOST_CONSTANTS else sorted(sorted(finite, key=abs)[:MOST_CONSTANTS])


def _numbers(value: Attr) -> list[float]:
    if isinstance(value, tuple):
        return [x for v in value for x in _numbers(v)]
    return [float(value)] if isinstance(value, (int, float)) and not isinstance(value, bool) else []


def exact(numbers: Sequence[float], dtype: str) -> Array:
    """The constants with both signs, the squares of the small ones, and what lies between two of these."""
    few = sorted(set(numbers), key=abs)[:MOST_PAIRED]
    every = sorted({*numbers, *(-c for c in numbers), *(x * x for x in few)})
    between = [(a + b) / 2 for a, b in pairwise(every)]
    own = round_to(np.asarray([*every, *between]), dtype)
    return np.unique(own[np.abs(own) <= DTYPES[dtype].largest])


def around(numbers: Sequence[float], dtype: str) -> Array:
    """The constants with both signs, the next numbers of the dtype below and above each, what lies between two of them,
    and what maps to one of them under a product, a sum, a square, an exponential or a logarithm with another."""
    base = set(numbers)
    few = sorted(base, key=abs)[:MOST_PAIRED]
    pairs = [(c, s) for c in few for s in few]
    mapped = (
        {c / s for c, s in pairs if s}
        | {c * s for c, s in pairs}
        | {c - s for c, s in pairs}
        | {c + s for c, s in pairs}
    )
    mapped |= (
        {math.sqrt(c) for c in few if c > 0}
        | {math.log(c) for c in few if c > 0}
        | {math.exp(c) for c in few if c < 20}
    )
    own = np.concatenate([exact(numbers, dtype), round_to(np.asarray(sorted(mapped)), dtype)])
    own = own[np.abs(own) <= DTYPES[dtype].largest]
    step = np.maximum(np.ldexp(DTYPES[dtype].roundoff, np.frexp(own)[1]), DTYPES[dtype].smallest)
    wide = np.concatenate(
        [own, *(round_to(own + k * step, dtype) for k in (-1, -0.5, 0.5, 1)), own * 1.001, own * 0.999]
    )
    return np.unique(round_to(wide[np.abs(wide) <= DTYPES[dtype].largest], dtype))


@dataclass(frozen=True)
class Draw:
    """`floats(rng, shape, pool)` and `flags(rng, shape)`: the values of an input, as multiples of `unit(dtype)`; `others`:
    of all inputs but one at a time; `shared`: inputs of one shape get the same values, or each the `opposite` of the one before,
    and with `integers` those of all dtypes do, each as its dtype has them;
    `exactly`: the pool is the constants and what lies between them. In `beyond` a program may leave the
    range of numbers where an equal one does not: a difference there is told, and refuses nothing. Values stay below a
    sixteenth of the largest number of their dtype to the power of `reach`, or are as they are drawn (None). `integers(rng, shape, dtype)`:
    those of an input of integers, in place of small ones and the neighbours of constants."""

    name: str
    floats: Callable[[Rng, tuple[int, ...], Array], Array]
    flags: Callable[[Rng, tuple[int, ...]], Array] = lambda r, s: r.integers(0, 2, s).astype(bool)
    others: Callable[[Rng, tuple[int, ...], Array], Array] | None = None
    shared: bool = False
    opposite: bool = False
    exactly: bool = False
    beyond: bool = False
    reach: float | None = 1.0
    unit: Callable[[str], float] = lambda dtype: 1.0
    integers: Callable[[Rng, tuple[int, ...], str], Array] | None = None


def _constants(r: Rng, shape: tuple[int, ...], pool: Array) -> Array:
    return np.asarray(np.where(r.random(shape) < 0.7, r.choice(pool, shape), r.standard_normal(shape)))


def _each(r: Rng, shape: tuple[int, ...], pool: Array) -> Array:
    """Each number of the pool, as often as any other, where there is room."""
    return np.resize(r.permutation(pool), shape)


def _each_row(r: Rng, shape: tuple[int, ...], pool: Array) -> Array:
    return np.broadcast_to(np.resize(r.permutation(pool), (*shape[:-1], 1) if shape else ()), shape)


def _rows(r: Rng, shape: tuple[int, ...], pool: Array) -> Array:
    """The same value along each row."""
    return np.broadcast_to(r.choice(pool, (*shape[:-1], 1) if shape else ()), shape)


def _between(r: Rng, shape: tuple[int, ...], pool: Array) -> Array:
    return np.asarray(
        r.uniform(pool.min() - 1, pool.max() + 1, shape)
        if pool.max() - pool.min() < 1e6
        else 4 * r.standard_normal(shape)
    )


def _wide(r: Rng, shape: tuple[int, ...], pool: Array) -> Array:
    return np.asarray(r.standard_normal(shape) * 2.0 ** r.integers(-12, 9, shape))


def _unusual(r: Rng, shape: tuple[int, ...], pool: Array) -> Array:
    return np.asarray(np.where(r.random(shape) < 0.1, r.choice(UNUSUAL, shape), r.standard_normal(shape)))


def _subnormal(r: Rng, shape: tuple[int, ...], pool: Array) -> Array:
    return np.asarray(r.standard_normal(shape) * 2.0**-130)


def _mixed(r: Rng, shape: tuple[int, ...], pool: Array) -> Array:
    """Each row drawn in a way of its own: what a large tensor has room for at once."""
    ways = (
        r.standard_normal(shape), _constants(r, shape, pool), r.integers(-3, 4, shape).astype(np.float64),
        r.choice((0.0, -0.0, 1.0, -1.0), shape), _rows(r, shape, pool),
    )  # fmt: skip
    return np.choose(r.integers(0, len(ways), (*shape[:-1], 1) if shape else ()), ways)


def _equal_rows(r: Rng, shape: tuple[int, ...], pool: Array) -> Array:
    """A number along each row: the roundings of a long sum all go one way."""
    return np.broadcast_to(r.uniform(1, 2, (*shape[:-1], 1) if shape else ()), shape)


def _small(r: Rng, shape: tuple[int, ...], pool: Array) -> Array:
    return r.choice((1.0, 1.0, -1.0, 2.0, 0.5, 0.0), shape)


def _below_one(r: Rng, shape: tuple[int, ...], pool: Array) -> Array:
    """Near one; every second row is smaller, by as much as a sum of up to 256 elements makes good."""
    size = r.integers(-8, 1, (*shape[:-1], 1) if shape else ())
    first = np.arange(size.shape[-2])[:, None] % 2 == 0 if size.ndim > 1 else np.ones(size.shape, bool)
    return np.asarray(r.uniform(0.5, 0.99, shape) * 2.0 ** np.where(first, 0, size))


def _largest(dtype: str) -> float:
    return DTYPES[dtype].largest


def _tiny(dtype: str) -> float:
    """Squares of such numbers are no longer above zero."""
    return math.pow(DTYPES[dtype].subnormal, 0.6)


def of_magnitude(most: float) -> tuple[Draw, ...]:
    """Inputs up to `most` in size: all of them, of one sign and of both; one beside small ones, and one beside others that are
    as far below one."""
    return (
        Draw(f"near {most:g}", _below_one, unit=lambda dtype: most, reach=None),
        Draw(f"{most:g} of both signs", lambda r, s, p: r.choice((-1.0, 1.0), s) * _below_one(r, s, p),
             unit=lambda dtype: most, reach=None),
        Draw(f"one near {most:g}", _below_one, unit=lambda dtype: most, reach=None, others=_small),
        Draw(f"one near {most:g}, others near {1 / most:g}", _below_one, unit=lambda dtype: most, reach=None,
             others=lambda r, s, p: r.uniform(1, 2, s) / most),
    )  # fmt: skip


def of_every_size(r: Rng, shape: tuple[int, ...], dtype: str, below: int | None = None) -> Array:
    """To the ends of dtypes of up to 32 bits, where sums and products wrap around; of longer ones to where products do, or `below` so many
    bits."""
    bits = np.iinfo(DTYPES[dtype].numpy).bits
    top = 2 ** (below or (bits - 1 if bits <= 32 else PRODUCTS_WRAP)) - 1
    some = r.integers(-top - 1, top, shape, endpoint=True)
    some = np.where(r.random(shape) < 0.4, some, some >> r.integers(0, bits // 2, shape))
    return np.asarray(np.where(r.random(shape) < 0.3, r.choice((-top - 1, -top, -1, 0, 1, top - 1, top), shape), some))


def _neighbours(r: Rng, shape: tuple[int, ...], dtype: str) -> Array:
    """So near each other that float32 makes one of two."""
    bits = np.iinfo(DTYPES[dtype].numpy).bits
    first = 2**24 if bits > 24 else 2 ** (bits - 1) - 4
    return np.asarray(first + r.integers(0, 4, shape))


def _beside(r: Rng, shape: tuple[int, ...], dtype: str) -> Array:
    """The first numbers of which bfloat16, float16 and float32 make one of two."""
    return np.asarray(np.resize([n + k for n in (2**8, 2**11, 2**24) for k in (1, 3, 2, 0)], shape))


EQUAL_ROWS = Draw("rows of one number", _equal_rows)
LARGE = Draw("times 100", lambda r, s, p: 100 * r.standard_normal(s), reach=0.5)
OPPOSITE = Draw(
    "opposite, where exp overflows", lambda r, s, p: r.standard_normal(s), shared=True, opposite=True, reach=0.5,
    unit=lambda dtype: 1.5 * math.log(DTYPES[dtype].largest),
)  # fmt: skip
HUGE = Draw("huge", lambda r, s, p: 1e300 * r.choice((-1.0, 1.0), s), reach=0.7)  # squares overflow, sums do not
TINY = Draw("near zero", lambda r, s, p: r.uniform(1, 2, s), unit=_tiny, reach=None)
ENDS = (  # near the largest number of the dtype
    Draw("near the dtype's end", _below_one, unit=_largest, reach=None),
    Draw("one near the dtype's end", _below_one, unit=_largest, reach=None, others=lambda r, s, p: np.full(s, 100.0)),
)
SHORT_END = Draw("one near the end, others small", _below_one, unit=_largest, reach=None, others=_small)
MIXED = Draw("rows of all kinds", _mixed, whole_lines)
EVERY_INTEGER = Draw(
    "integers of every size", lambda r, s, p: np.abs(r.standard_normal(s)) + 0.01, integers=of_every_size
)
NEIGHBOURS = Draw("neighbouring integers that float32 does not hold", EVERY_INTEGER.floats, integers=_neighbours)
BESIDE_FLOATS = Draw(
    "integers that halves and float32 do not hold, beside floats of the same size",
    EVERY_INTEGER.floats, integers=_beside, shared=True,
)  # fmt: skip
UNUSUAL_INPUTS = Draw("infinities and NaN", _unusual, whole_lines, beyond=True)
DRAWS = (
    Draw("normal", lambda r, s, p: r.standard_normal(s)),
    Draw("at constants", _constants),
    Draw("each constant", _each, exactly=True),
    Draw("each constant in one input", _each, others=_small, exactly=True),
    Draw("a row at each constant", _each_row, exactly=True),
    Draw("a row at each constant in one input", _each_row, others=_small, exactly=True),
    Draw("one input at constants", lambda r, s, p: r.choice(p, s), others=_small),
    Draw("small integers", lambda r, s, p: r.integers(-3, 4, s).astype(np.float64), whole_lines),
    Draw("zeros", lambda r, s, p: r.choice((0.0, -0.0, 1.0, -1.0), s), whole_lines),
    Draw("between constants", _between),
    Draw("equal rows", _rows, whole_lines),
    Draw("equal inputs", _constants, shared=True),
    Draw("positive", lambda r, s, p: np.abs(r.standard_normal(s)) + 0.01, whole_lines),
    Draw("negative", lambda r, s, p: -np.abs(r.standard_normal(s)) - 0.01),
    Draw("many magnitudes", _wide),
    Draw("times 30", lambda r, s, p: 30 * r.standard_normal(s), whole_lines),
    UNUSUAL_INPUTS,
    Draw("subnormal", _subnormal, beyond=True),
)  # fmt: skip


def takes_integers(p: Program) -> bool:
    """Are there integers among the inputs?"""
    return any(i.type.dtype != "bool" and not DTYPES[i.type.dtype].floating for i in p.inputs)


def draw(
    kind: Draw, inputs: Sequence[TensorSpec], numbers: Sequence[float], seed: int, ranges: Ranges = EVERY_INDEX
) -> list[Array]:
    """Values of all inputs, each a number of its dtype, and indices in their ranges."""
    rng = np.random.default_rng(seed)
    made = exact if kind.exactly else around
    pools = {d: made(numbers, d) for d in {i.type.dtype for i in inputs} if DTYPES[d].floating}
    floats = [n for n, i in enumerate(inputs) if DTYPES[i.type.dtype].floating]
    chosen = floats[seed % len(floats)] if floats else -1
    known: dict[tuple[int, ...], Array] = {}
    out: list[Array] = []
    for n, i in enumerate(inputs):
        shape, dtype = i.type.shape, i.type.dtype
        if dtype == "bool":
            out.append(kind.flags(rng, shape))
        elif not DTYPES[dtype].floating or (kind.shared and kind.integers is not None):
            value = _integers(rng, shape, dtype, numbers, kind)
            out.append(_in_range(rng, value, ranges[i.name]) if i.name in ranges else value)
        elif kind.shared and shape in known:
            out.append(round_to(-known[shape] if kind.opposite else known[shape], dtype))
            known[shape] = out[-1]
        else:
            values = kind.floats if kind.others is None or n == chosen else kind.others
            unit = kind.unit(dtype) if values is kind.floats else 1.0
            value = unit * np.asarray(values(rng, shape, pools[dtype]), np.float64)
            out.append(round_to(_within_reach(rng, value, dtype, kind), dtype))
            known[shape] = out[-1]
    return out


def _within_reach(rng: Rng, value: Array, dtype: str, kind: Draw) -> Array:
    if kind.beyond or kind.reach is None:
        return value
    most = DTYPES[dtype].largest ** kind.reach / 16
    value = np.clip(value, -most, most)
    return value if kind.reach == 1.0 else value * rng.uniform(0.5, 1.0, value.shape)


def _held(values: Array, dtype: str) -> Array:
    """The values as numbers of the dtype, those beyond it at its end."""
    if DTYPES[dtype].floating:
        return round_to(np.clip(values.astype(np.float64), -DTYPES[dtype].largest, DTYPES[dtype].largest), dtype)
    info = np.iinfo(DTYPES[dtype].numpy)
    return np.clip(values, info.min, info.max)


def _in_range(rng: Rng, values: Array, labels: Labels) -> Array:
    """The values that are taken; in the place of others, numbers that are."""
    held = ((values >= 0) & (values < labels.below)) | np.isin(values, sorted(labels.others))
    return np.asarray(np.where(held, values, labels.drawn(rng, values.shape)), values.dtype)


def _integers(rng: Rng, shape: tuple[int, ...], dtype: str, numbers: Sequence[float], kind: Draw) -> Array:
    """The kind's own; else small ones, the neighbours of every constant, and powers of two whose products are in range, and beyond all
    data the dtype's least and largest too."""
    if kind.integers is not None:
        return _held(kind.integers(rng, shape, dtype), dtype)
    info = np.iinfo(DTYPES[dtype].numpy)
    pool = {*range(-3, 9), *(int(c) + k for c in numbers if c == int(c) for k in (-1, 0, 1))}
    pool |= {s * (2**k + 1) for k in range(4, info.bits // 2, 4) for s in (1, -1)}
    pool |= {info.min, info.min + 1, info.max - 1, info.max} if kind.beyond else set()
    return np.asarray(rng.choice(sorted(n for n in pool if info.min <= n <= info.max), shape))
