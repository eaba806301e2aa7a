"""Pairs of expressions that are equal: textbook identities, published rewrites, spellings. One line a pair.

Letters: a b c d e are numbers (inputs without dims), x y z are [m, k], u v are [k], w is [k, n], r s are [m]. `S(k, .)`
is a sum, `M(k, .)` a maximum, `N(k)` the size of an axis. Rows are in the decidable fragment (field operations, exp,
roots, sums, linear order) but for those of `BEYOND`, which the axioms decide.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from mirage.ir.index import DimIndex
from mirage.meaning.terms import Terms
from mirage.verify.field.algebra_opinion import field_opinion
from mirage.verify.proof.prover import Prover

ALGEBRA = """
a + b = b + a
(a + b) + c = a + (b + c)
a * b = b * a
(a * b) * c = a * (b * c)
a * (b + c) = a * b + a * c
(a + b) * (c + d) = a * c + a * d + b * c + b * d
(a + b) ** 2 = a * a + 2 * a * b + b * b
(a - b) ** 2 = a ** 2 - 2 * a * b + b ** 2
(a - b) * (a + b) = a ** 2 - b ** 2
(a + b) ** 3 = a ** 3 + 3 * a ** 2 * b + 3 * a * b ** 2 + b ** 3
a ** 3 - b ** 3 = (a - b) * (a ** 2 + a * b + b ** 2)
a ** 3 + b ** 3 = (a + b) * (a ** 2 - a * b + b ** 2)
a ** 4 - b ** 4 = (a - b) * (a + b) * (a ** 2 + b ** 2)
(a + b + c) ** 2 = a ** 2 + b ** 2 + c ** 2 + 2 * (a * b + b * c + a * c)
(a * b + c * d) ** 2 + (a * d - b * c) ** 2 = (a ** 2 + c ** 2) * (b ** 2 + d ** 2)
a - a = 0 * a
a + a = 2 * a
-(-a) = a
-(a + b) = -a - b
-(a * b) = (-a) * b
a - (b - c) = a - b + c
a / b = a * (1 / b)
(a / b) / c = a / (b * c)
a / (b / c) = a * c / b
(a + b) / c = a / c + b / c
a / b + c / d = (a * d + b * c) / (b * d)
a / b * (c / d) = (a * c) / (b * d)
1 / (1 / a) = a
1 / (a * b) = (1 / a) * (1 / b)
(a * b) / b = a
(a ** 2 - b ** 2) / (a - b) = a + b
1 / a - 1 / b = (b - a) / (a * b)
1 / (1 + 1 / a) = a / (a + 1)
a / (a + b) + b / (a + b) = 1 + 0 * a
a / (1 + a) = 1 - 1 / (1 + a)
a * (b + c) - a * c = a * b
(a + b) * c / (a + b) = c
a * 4 / 2 = 2 * a
a * 0.5 + a * 0.5 = a
a * 0.1 * 10 = a
a / 8 = 0.125 * a
a - 1 / 3 * a = 2 / 3 * a
((a + 1) * b + 2) * b + 3 = a * b ** 2 + b ** 2 + 2 * b + 3
a * c + b * c + a * d + b * d = (a + b) * (c + d)
(a - b) / (c - d) = (b - a) / (d - c)
a / b - 1 = (a - b) / b
a * a * a * a = (a * a) ** 2
(a * b) ** 2 = a ** 2 * b ** 2
(a / b) ** 2 = a ** 2 / b ** 2
a + (b - a) * c = a * (1 - c) + b * c
a * b + (1 - a) * c = c + a * (b - c)
(a + b * c) * (a - b * c) = a ** 2 - (b * c) ** 2
"""

EXP_AND_ROOTS = """
exp(a + b) = exp(a) * exp(b)
exp(a - b) = exp(a) / exp(b)
exp(-a) = 1 / exp(a)
exp(2 * a) = exp(a) ** 2
exp(3 * a) = exp(a) * exp(a) * exp(a)
exp(a) * exp(-a) = 1 + 0 * a
exp(a + b + c) = exp(c) * exp(b) * exp(a)
exp(a * (b + c)) = exp(a * b) * exp(a * c)
exp(a) / (exp(a) + exp(b)) = 1 / (1 + exp(b - a))
exp(a) / (1 + exp(a)) = 1 / (1 + exp(-a))
1 / (1 + exp(a)) + 1 / (1 + exp(-a)) = 1 + 0 * a
(exp(a) - exp(-a)) / (exp(a) + exp(-a)) = 2 / (1 + exp(-2 * a)) - 1
(exp(a) - exp(-a)) / (exp(a) + exp(-a)) = (exp(2 * a) - 1) / (exp(2 * a) + 1)
(exp(a) + exp(-a)) ** 2 - (exp(a) - exp(-a)) ** 2 = 4 + 0 * a
exp(a) * (exp(b) + exp(c)) = exp(a + b) + exp(a + c)
exp(a / 2) ** 2 = exp(a)
exp((a + b) ** 2) = exp(a ** 2) * exp(2 * a * b) * exp(b ** 2)
exp(-(a - b) ** 2) = exp(2 * a * b) / (exp(a ** 2) * exp(b ** 2))
exp(a) * b / exp(a) = b
sqrt(a) * sqrt(b) = sqrt(a * b)
sqrt(a) * sqrt(a) = a
sqrt(a) / sqrt(b) = sqrt(a / b)
1 / sqrt(a) = sqrt(1 / a)
a / sqrt(a) = sqrt(a)
sqrt(4 * a) = 2 * sqrt(a)
sqrt(a) ** 4 = a ** 2
sqrt(a / 16) = sqrt(a) / 4
sqrt(a + b) * sqrt(a + b) = a + b
(sqrt(a) - sqrt(b)) * (sqrt(a) + sqrt(b)) = a - b
1 / (sqrt(a) + sqrt(b)) = (sqrt(a) - sqrt(b)) / (a - b)
a * (1 / sqrt(a * a + b)) * sqrt(a * a + b) = a
sqrt(a) * sqrt(b) * sqrt(c) = sqrt(a * b * c)
1 / sqrt(a * b) = 1 / sqrt(a) * (1 / sqrt(b))
sqrt(2 * a) = lit(1.4142135623730951) * sqrt(a)
exp2(a) = exp(a * lit(0.6931471805599453))
"""

SUMS = """
S(k, x + y) = S(k, x) + S(k, y)
S(k, x - y) = S(k, x) - S(k, y)
S(k, r * x) = r * S(k, x)
S(k, x / r) = S(k, x) / r
S(k, a * x + b * y) = a * S(k, x) + b * S(k, y)
S(k, -x) = -S(k, x)
S(k, S(m, x)) = S(m, S(k, x))
S(k, x + r) = S(k, x) + N(k) * r
S(k, x * (u + v)) = S(k, x * u) + S(k, x * v)
S(k, S(n, x * w)) = S(n, S(k, x * w))
S(k, x * S(n, w)) = S(n, S(k, x * w))
S(k, (x - y) ** 2) = S(k, x * x) - 2 * S(k, x * y) + S(k, y * y)
S(k, (x + r) ** 2) = S(k, x * x) + 2 * r * S(k, x) + N(k) * r ** 2
S(k, x) / N(k) = S(k, x / N(k))
S(k, x * x) * a = S(k, a * x * x)
S(k, x * w) + S(k, y * w) = S(k, (x + y) * w)
S(k, x * w * a) = a * S(k, x * w)
S(k, (r * x) * w) = r * S(k, x * w)
S(k, x * (u * w)) = S(k, (x * u) * w)
S(k, (x + u) * w) = S(k, x * w) + S(k, u * w)
S(k, (x - r) * w) = S(k, x * w) - r * S(k, w)
S(k, x) * S(k, y) = S(k, x * S(k, y))
S(k, x / r * w) = S(k, x * w) / r
S(k, exp(x + r)) = exp(r) * S(k, exp(x))
S(k, exp(x - r) * w) = exp(-r) * S(k, exp(x) * w)
S(k, exp(x) * exp(u)) = S(k, exp(x + u))
S(m, S(k, x * x)) = S(k, S(m, x * x))
S(k, x * u) + S(k, x * v) - S(k, x * (u + v)) = 0 * S(k, x)
N(k) * S(m, r) = S(k, S(m, r) + 0 * u)
S(k, (x * w) * 2) = 2 * S(k, x * w)
S(k, S(m, x) * w) = S(m, S(k, x * w))
S(k, x * w) * S(k, u) = S(k, x * w * S(k, u))
"""

REWRITES = """
S(k, x*x)/N(k) - (S(k, x)/N(k))**2 = S(k, (x - S(k, x)/N(k))**2)/N(k)
S(k, (x - S(k, x)/N(k)) * y) = S(k, x * (y - S(k, y)/N(k)))
S(k, (x - S(k, x)/N(k)) * u) = S(k, x*u) - S(k, x)*S(k, u)/N(k)
S(k, (x / sqrt(S(k, x*x)/N(k) + 1e-6)) * w) = S(k, x*w) / sqrt(S(k, x*x)/N(k) + 1e-6)
S(k, (x * u / sqrt(S(k, x*x)/N(k) + 1e-6)) * w) = S(k, x*u*w) / sqrt(S(k, x*x)/N(k) + 1e-6)
x / sqrt(S(k, x*x)/N(k) + 1e-5) * u = u * x * (1/sqrt(S(k, x*x)/N(k) + 1e-5))
x / sqrt(S(k, x*x)) = x * (1/sqrt(S(k, x*x)))
(a*x) / sqrt(S(k, a*a*x*x)) * sqrt(a*a) = a*x / sqrt(S(k, x*x))
x / sqrt(S(k, x*x)/N(k)) = x * sqrt(N(k)) / sqrt(S(k, x*x))
exp(x) / S(k, exp(x)) = exp(x - M(k, x)) / S(k, exp(x - M(k, x)))
exp(x) / S(k, exp(x)) = exp(x - r) / S(k, exp(x - r))
exp(x - M(k, x)) / S(k, exp(x - M(k, x))) = exp(x - r) / S(k, exp(x - r))
S(k, exp(x) / S(k, exp(x)) * w) = S(k, exp(x) * w) / S(k, exp(x))
S(k, exp(x - M(k, x)) / S(k, exp(x - M(k, x))) * w) = S(k, exp(x - M(k, x)) * w) / S(k, exp(x - M(k, x)))
S(k, exp(x - M(k, x)) * w) / S(k, exp(x - M(k, x))) = S(k, exp(x) * w) / S(k, exp(x))
S(k, exp(a*x) * w) / S(k, exp(a*x)) = S(k, exp(a*x - a*r) * w) / S(k, exp(a*(x - r)))
exp(x + r) / S(k, exp(x + r)) = exp(x) / S(k, exp(x))
exp(x + u) / S(k, exp(x + u)) = exp(x)*exp(u) / S(k, exp(x)*exp(u))
S(k, x*w) + a * S(k, x*w) = (1 + a) * S(k, x*w)
S(k, x * (w + a*w)) = S(k, x*w) + a * S(k, x*w)
S(k, x * (w + c*S(j, p*q))) = S(k, x*w) + c*S(j, S(k, x*p)*q)
S(j, S(k, x*p)*q) = S(k, x*S(j, p*q))
S(k, x*w) + S(j, S(k, x*p)*q) = S(k, x*(w + S(j, p*q)))
(x - S(k, x)/N(k)) * u + v = x*u - S(k, x)/N(k)*u + v
S(k, ((x - r)*u + v)*w) = S(k, x*u*w) - r*S(k, u*w) + S(k, v*w)
S(k, ((x - r)/s*u + v)*w) = (S(k, x*u*w) - r*S(k, u*w))/s + S(k, v*w)
S(k, (x + r*y)*w) = S(k, x*w) + r*S(k, y*w)
x + a*(y - x) = (1 - a)*x + a*y
S(k, x*(y + z)) = S(k, x*y) + S(k, z*x)
S(k, x*w) * S(k, x*w) = S(k, S(k, x*w)*x*w)
a*exp(x)/S(k, exp(x)) = a*exp(x - r)/S(k, exp(x - r))
S(k, x*x)/(S(k, x*x) + a) = 1 - a/(S(k, x*x) + a)
S(k, x*y)/(sqrt(S(k, x*x))*sqrt(S(k, y*y))) = S(k, (x/sqrt(S(k, x*x)))*(y/sqrt(S(k, y*y))))
S(k, x*y)/sqrt(S(k, x*x)*S(k, y*y)) = S(k, (x/sqrt(S(k, x*x)))*(y/sqrt(S(k, y*y))))
S(k, (x - y)**2) = S(k, x**2) + S(k, y**2) - 2*S(k, x*y)
S(k, exp(x - M(k, x))) * exp(M(k, x)) = S(k, exp(x))
S(k, exp(-x)) = S(k, 1/exp(x))
S(k, sigmoid(x)*w) = S(k, w/(1 + exp(-x)))
x*sigmoid(x) = x/(1 + exp(-x))
2*sigmoid(2*a) - 1 = (exp(a) - exp(-a))/(exp(a) + exp(-a))
sigmoid(-a) = 1 - sigmoid(a)
sigmoid(a)*(1 - sigmoid(a)) = exp(-a)/(1 + exp(-a))**2
exp(a)*sigmoid(-a) = sigmoid(a)
tanh(a) = 2*sigmoid(2*a) - 1
1 + tanh(a) = 2*sigmoid(2*a)
0.5*a*(1 + tanh(b)) = a*sigmoid(2*b)
S(k, x*w)*sigmoid(S(k, x*w)) = S(k, x*w)/(1 + exp(-S(k, x*w)))
S(k, x*w)*(1/(1 + exp(-S(k, x*w)))) = S(k, x*w*sigmoid(S(k, x*w)))
"""

ORDER = """
max(a, b) = max(b, a)
max(a, max(b, c)) = max(max(a, b), c)
max(a, a) = a
min(a, b) = -max(-a, -b)
max(a, b) + min(a, b) = a + b
max(a, b) * min(a, b) = a * b
max(a, 0) - max(-a, 0) = a
max(a, 0) + max(-a, 0) = abs(a)
max(a, -a) = abs(a)
abs(-a) = abs(a)
abs(a) * abs(b) = abs(a * b)
abs(a) * abs(a) = a * a
abs(a / b) = abs(a) / abs(b)
abs(exp(a)) = exp(a)
sqrt(a * a) = abs(a)
max(exp(a), 0) = exp(a)
max(a, 0) * max(a, 0) = a * max(a, 0)
where(lt(0, a), a, 0) = max(a, 0)
where(lt(a, b), b, a) = max(a, b)
where(lt(a, b), a, b) = min(a, b)
where(lt(a, b), c, d) = where(le(b, a), d, c)
where(lt(0, a), b * c, b * d) = b * where(lt(0, a), c, d)
where(lt(a, 0), -a, a) = abs(a)
max(max(a, 0), 0) = max(a, 0)
max(a, min(a, b)) = a
min(a, max(a, b)) = a
min(a, min(b, c)) = min(min(a, b), c)
M(k, M(m, x)) = M(m, M(k, x))
M(k, max(x, y)) = max(M(k, x), M(k, y))
max(M(k, x), M(k, x)) = M(k, x)
S(k, max(x, 0)) - S(k, max(-x, 0)) = S(k, x)
S(k, max(x, y) + min(x, y)) = S(k, x) + S(k, y)
"""

LOGS_AND_LIKE = """
log(exp(a)) = a
exp(log(exp(a) + 1)) = exp(a) + 1
log(exp(a) * exp(b)) = a + b
log(exp(a) / exp(b)) = a - b
log(1 / exp(a)) = -a
log(1 / (1 + exp(-a))) = -log(1 + exp(-a))
log(sigmoid(a)) = -log(1 + exp(-a))
log(S(k, exp(x))) = r + log(S(k, exp(x - r)))
log(S(k, exp(x))) = M(k, x) + log(S(k, exp(x - M(k, x))))
x - M(k, x) - log(S(k, exp(x - M(k, x)))) = x - log(S(k, exp(x)))
exp(x - log(S(k, exp(x)))) = exp(x) / S(k, exp(x))
exp(x - r - log(S(k, exp(x - r)))) = exp(x) / S(k, exp(x))
S(k, exp(x - log(S(k, exp(x)))) * w) = S(k, exp(x) * w) / S(k, exp(x))
a * sigmoid(a) = a / (1 + exp(-a))
S(k, x * sigmoid(x) * w) = S(k, x / (1 + exp(-x)) * w)
sqrt(exp(a)) = exp(a / 2)
sqrt(abs(a)) * sqrt(abs(b)) = sqrt(abs(a * b))
sqrt(a * a * b * b) = abs(a) * abs(b)
sqrt(a * a * (b * b + 1)) = abs(a) * sqrt(b * b + 1)
erf(-a) = -erf(a)
sin(-a) * cos(-b) = -sin(a) * cos(b)
"""

ORDER_AND_ARITHMETIC = """
max(a + c, b + c) = max(a, b) + c
max(2 * a, 2 * b) = 2 * max(a, b)
max(a, b) = (a + b + abs(a - b)) / 2
max(a - b, 0) + b = max(a, b)
M(k, x + r) = M(k, x) + r
M(k, 2 * x) = 2 * M(k, x)
M(k, x * exp(r)) = exp(r) * M(k, x)
M(k, exp(x)) = exp(M(k, x))
M(k, x - M(k, x)) = M(k, x) - M(k, x)
S(k, max(x, 0)) = S(k, (x + abs(x)) / 2)
"""

SPELLED = """
a + 0 = a
a * 1 = a
a - 0 = a
a / 1 = a
a ** 1 = a
x * u = u * x
S(k, x * 1) = S(k, x)
exp(0 * a) = 1 + 0 * a
lit(0.0078125) * a = a / 128
lit(1e-6) + a = a + lit(0.000001)
lit(0.3333333333333333) * a = a / 3
lit(0.08838834764831845) * sqrt(128) * a = a
a * lit(0.7071067811865476) ** 2 = a / 2
lit(0.7071067811865476) * a * lit(1.4142135623730951) = a
erf(a + b) = erf(b + a)
log(a * b) * c = c * log(b * a)
sin(a) * cos(b) = cos(b) * sin(a)
erf(exp(a + b)) = erf(exp(a) * exp(b))
log(sqrt(a) * sqrt(b)) = log(sqrt(a * b))
sin(a - a + b) = sin(b)
"""

GROUPS: dict[str, str] = {
    "algebra": ALGEBRA, "exponentials and roots": EXP_AND_ROOTS, "sums": SUMS, "published rewrites": REWRITES,
    "order": ORDER, "spellings": SPELLED, "logarithms and such": LOGS_AND_LIKE,
    "order and arithmetic": ORDER_AND_ARITHMETIC,
}  # fmt: skip
BEYOND = ("logarithms and such", "order and arithmetic")  # groups outside the fragment
SHAPES = {
    **dict.fromkeys("abcde", ""), **dict.fromkeys("xyz", "mk"), **dict.fromkeys("uv", "k"), "w": "kn",
    **dict.fromkeys("rs", "m"), "p": "kj", "q": "jn",
}  # fmt: skip


class Value:
    """A term with Python's operators."""

    def __init__(self, t: Terms, x: int) -> None:
        self.t, self.x = t, x

    def of(self, other: Any) -> int:
        if isinstance(other, Value):
            return other.x
        return self.t.literal(other) if isinstance(other, float) else self.t.const(Fraction(other))

    def make(self, x: int) -> Value:
        return Value(self.t, x)

    def __add__(self, o: Any) -> Value:
        return self.make(self.t.add(self.x, self.of(o)))

    def __mul__(self, o: Any) -> Value:
        return self.make(self.t.mul(self.x, self.of(o)))

    def __sub__(self, o: Any) -> Value:
        return self.make(self.t.sub(self.x, self.of(o)))

    def __rsub__(self, o: Any) -> Value:
        return self.make(self.t.sub(self.of(o), self.x))

    def __truediv__(self, o: Any) -> Value:
        return self.make(self.t.mul(self.x, self.t.inv(self.of(o))))

    def __rtruediv__(self, o: Any) -> Value:
        return self.make(self.t.mul(self.of(o), self.t.inv(self.x)))

    def __neg__(self) -> Value:
        return self.make(self.t.neg(self.x))

    def __pow__(self, n: int) -> Value:
        return self.make(self.t.mul(*[self.x] * n))

    __radd__, __rmul__ = __add__, __mul__


def read(t: Terms, text: str) -> int:
    """The term of an expression in the language above."""
    zero = Value(t, t.const(0))

    def fn(name: str) -> Any:
        return lambda *xs: Value(t, t.fn(name, *(zero.of(x) for x in xs)))

    names: dict[str, Any] = {n: Value(t, t.input(n, tuple(DimIndex((d,)) for d in s))) for n, s in SHAPES.items()}
    names |= {n: n for n in "mknj"}
    names |= {n: fn(n) for n in ("sigmoid", "tanh", "abs", "erf", "log", "sin", "cos", "lt", "le", "eq", "where")}
    names |= {"max": fn("maximum"), "min": fn("minimum")}
    names |= {
        "S": lambda axis, v: Value(t, t.sum(axis, v.x)), "M": lambda axis, v: Value(t, t.max(axis, v.x)),
        "N": lambda axis: Value(t, t.size(axis)), "lit": lambda v: Value(t, t.literal(v)),
        "exp": lambda v: Value(t, t.exp(zero.of(v))), "sqrt": lambda v: Value(t, t.sqrt(zero.of(v))),
        "exp2": lambda v: Value(t, t.exp(t.mul(zero.of(v), t.literal(0.6931471805599453)))),
    }  # fmt: skip
    found = eval(text, {"__builtins__": {}}, names)
    return zero.of(found)


def pairs() -> Iterator[tuple[str, str, str, str]]:
    """(group, name, left, right)"""
    for group, lines in GROUPS.items():
        for line in lines.strip().splitlines():
            left, right = line.split(" = ")
            yield group, line, left, right


def together(t: Terms, a: int, b: int) -> str:
    """ "proved", "tested" (the field's opinion accepts), "rejected" (it shows a point), or "unknown"."""
    if Prover(t).equal(a, b) is not None:
        return "proved"
    e = field_opinion(t, a, b)
    if e.word == "REJECTED":
        return "rejected" if e.counterexample is not None else "unknown"
    return "tested"


def judged(left: str, right: str) -> str:
    t = Terms()
    return together(t, read(t, left), read(t, right))
