"""The laws of algebra, as one table: the normal form's rules, the prover's axioms and the steps of derivations are its rows.

`text` is in the language of `verify/proof/law_language.py`: letters stand for real tensors. After A_eq of Mirage (OSDI 2025,
section 4.3) and what A_eq leaves out. `use` says who applies a row:

building      `Terms` applies it whenever a term is made
normal form   built into the normal form, which gives both sides one form
rewriting     the prover, from left to right, anywhere
definition    the prover, after and beside these: a function written as others, of whose signs and order less is known then
fractions     the prover, when it clears denominators
z3            given to the solver for the terms at hand
derivation    a step that leads from a program to a candidate (`derivation/laws.py` applies it)

Every row with a text is checked at all points of a small grid of sizes and values and at random ones, and against each of its
users (tests/verify/test_axioms.py, tests/search/test_search_derivation.py). A row without one is about the form of a
term and not about its elements; whoever applies it checks its condition at the term itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Use = Literal["building", "normal form", "rewriting", "definition", "fractions", "z3", "derivation", "user"]
BUILDING: Use = "building"
NORMAL: Use = "normal form"
REWRITING: Use = "rewriting"
DEFINITION: Use = "definition"
FRACTIONS: Use = "fractions"
SOLVER: Use = "z3"
DERIVATION: Use = "derivation"


@dataclass(frozen=True)
class Law:
    """`statement` and `condition` are for people where `text` says it less well, `source` where a reader finds more."""

    name: str
    text: str
    use: tuple[Use, ...]
    statement: str = ""
    condition: str = ""
    source: str = ""

    @property
    def shown(self) -> str:
        return self.statement or self.text


def rows(use: tuple[Use, ...], text: str) -> tuple[Law, ...]:
    """One law a line: `name: text`."""
    pairs = (line.split(": ", 1) for line in text.strip().splitlines())
    return tuple(Law(name.strip(), law.strip(), use) for name, law in pairs)


PULL, LINEAR, EXCHANGE, DISTRIBUTE = "pull a factor out of a sum", "sum of a sum", "exchange of sums", "distributivity"
EXP, INVERSE, CANCEL = "exponential of a sum", "inverse of an exponential", "cancellation"
GUARD, SHIFT, SPLIT, SAME_FORM = "guard of a maximum", "shift invariance", "split of a reduction", "normal form"
LET, ORDER, INSIDE = "kept value", "contraction order", "inside"
_STEP: tuple[Use, ...] = (NORMAL, DERIVATION)

STEPS: tuple[Law, ...] = (
    Law(PULL, "sum(k, x[k] * c) == c * sum(k, x[k])", _STEP, "sum_k c B = c sum_k B", "c does not vary along k",
        "distributivity; paper, figure 3"),
    Law(LINEAR, "sum(k, x[k] + y[k]) == sum(k, x[k]) + sum(k, y[k])", _STEP, "sum_k (A + B) = sum_k A + sum_k B", "",
        "linearity; right to left: sums over one axis merge"),
    Law(EXCHANGE, "sum(i, sum(j, x[i, j])) == sum(j, sum(i, x[i, j]))", _STEP, "sum_k sum_e F = sum_e sum_k F",
        "k and e differ", "finite sums commute"),
    Law(DISTRIBUTE, "(a + b) * c == a * c + b * c", _STEP, "(A + B) C = A C + B C", "", "ring axiom"),
    Law(EXP, "exp(a + b) == exp(a) * exp(b)", _STEP, "exp(a + b) = exp(a) exp(b)", "", "homomorphism; paper, Lax fragment"),
    Law(INVERSE, "1 / exp(a) == exp(-a)", _STEP, "1 / exp(a) = exp(-a)", "", "homomorphism"),
    Law(CANCEL, "a * (1 / a) * b == b if a != 0", _STEP, "a (1/a) B = B", "a is not 0", "field axiom"),
    Law(ORDER, "sum(k, a[k] * sum(e, b[k, e] * c[e])) == sum(e, sum(k, a[k] * b[k, e]) * c[e])", _STEP,
        "sum_k A (sum_e B C) = sum_e (sum_k A B) C", "A does not vary along e, C not along k",
        "a group: pull, exchange of sums, pull"),
    Law(GUARD, "", _STEP, "finite(max B) = max B", "some element of the row is finite", "definition of the guard"),
    Law(SHIFT, "", (DERIVATION,), "f(exp(x)) = f(exp(x - c))", "f gives the same for any c, shown with a free c",
        "softmax; online softmax, Milakov and Gimelshein 2018"),
    Law(SPLIT, "", (DERIVATION,), "sum_k F = sum_p sum_r F, max_k F = max_p max_r F",
        "k is the pair (p, r), also where the result has it", "a finite sum in parts"),
    Law(LET, "", (DERIVATION,), "let v = A in F(v) = F(A)", "v is read at axes of its own sizes",
        "definition; right to left: a kernel boundary"),
    Law(SAME_FORM, "", (DERIVATION,), "A = B", "both have one normal form: sums of products, binders joined",
        "meaning/normal_form.py"),
    Law(INSIDE, "", (DERIVATION,), "A = B gives F(A) = F(B)", "", "a group: steps at parts of the term"),
)  # fmt: skip

ALGEBRA: tuple[Law, ...] = (
    Law("whole numbers beside a fraction", "", (BUILDING,), "(a < b) = (a <= floor(b)), (b < a) = (ceil(b) <= a), (a = b) = 0",
        "a is whole, b is a number that is not", "no whole number lies between"),
    Law("rounded twice", "", (BUILDING,), "r(r(A)) = r(A)", "r rounds to a dtype", "what a dtype holds is not moved"),
    *rows((BUILDING, NORMAL), """
add commutes: a + b == b + a
add associates: (a + b) + c == a + (b + c)
mul commutes: a * b == b * a
mul associates: (a * b) * c == a * (b * c)
inverse of a product: 1 / (a * b) == (1 / a) * (1 / b)
inverse of an inverse: 1 / (1 / a) == a
subtraction: a - a == 0 * a
a fraction of multiples: a / (2 * b + 2 * c) == (a / 2) / (b + c)
exp of zero: exp(a - a) == 1
a constant leaves a sum: sum(k, 3 * x[k]) == 3 * sum(k, x[k])
a constant leaves a sum of terms: 2 * a + 2 * b == 2 * (a + b)
maximum commutes: maximum(a, b) == maximum(b, a)
minimum commutes: minimum(a, b) == minimum(b, a)
"""),
    *rows((NORMAL,), """
a quotient of products: (a * b) / b == a
division distributes: (a + b) / c == a / c + b / c
common denominator: a / c + b / c == (a + b) / c
exp of a multiple: exp(3 * a) == exp(a) * exp(a) * exp(a)
a divisor leaves a sum: sum(k, x[k] / c) == sum(k, x[k]) / c
sums join: sum(i, u[i] * sum(j, x[i, j])) == sum(j, sum(i, u[i] * x[i, j]))
a sum of one thing: sum(k, x[k] / x[k] * c) == size(k) * c
a sum times a sum: sum(i, u[i]) * sum(j, v[j]) == sum(i, sum(j, u[i] * v[j]))
a maximum of one thing: max(k, x[k] / x[k] * c) == c
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
log of exp: log(exp(a)) == a
exp of log: exp(log(a)) == a if a > 0
exp of a sum with log: exp(log(a) + b) == a * exp(b) if a > 0
exp less a log: exp(b - log(a)) == exp(b) / a if a > 0
exp of a negative log: exp(-log(a)) == 1 / a if a > 0
log of a quotient: log(a / b) == log(a) - log(b) if a > 0 and b > 0
log of a product: log(a * b) == log(a) + log(b) if a > 0 and b > 0
log of an inverse: log(1 / a) == -log(a) if a > 0
log of a root: log(sqrt(a)) == log(a) / 2 if a > 0
log of one and a small exponential: log(1 + exp(-abs(a))) == log(1 + exp(a)) - maximum(a, 0)
a root times itself: sqrt(a) * sqrt(a) == a if a >= 0
root of exp: sqrt(exp(a)) == exp(a / 2)
root of a square: sqrt(a * a) == abs(a)
roots multiply: sqrt(a) * sqrt(b) == sqrt(a * b) if a >= 0 and b >= 0
roots divide: sqrt(a) / sqrt(b) == sqrt(a / b) if a >= 0 and b > 0
absolute value of what is not negative: abs(a) == a if a >= 0
absolute value of a negative: abs(-a) == abs(a)
absolute value of a product: abs(a * b) == abs(a) * abs(b)
absolute value of an inverse: abs(1 / a) == 1 / abs(a)
square of an absolute value: abs(a) * abs(a) == a * a
maximum of what is not less: maximum(a, b) == a if a - b >= 0
maximum of one thing: maximum(a, a) == a
a choice where zero is what is positive: where(a == 0, b, c) == c if a > 0
nested maximum: maximum(a, maximum(a, b)) == maximum(a, b)
erf is odd: erf(-a) == -erf(a)
sin is odd: sin(-a) == -sin(a)
cos is even: cos(-a) == cos(a)
round is odd: round(-a) == -round(a)
rounded twice to a whole number: round(round(a)) == round(a)
rounded down twice: floor(floor(a)) == floor(a)
a rounded number rounded down: floor(round(a)) == round(a)
a number rounded down and rounded: round(floor(a)) == floor(a)
sine of a double: sin(2 * a) == 2 * sin(a) * cos(a)
cosine of a double: cos(2 * a) == 2 * cos(a) * cos(a) - 1
sine squared: sin(a) * sin(a) == 1 - cos(a) * cos(a)
maximum of exponentials: maximum(exp(a), exp(b)) == exp(maximum(a, b))
maximum of sigmoids: maximum(sigmoid(a), sigmoid(b)) == sigmoid(maximum(a, b))
maximum of hyperbolic tangents: maximum(tanh(a), tanh(b)) == tanh(maximum(a, b))
maximum of error functions: maximum(erf(a), erf(b)) == erf(maximum(a, b))
maximum of roots: maximum(sqrt(a), sqrt(b)) == sqrt(maximum(a, b)) if a >= 0 and b >= 0
maximum of logarithms: maximum(log(a), log(b)) == log(maximum(a, b)) if a > 0 and b > 0
minimum of exponentials: minimum(exp(a), exp(b)) == exp(minimum(a, b))
minimum of sigmoids: minimum(sigmoid(a), sigmoid(b)) == sigmoid(minimum(a, b))
minimum of hyperbolic tangents: minimum(tanh(a), tanh(b)) == tanh(minimum(a, b))
minimum of error functions: minimum(erf(a), erf(b)) == erf(minimum(a, b))
minimum of roots: minimum(sqrt(a), sqrt(b)) == sqrt(minimum(a, b)) if a >= 0 and b >= 0
minimum of logarithms: minimum(log(a), log(b)) == log(minimum(a, b)) if a > 0 and b > 0
maximum of negatives: maximum(-a, -b) == -minimum(a, b)
a term leaves a maximum: max(k, x[k] + c) == max(k, x[k]) + c
a factor leaves a maximum: max(k, x[k] * c) == c * max(k, x[k]) if c >= 0
an exponential leaves a maximum: max(k, exp(x[k])) == exp(max(k, x[k]))
a sigmoid leaves a maximum: max(k, sigmoid(x[k])) == sigmoid(max(k, x[k]))
a hyperbolic tangent leaves a maximum: max(k, tanh(x[k])) == tanh(max(k, x[k]))
an error function leaves a maximum: max(k, erf(x[k])) == erf(max(k, x[k]))
a root leaves a maximum: max(k, sqrt(x[k])) == sqrt(max(k, x[k])) if x[k] >= 0
a logarithm leaves a maximum: max(k, log(x[k])) == log(max(k, x[k])) if x[k] > 0
maxima merge: max(k, maximum(x[k], y[k])) == maximum(max(k, x[k]), max(k, y[k]))
"""),
    *rows((DEFINITION,), """
sigmoid: sigmoid(a) == 1 / (1 + exp(-a))
tanh: tanh(a) == 1 - 2 / (exp(2 * a) + 1)
absolute value by maximum: abs(a) == 2 * maximum(a, 0) - a
minimum by maximum: minimum(a, b) == a + b - maximum(a, b)
"""),
    *rows((SOLVER,), """
exp is positive: exp(a) > 0
exp grows: exp(a) >= 1 if a >= 0
exp falls: exp(a) <= 1 if a <= 0
a root is not negative: sqrt(a) >= 0
a root squared: sqrt(a) * sqrt(a) == a if a >= 0
log of one: log(a) >= 0 if a >= 1
log below one: log(a) <= 0 if a <= 1 and a > 0
sine at most one: sin(a) <= 1
sine at least minus one: sin(a) >= -1
cosine at most one: cos(a) <= 1
cosine at least minus one: cos(a) >= -1
error function at most one: erf(a) <= 1
error function at least minus one: erf(a) >= -1
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


LAWS: dict[str, Law] = {law.name: law for law in (*STEPS, *ALGEBRA)}


def used_by(use: Use) -> tuple[Law, ...]:
    return tuple(law for law in LAWS.values() if use in law.use)
