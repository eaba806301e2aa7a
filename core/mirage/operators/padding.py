"""Padding states: a small lattice of what is known of a tile's elements in the padding, and how operators map it.

    zero, one, nonzero (a finite constant), lowest (-inf), finite, huge (finite or +-inf, not NaN), any
    data: an element inside the dims, or one that equals an element inside. It is as finite as the function's own
          result, so it counts as finite and as a fit divisor.

An operator's rule maps the states of its arguments to that of its result; one that states no rule gives `any`, with
which nothing can be reduced, so that a new operator is safe before its padding is known.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Literal

State = Literal["zero", "one", "nonzero", "lowest", "finite", "huge", "any", "data"]
PaddingRule = Callable[..., State]

CONSTANTS: frozenset[State] = frozenset({"zero", "one", "nonzero"})
FINITE: frozenset[State] = CONSTANTS | {"finite", "data"}
BOUNDED: frozenset[State] = FINITE | {"huge", "lowest"}


def of_number(x: float | Fraction) -> State:
    """The state of a constant."""
    if math.isnan(x):
        return "any"
    if x == 0:
        return "zero"
    if x == 1:
        return "one"
    return "nonzero" if math.isfinite(x) else "lowest" if x < 0 else "huge"


def join(a: State, b: State) -> State:
    """What is known of an element that is one or the other."""
    if a == b:
        return a
    if a in FINITE and b in FINITE:
        return "finite"
    return "huge" if a in BOUNDED and b in BOUNDED else "any"


def add(*xs: State) -> State:
    if all(x == "zero" for x in xs):
        return "zero"
    wild = [x for x in xs if x not in FINITE]
    if not wild:
        return "finite"
    if all(x == "lowest" for x in wild):
        return "lowest"
    return "huge" if wild == ["huge"] else "any"


def neg(x: State) -> State:
    return "nonzero" if x == "one" else "huge" if x == "lowest" else x


def sub(a: State, b: State) -> State:
    return add(a, neg(b))


def mul(*xs: State) -> State:
    """A product whose zero factors do not select."""
    rest = [x for x in xs if x != "one"]
    if not rest:
        return "one"
    if len(rest) == 1:
        return rest[0]
    if all(x in FINITE for x in rest):
        return "zero" if "zero" in rest else "finite"
    wild = [x for x in rest if x not in FINITE]
    safe = all(x == "nonzero" for x in rest if x in FINITE) and all(x in BOUNDED for x in wild)
    # what may be huge may be 0 as well, and 0 * inf is NaN
    return "huge" if safe and (len(wild) == 1 or all(x == "lowest" for x in wild)) else "any"


def div(a: State, b: State) -> State:
    if b == "one":
        return a
    if b == "nonzero" or b == "data":
        return a if a in ("zero", "data", "huge", "any") else "huge" if a == "lowest" else "finite"
    return "huge" if a in ("one", "nonzero") and b != "any" else "any"


def maximum(a: State, b: State) -> State:
    if a == "lowest" or b == "lowest":
        return b if a == "lowest" else a
    return join(a, b)


def minimum(a: State, b: State) -> State:
    return "lowest" if "lowest" in (a, b) and "any" not in (a, b) else join(a, b)


def where(c: State, a: State, b: State) -> State:
    return a if c in ("one", "nonzero") else b if c == "zero" else join(a, b)


def by_state(default: State | None = None, /, **known: State) -> Callable[[State], State]:
    """A unary operator: what is listed, `data` to itself, else `default` where the argument is no NaN, else `any`."""

    def apply(x: State) -> State:
        if x in known:
            return known[x]
        if x == "data":
            return "data"
        return default if default is not None and x in BOUNDED else "any"

    return apply


def unknown(*xs: State) -> State:
    return "any"


def flag(*xs: State) -> State:
    """A comparison: 0 or 1, of NaN too."""
    return "finite"


def equal(a: State, b: State) -> State:
    return "one" if a == b and a in ("zero", "one", "lowest") else "finite"


def negation(x: State) -> State:
    return "one" if x == "zero" else "zero" if x == "one" else "data" if x == "data" else "finite"


def conjunction(a: State, b: State) -> State:
    out = mul(a, b)
    return out if out in CONSTANTS else "finite"


def disjunction(a: State, b: State) -> State:
    return "one" if "one" in (a, b) else "zero" if a == b == "zero" else "finite"


def reduce(op: str, inside: State, padding: State) -> State:
    """The state of a sum or maximum over elements of which those in the padding have state `padding`."""
    if op == "max":
        return maximum(inside, padding)
    return add(inside, padding)
