"""What is known of the elements of a tile that lie in the padding: a small lattice, and how each operator maps it.

    zero, one, nonzero (a finite constant), lowest (-inf), finite, huge (finite or +-inf, not NaN), any
    data: an element inside the dims, or one that equals an element inside. It is as finite as the function's own
          result, so it counts as finite and as a fit divisor.

Operators that are not in the tables map everything to `any`, so a new operator is safe before it is known here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

State = Literal["zero", "one", "nonzero", "lowest", "finite", "huge", "any", "data"]

CONSTANTS: frozenset[State] = frozenset({"zero", "one", "nonzero"})
FINITE: frozenset[State] = CONSTANTS | {"finite", "data"}
BOUNDED: frozenset[State] = FINITE | {"huge", "lowest"}


def of_number(x: float) -> State:
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
    safe = all(x == "nonzero" for x in rest if x in FINITE)
    return "huge" if safe and all(x in BOUNDED for x in wild) else "any"


def div(a: State, b: State) -> State:
    if b == "one":
        return a
    if b == "nonzero" or b == "data":
        return a if a in ("zero", "data", "huge", "any") else "huge" if a == "lowest" else "finite"
    return "huge" if a == "one" or a == "nonzero" else "any"


def maximum(a: State, b: State) -> State:
    if a == "lowest" or b == "lowest":
        return b if a == "lowest" else a
    return join(a, b)


def minimum(a: State, b: State) -> State:
    return "lowest" if "lowest" in (a, b) and "any" not in (a, b) else join(a, b)


def where(c: State, a: State, b: State) -> State:
    return a if c in ("one", "nonzero") else b if c == "zero" else join(a, b)


def _table(default: State | None = None, /, **known: State) -> Callable[[State], State]:
    """A unary operator: what is listed, `data` to itself, else `default` where the argument is no NaN, else `any`."""

    def apply(x: State) -> State:
        if x in known:
            return known[x]
        if x == "data":
            return "data"
        return default if default is not None and x in BOUNDED else "any"

    return apply


UNARY: dict[str, Callable[[State], State]] = {
    "neg": neg,
    "inv": _table("huge", one="one", nonzero="nonzero"),
    "exp": _table("huge", zero="one", lowest="zero"),
    "log": _table(one="zero", zero="lowest"),
    "sqrt": _table(zero="zero", one="one"),
    "rsqrt": _table(one="one", zero="huge"),
    "sigmoid": _table("finite", lowest="zero"),
    "erf": _table("finite", zero="zero"),
    "tanh": _table("finite", zero="zero"),
    "sin": _table(zero="zero", one="finite", nonzero="finite", finite="finite"),
    "cos": _table(zero="one", one="finite", nonzero="finite", finite="finite"),
    "abs": _table("huge", zero="zero", one="one", nonzero="nonzero", finite="finite"),
    "finite": _table("huge", lowest="zero", zero="zero", one="one", nonzero="nonzero", finite="finite"),
    "not": _table("finite", zero="one", one="zero"),
    "floor": _table("huge", zero="zero", one="one", nonzero="finite", finite="finite", lowest="lowest"),
    # rounding to a narrower type keeps 0, 1 and -inf; a large value may become infinite
    **{
        f"round_{dtype}": _table("huge", zero="zero", one="one", lowest="lowest")
        for dtype in ("fp16", "bf16", "fp8e4m3", "fp8e5m2")
    },
}

NARY: dict[str, Callable[..., State]] = {
    "add": add,
    "sub": sub,
    "mul": mul,
    "div": div,
    "maximum": maximum,
    "minimum": minimum,
    "where": where,
    "lt": lambda a, b: "finite",
    "le": lambda a, b: "finite",
    "eq": lambda a, b: "one" if a == b and a in ("zero", "one", "lowest") else "finite",
    "and": mul,
    "or": lambda a, b: "one" if "one" in (a, b) else "zero" if a == b == "zero" else "finite",
}


def pointwise(op: str, args: list[State], flags: list[bool]) -> State:
    """The state of a pointwise operator's result; `flags` say which arguments are 0/1, and so select in a product."""
    if op == "mul" and any(f and x == "zero" for f, x in zip(flags, args, strict=True)):
        return "zero"
    if op in UNARY:
        return UNARY[op](args[0])
    return NARY[op](*args) if op in NARY else "any"


def reduce(op: str, inside: State, padding: State) -> State:
    """The state of a sum or maximum over elements of which those in the padding have state `padding`."""
    if op == "max":
        return maximum(inside, padding)
    return add(inside, padding)
