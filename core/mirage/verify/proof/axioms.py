"""The laws of algebra that proofs may use, as one table. Letters stand for real tensors; see `law_language.py`.

After A_eq of Mirage (OSDI 2025, section 4.3): the normal form has them built in, and they stand here so that each is
checked. The others are about functions that A_eq leaves out. `use` says who applies a law: "normal form", "rewriting"
(from left to right, anywhere), "z3" (given to the solver for the terms at hand), or "fractions" (denominators cleared).
Every row is checked at all points of a small grid of sizes and values and at random ones (tests/verify/test_axioms.py).
"""

from __future__ import annotations

from dataclasses import dataclass

NORMAL, REWRITING, SOLVER, FRACTIONS = "normal form", "rewriting", "z3", "fractions"


@dataclass(frozen=True)
class Axiom:
    name: str
    text: str
    use: tuple[str, ...]


def rows(use: tuple[str, ...], text: str) -> tuple[Axiom, ...]:
    """One axiom a line: `name: law`."""
    pairs = (line.split(": ", 1) for line in text.strip().splitlines())
    return tuple(Axiom(name.strip(), law.strip(), use) for name, law in pairs)


AXIOMS: tuple[Axiom, ...] = (
    *rows((NORMAL,), """
add commutes: a + b == b + a
add associates: (a + b) + c == a + (b + c)
mul commutes: a * b == b * a
mul associates: (a * b) * c == a * (b * c)
mul distributes: a * (b + c) == a * b + a * c
subtraction: a - a == 0 * a
inverse of a product: 1 / (a * b) == (1 / a) * (1 / b)
inverse of an inverse: 1 / (1 / a) == a
a quotient of products: (a * b) / b == a
division distributes: (a + b) / c == a / c + b / c
common denominator: a / c + b / c == (a + b) / c
a fraction of multiples: a / (2 * b + 2 * c) == (a / 2) / (b + c)
exp of a sum: exp(a + b) == exp(a) * exp(b)
exp of a multiple: exp(3 * a) == exp(a) * exp(a) * exp(a)
exp of a negative: exp(-a) == 1 / exp(a)
exp of zero: exp(a - a) == 1
sum of a sum: sum(k, x[k] + y[k]) == sum(k, x[k]) + sum(k, y[k])
a factor leaves a sum: sum(k, x[k] * c) == c * sum(k, x[k])
a divisor leaves a sum: sum(k, x[k] / c) == sum(k, x[k]) / c
sums merge: sum(i, sum(j, x[i, j])) == sum(j, sum(i, x[i, j]))
sums join: sum(i, u[i] * sum(j, x[i, j])) == sum(j, sum(i, u[i] * x[i, j]))
a sum of one thing: sum(k, x[k] / x[k] * c) == size(k) * c
a sum times a sum: sum(i, u[i]) * sum(j, v[j]) == sum(i, sum(j, u[i] * v[j]))
a maximum of one thing: max(k, x[k] / x[k] * c) == c
maximum commutes: maximum(a, b) == maximum(b, a)
minimum commutes: minimum(a, b) == minimum(b, a)
"""),
    *rows((NORMAL, REWRITING), """
an exponential leaves a sum: sum(k, exp(x[k] + c)) == exp(c) * sum(k, exp(x[k]))
an exponential leaves a weighted sum: sum(k, exp(x[k] + c) * y[k]) == exp(c) * sum(k, exp(x[k]) * y[k])
"""),
    *rows((FRACTIONS,), """
fractions add: a / b + c / d == (a * d + c * b) / (b * d)
fractions are equal: (a * c) / (b * c) == a / b
a denominator multiplied back: (a + b) / (a + b) * c == c
a common factor: (a * a - b * b) / (a - b) == a + b
square of a root: sqrt(a) * sqrt(a) == a if a >= 0
"""),
    *rows((REWRITING,), """
a negative of a sum: -(a + b) == -a - b
sigmoid: sigmoid(a) == 1 / (1 + exp(-a))
tanh: tanh(a) == 1 - 2 / (exp(2 * a) + 1)
log of exp: log(exp(a)) == a
exp of log: exp(log(a)) == a if a > 0
exp of a sum with log: exp(log(a) + b) == a * exp(b) if a > 0
exp less a log: exp(b - log(a)) == exp(b) / a if a > 0
log of a quotient: log(a / b) == log(a) - log(b) if a > 0 and b > 0
log of a product: log(a * b) == log(a) + log(b) if a > 0 and b > 0
log of an inverse: log(1 / a) == -log(a) if a > 0
log of a root: log(sqrt(a)) == log(a) / 2 if a > 0
a root times itself: sqrt(a) * sqrt(a) == a if a >= 0
root of exp: sqrt(exp(a)) == exp(a / 2)
root of a square: sqrt(a * a) == abs(a)
roots multiply: sqrt(a) * sqrt(b) == sqrt(a * b) if a >= 0 and b >= 0
roots divide: sqrt(a) / sqrt(b) == sqrt(a / b) if a >= 0 and b > 0
absolute value of what is not negative: abs(a) == a if a >= 0
absolute value of a product: abs(a * b) == abs(a) * abs(b)
absolute value of an inverse: abs(1 / a) == 1 / abs(a)
absolute value of a negative: abs(-a) == abs(a)
square of an absolute value: abs(a) * abs(a) == a * a
absolute value by maximum: abs(a) == 2 * maximum(a, 0) - a
minimum by maximum: minimum(a, b) == a + b - maximum(a, b)
maximum of what is not less: maximum(a, b) == a if a - b >= 0
maximum of one thing: maximum(a, a) == a
nested maximum: maximum(a, maximum(a, b)) == maximum(a, b)
erf is odd: erf(-a) == -erf(a)
sin is odd: sin(-a) == -sin(a)
cos is even: cos(-a) == cos(a)
a term leaves a maximum: max(k, x[k] + c) == max(k, x[k]) + c
a factor leaves a maximum: max(k, x[k] * c) == c * max(k, x[k]) if c >= 0
an exponential leaves a maximum: max(k, exp(x[k])) == exp(max(k, x[k]))
maxima merge: max(k, maximum(x[k], y[k])) == maximum(max(k, x[k]), max(k, y[k]))
"""),
    *rows((SOLVER,), """
exp is positive: exp(a) > 0
exp grows: exp(a) >= 1 if a >= 0
exp falls: exp(a) <= 1 if a <= 0
a root is not negative: sqrt(a) >= 0
a root squared: sqrt(a) * sqrt(a) == a if a >= 0
log of one: log(a) >= 0 if a >= 1
log below one: log(a) <= 0 if a <= 1 and a > 0
maximum of the first: maximum(a, b) == a if a >= b
maximum of the second: maximum(a, b) == b if b >= a
minimum of the first: minimum(a, b) == a if a <= b
minimum of the second: minimum(a, b) == b if b <= a
absolute value above zero: abs(a) == a if a >= 0
absolute value below zero: abs(a) == -a if a <= 0
where less: where(a < b, c, d) == c if a < b
where not less: where(a < b, c, d) == d if a >= b
where at most: where(a <= b, c, d) == c if a <= b
where more: where(a <= b, c, d) == d if a > b
where equal: where(a == b, c, d) == c if a == b
where not equal: where(a == b, c, d) == d if a != b
selected where less: where(a < b, 1, 0) == 1 if a < b
selected where not less: where(a < b, 1, 0) == 0 if a >= b
selected where at most: where(a <= b, 1, 0) == 1 if a <= b
selected where more: where(a <= b, 1, 0) == 0 if a > b
selected where equal: where(a == b, 1, 0) == 1 if a == b
selected where not equal: where(a == b, 1, 0) == 0 if a != b
"""),
)  # fmt: skip


def used_by(use: str) -> tuple[Axiom, ...]:
    return tuple(a for a in AXIOMS if use in a.use)
