"""Each law of the certificate's checker holds at random points, in exact rationals where both sides have them."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from mirage_certificate.laws import LAWS, Law, _read, evaluated

Env = dict[str, int]
Value = Callable[[Env], Any]
LENGTH = {"i": 2, "j": 3}
DRAWS = 60
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)), "tanh": math.tanh,
    "log": lambda x: math.log(x) if x > 0 else 0, "abs": abs, "erf": math.erf,
    "sin": math.sin, "cos": math.cos, "finite": lambda x: x, "maximum": max, "minimum": min,
}  # fmt: skip


class Numbers:
    """The domain of numbers, with total functions: a value is a function of the axes' indices."""

    def const(self, c: Any) -> Value:
        return lambda env: Fraction(c)

    def plus(self, x: Value, y: Value) -> Value:
        return lambda env: x(env) + y(env)

    def minus(self, x: Value, y: Value) -> Value:
        return lambda env: x(env) - y(env)

    def times(self, x: Value, y: Value) -> Value:
        return lambda env: x(env) * y(env)

    def power(self, x: Value, n: int) -> Value:
        return lambda env: x(env) ** n

    def inverse(self, x: Value) -> Value:
        return lambda env: 1 / x(env) if x(env) else Fraction(0)

    def exp(self, x: Value) -> Value:
        return lambda env: math.exp(x(env))

    def sqrt(self, x: Value) -> Value:
        return lambda env: math.sqrt(max(0, x(env)))

    def fn(self, name: str, *xs: Value) -> Value:
        return lambda env: FUNCTIONS[name](*(x(env) for x in xs))

    def sum(self, axes: frozenset[str], x: Value) -> Value:
        return lambda env: sum(x({**env, **at}) for at in indices(axes))

    def max(self, axes: frozenset[str], x: Value) -> Value:
        return lambda env: max(x({**env, **at}) for at in indices(axes))


def indices(axes: frozenset[str]) -> list[Env]:
    names = sorted(axes)
    return [dict(zip(names, at, strict=True)) for at in itertools.product(*(range(LENGTH[a]) for a in names))]


def letters(law: Law, r: random.Random) -> dict[str, Any]:
    """Letters that keep the law's conditions on axes; values of both signs, or as the conditions on signs ask."""
    said = {c.func.id: c.args for c in law.conditions}  # type: ignore[attr-defined]
    out: dict[str, Any] = {}
    fixed = {c.args[0].id for c in law.conditions if c.func.id == "free"}  # type: ignore[attr-defined]
    for x in law.letters:
        if x in "AB":
            out[x] = frozenset("j") if x == "B" else frozenset(r.choice(("", "i")))
        elif x == "n":
            out[x] = r.choice((-2, -1, 2, 3))
        else:
            table = {
                at: Fraction(r.choice((-3, -2, -1, 0, 1, 2, 5)), r.choice((1, 2, 3)))
                for at in itertools.product(range(2), range(3))
            }
            along = ("i", "j") if x not in fixed else () if "A" in law.letters and "B" not in law.letters else ("i",)
            out[x] = drawn(table, along)
    for sign in ("positive", "not_negative"):
        if sign in said:
            for c in law.conditions:
                if c.func.id == sign and hasattr(c.args[0], "id"):  # type: ignore[attr-defined]
                    name = c.args[0].id  # type: ignore[attr-defined]
                    out[name] = (lambda inner: lambda env: abs(inner(env)))(out[name])
    return out


def drawn(table: dict[tuple[int, int], Fraction], along: tuple[str, ...]) -> Value:
    return lambda env: table[tuple(env.get(a, 0) if a in along else 0 for a in ("i", "j"))]  # type: ignore[index]


def disagreements(law: Law, seed: int = 1) -> tuple[int, int]:
    """(points at which the sides differ while the conditions hold, points at which they were compared)."""
    r, wrong, seen = random.Random(seed), 0, 0
    for _ in range(DRAWS):
        given = letters(law, r)
        left = evaluated(Numbers(), law.left, given)
        left = Numbers().power(left, law.exponent)
        right = evaluated(Numbers(), law.right, given)
        for env in indices(frozenset("ij")):
            if not all(kept(c, given, env) for c in law.conditions):
                continue
            a, b = left(env), right(env)
            exact = isinstance(a, Fraction) and isinstance(b, Fraction)
            wrong += not (a == b if exact else math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9))
            seen += 1
    return wrong, seen


def kept(condition: Any, given: dict[str, Any], env: Env) -> bool:
    name = condition.func.id
    if name in ("free", "apart"):
        return True
    found = evaluated(Numbers(), condition.args[0], given)(env)
    return bool(found > 0 if name == "positive" else found >= 0)


@pytest.mark.parametrize("law", LAWS.values(), ids=lambda law: law.name)
def test_a_law_holds_at_random_points(law: Law) -> None:
    wrong, seen = disagreements(law)
    assert wrong == 0
    assert seen >= 30


@pytest.mark.parametrize(
    "text",
    [
        "x: exp(a + b) = exp(a) + exp(b)",
        "x: exp(n * a) = n * exp(a)",
        "x: sum(A | B, c * a) = sum(A, c * sum(B, a))",
        "x: sum(A, a * b) = sum(A, a) * sum(A, b)",
        "x: max(A, a + c) = max(A, a) + c",
        "x: max(A, c * a) = c * max(A, a) if free(c, A)",
        "x: sqrt(a * a) = a",
        "x: sqrt(a * b) = sqrt(a) * sqrt(b)",
        "x: log(a * b) = log(a) + log(b)",
        "x: inv(a + b) = inv(a) + inv(b)",
        "x: a * inv(a) = 1",
        "x: sqrt(a) ** 2 = a",
        "x: maximum(a, b) = a",
        "x: abs(a) = a",
        "x: sigmoid(a) = inv(1 + exp(a))",
        "x: tanh(a) = 1 - inv(exp(2 * a) + 1)",
        "x: cos(-a) = -cos(a)",
        "x: abs(a) ** 2 = a",
        "x: exp(log(a)) = a * a if positive(a)",
    ],
)
def test_what_is_no_law_is_seen(text: str) -> None:
    assert disagreements(_read(text))[0] > 0
