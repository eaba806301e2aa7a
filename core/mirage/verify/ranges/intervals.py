"""Interval analysis: up to which size of the inputs no intermediate of a function overflows in its dtype.

Interval analysis over the terms: with every input in [-B, B], each value gets an interval, in float64. Intermediates are
float32 in our kernels; operands of contractions and outputs are cast to the program's dtypes. The largest B at which
nothing overflows is the bound; an exponential whose argument is at most 0 by construction (x - max x) is 1 at most.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from mirage.meaning.nodes import Add, Const, FloatLiteral, Index, Input, Inv, Mul, NegInf, Reduce, Size
from mirage.meaning.terms import Terms
from mirage.operators.block_operators import BLOCK
from mirage.operators.intervals import FLAG, WHOLE, Interval, inverse, summed, times, unknown, zero_times
from mirage.verify.floats.regimes import LARGEST

LEAST, MOST = -24, 127  # exponents of the bounds that are tried
PRECISION = 1e-4  # of a bound
ROUNDED = 1 - 2.0**-20  # intervals are computed in float64, without directed rounding
ACCUMULATOR = "fp32"
SLACK = 1 - 2.0**-12  # for the roundings on the way: float32 sums err by less; a float16 has it above 65504
LIMITS = {d: x * (SLACK if d in ("bf16", "fp32", "fp64") else 1) for d, x in LARGEST.items()}


def within(x: Interval, y: Interval | None) -> Interval:
    """The bounds on which two analyses of one value agree."""
    return x if y is None else Interval(_least(max, x.low, y.low), _least(min, x.high, y.high))


def _least(choose: Callable[[float, float], float], a: float, b: float) -> float:
    return b if math.isnan(a) else a if math.isnan(b) else choose(a, b)


class Ranges:
    """Intervals of one arena's terms with inputs in [-bound, bound]; `worst` is the first value that passed a limit."""

    def __init__(self, t: Terms, bound: float, sizes: Mapping[str, int], operand: str) -> None:
        self.t, self.bound, self.sizes, self.operand = t, bound, sizes, operand
        self.memo: dict[int, Interval] = {}
        self.worst: tuple[int, str] | None = None

    def of(self, x: int) -> Interval:
        for y in sorted(self.t.walk(x)):  # ids are topological
            if y not in self.memo:
                self.memo[y] = self._compute(y)
        return self.memo[x]

    def _limit(self, x: int, value: Interval, dtype: str) -> None:
        if self.worst is None and not value.size <= LIMITS[dtype]:
            self.worst = (x, dtype)

    def _compute(self, x: int) -> Interval:
        t = self.t
        match t.node(x):
            case Input(name):
                return FLAG if name in t.bool_inputs else Interval(-self.bound, self.bound)
            case Const(number):
                return Interval(float(number), float(number))
            case FloatLiteral(text):
                return Interval(float(text), float(text))
            case NegInf():  # a masked score: never larger than others
                return Interval(0.0, 0.0)
            case Size(axis):
                return Interval(float(self.sizes[axis]), float(self.sizes[axis]))
            case Index(axes):
                return Interval(0.0, float(math.prod(self.sizes[a] for a in axes)))
        value = self._operator(x)
        self._limit(x, value, ACCUMULATOR)
        return value

    def _operator(self, x: int) -> Interval:
        t = self.t
        match t.node(x):
            case Add(parts) if self._shifted(x):
                return Interval(-2 * max(self.memo[k].size for k in parts), 0.0)
            case Mul(factors):
                return self._product(factors)
            case Reduce("max", _, body):
                return self.memo[body]
            case Reduce(_, axis, body):
                for k in self._factors(body) if t.kind(body) == "mul" else ():
                    if t.kind(k) != "in" and t.dims(k):  # a computed operand of a contraction is cast before it
                        self._limit(k, self.memo[k], self.operand)
                return within(summed(self.memo[body], float(self.sizes[axis])), self._summed(axis, body))
            case Inv(below):
                return self._inverse(below)
        entry = BLOCK.get(t.operator(x))
        return WHOLE if entry is None else entry.interval(*(self.memo[k] for k in t.kids(x)))

    def _product(self, factors: tuple[int, ...]) -> Interval:
        """Equal factors are a power: x * x is not negative. A value over a sum of which it is a part is at most 1."""
        out = Interval(1.0, 1.0)
        for f in dict.fromkeys(factors):
            power = factors.count(f)
            part = self.memo[f]
            base = part
            for _ in range(power - 1):
                part = times(part, base)
            if power % 2 == 0:
                part = Interval(max(part.low, 0.0) if base.low > 0 else 0.0, part.high)
            out = times(out, part)
        for f in factors:
            if self.t.kind(f) != "inv":
                continue
            for g in dict.fromkeys(factors):
                bounded = self._bounded(g, f)
                if bounded is not None:
                    rest = list(factors)
                    rest.remove(f)
                    rest.remove(g)
                    out = within(out, times(bounded, self._product(tuple(rest))))
        for f in factors:
            if self.t.kind(f) == "inv" and (share := self._share(f, factors)) is not None:
                rest = [k for k in factors if k not in (f, share)]
                return self._product(tuple(rest)) if rest else Interval(0.0, 1.0)
        return out

    # ---- quotients that are smaller than their parts
    def _bounded(self, x: int, inverse: int) -> Interval | None:
        """x * inverse as a weighted mean, or as a part of a norm: x / sqrt(c * sum x^2 + ...)."""
        t = self.t
        below = t.arg(inverse)
        mean = self._mean(x, below)
        if mean is not None:
            return mean
        if t.is_sum(x):
            total = t.reduction(x)
            return self._norm(self._factors(total.body), below, total.axis, True)
        return self._norm((x,), below, "", False)

    def _summed(self, axis: str, body: int) -> Interval | None:
        """The sum over `axis` of a product with an inverse in it that does not depend on the axis."""
        t = self.t
        factors = self._factors(body)
        for f in factors:
            if t.kind(f) == "inv" and axis not in t.dims(f):
                below = t.arg(f)
                rest = list(factors)
                rest.remove(f)
                if t.is_sum(below) and t.reduction(below).axis == axis:
                    found = self._ratio(tuple(rest), self._factors(t.reduction(below).body))
                    if found is not None:
                        return found
                found = self._norm(tuple(rest), below, axis, True)
                if found is not None:
                    return found
        return None

    def _factors(self, x: int) -> tuple[int, ...]:
        return tuple(self.t.kids(x)) if self.t.kind(x) == "mul" else (x,)

    def _mean(self, above: int, below: int) -> Interval | None:
        """above / below with both sums over one axis: within what the quotients of their summands are."""
        t = self.t
        if not (t.is_sum(above) and t.is_sum(below)):
            return None
        over, under = t.reduction(above), t.reduction(below)
        if over.axis != under.axis:
            return None
        return self._ratio(self._factors(over.body), self._factors(under.body))

    def _ratio(self, above: tuple[int, ...], below: tuple[int, ...]) -> Interval | None:
        """A quotient of products, the one below being never negative: common factors fall away."""
        left, rest = list(above), []
        for f in below:
            if f in left and self.memo[f].low >= 0:
                left.remove(f)
            else:
                rest.append(f)
        if not rest:
            return self._product(tuple(left))
        for f in left:
            found = self._mean(f, rest[0]) if len(rest) == 1 else None
            if found is not None:
                left.remove(f)
                return times(found, self._product(tuple(left)))
        return None

    def _norm(self, factors: tuple[int, ...], below: int, axis: str, along: bool) -> Interval | None:
        """x / sqrt(c * sum_k x^2 + what is not negative) is at most 1 / sqrt(c), and by Cauchy and Schwarz the sum over k of
        x * y, over that root, at most sqrt(K / c) * |y|."""
        t = self.t
        if t.kind(below) != "sqrt":
            return None
        inside = t.arg(below)
        addends = t.kids(inside) if t.kind(inside) == "add" else (inside,)
        for a in addends:
            if any(self.memo[b].low < 0 for b in addends if b != a):
                continue
            for s in self._factors(a):
                if not t.is_sum(s) or (along and t.reduction(s).axis != axis):
                    continue
                square = self._factors(t.reduction(s).body)
                scale = self._product(tuple(f for f in self._factors(a) if f != s))
                if len(square) != 2 or square[0] != square[1] or square[0] not in factors or scale.low <= 0:
                    continue
                rest = list(factors)
                rest.remove(square[0])
                size = self._product(tuple(rest)).size
                size = zero_times(size, math.sqrt((self.sizes[axis] if along else 1.0) / scale.low))
                return Interval(-size, size)
        return None

    def _share(self, inverse: int, factors: tuple[int, ...]) -> int | None:
        """The factor e of e * 1/sum(e) with e an exponential: the quotient lies in [0, 1]."""
        r = self.t.arg(inverse)
        if self.t.is_sum(r) and self.t.reduction(r).body in factors:
            body = self.t.reduction(r).body
            return body if self.memo[body].low >= 0 else None
        return None

    def _inverse(self, x: int) -> Interval:
        """Sums of exponentials shifted by their maximum are at least 1: one of them is exp(0)."""
        value = self.memo[x]
        if self.t.is_sum(x):
            total = self.t.reduction(x)
            if self.t.kind(total.body) == "exp" and self._shifted(self.t.arg(total.body), total.axis):
                return Interval(1 / max(value.high, 1.0), 1.0)
        return inverse(value)

    def _shifted(self, x: int, axis: str | None = None) -> bool:
        """True if `x` = b - max(b) (over `axis`, if given)."""
        t = self.t
        for k in t.kids(x):
            m = t.neg(k)
            if t.operator(m) == "finite":
                (m,) = t.kids(m)
            top = t.node(m)
            if isinstance(top, Reduce) and top.op == "max" and axis in (None, top.axis):
                rest = t.add(*[y for y in t.kids(x) if y != k])
                if rest == m and axis is None:  # a running maximum before and after: it does not fall
                    return True
                hit = t.masked(top.body)
                if rest == top.body or (hit is not None and rest == hit[1]):
                    return True
        return False


def without_interval(t: Terms, roots: Iterable[int]) -> set[str]:
    """The operators below `roots` of whose results no interval is known, whatever their arguments are."""
    names = {t.operator(x) for r in roots for x in t.walk(r)}
    return {n for n in names if n in BLOCK and BLOCK[n].form == "pointwise" and BLOCK[n].interval is unknown}


def largest_bound(holds: Callable[[float], bool]) -> float | None:
    """The largest B (four digits, rounded down) up to which `holds(B)`, which no larger B can make true again."""
    low, high = LEAST - 1, MOST + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(2.0**middle) else (low, middle)
    if low < LEAST:
        return None
    if low == MOST:
        return 2.0**MOST
    a, b = 2.0**low, 2.0**high
    while b - a > a * PRECISION:
        middle_b = (a + b) / 2
        a, b = (middle_b, b) if holds(middle_b) else (a, middle_b)
    return a * ROUNDED


def safe_bound(
    t: Terms, outputs: Sequence[tuple[int, str]], sizes: Mapping[str, int], operand: str = "fp16"
) -> tuple[float | None, str]:
    """(the largest B such that inputs in [-B, B] overflow nothing, what overflows beyond it).

    outputs: (term, dtype); operand: the dtype to which contractions' operands are cast. None: no B was found."""
    why = ""

    def holds(bound: float) -> bool:
        nonlocal why
        r = Ranges(t, bound, sizes, operand)
        for x, dtype in outputs:
            r._limit(x, r.of(x), dtype)
        if r.worst is not None:
            x, dtype = r.worst
            why = f"{t.show(x, 3)} passes {LIMITS[dtype]:g} in {dtype}"
        return r.worst is None

    return largest_bound(holds), why
