"""Operand scaling: the norm of an operand that is computed anyway goes into it, before the matrix product.

`(g * q) @ k * rsqrt(sum(q * q) / n + eps)`, the sum along the contracted dim, becomes `(g * q * rsqrt(...)) @ k`. What goes into
a matrix instruction is rounded to the dtype of the tensors: an operand that is not divided by its norm may be too large for
it, or so small that it loses digits, where the function's own values are not. An element over its norm is at most the root of n;
another factor says nothing about the operand, and stays. The tile of products is then multiplied by less, once an iteration.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from mirage.mugraph.grammar import Accumulate, BlockGraph, Compute, Loop, MuGraph, Statement
from mirage.mugraph.walk import each_block
from mirage.plan.straight_runs import Item, read_by

Made = Mapping[str, Compute]  # by name, what an operator makes of tiles


def operand_scaling(m: MuGraph) -> MuGraph:
    """Every matrix product with the norms of its computed operands inside."""
    return each_block(m, _block)


def _block(b: BlockGraph) -> BlockGraph:
    axes = {d.name: d.axes for d in b.dims}
    if not any(isinstance(item, Loop) for item in b.body):
        return replace(b, body=_scaled([x for x in b.body if not isinstance(x, Loop)], {}, axes))
    body: list[Item] = []  # what stands outside of the loops stays: they may read it
    made: dict[str, Compute] = {}
    for item in b.body:
        if isinstance(item, Loop):
            item = replace(item, body=_scaled(list(item.body), made, axes))
        elif isinstance(item, Compute):
            made[item.out] = item
        body.append(item)
    return replace(b, body=tuple(body))


def _scaled(body: list[Statement], outside: Made, axes: Mapping[str, tuple[str, ...]]) -> tuple[Statement, ...]:
    """The body with every operand scaled that can be. `outside`: what was made before it."""
    while True:
        made = {**outside, **{x.out: x for x in body if isinstance(x, Compute)}}
        for dot in [x for x in body if isinstance(x, Compute) and x.op == "dot"]:
            new = _step(body, dot, made, axes[dot.attr("dim")])
            if new is not None:
                body = new
                break
        else:
            return tuple(body)


def _step(body: list[Statement], dot: Compute, made: Made, axes: tuple[str, ...]) -> list[Statement] | None:
    """The body with a norm moved into an operand of `dot`, and with it the root of the size that is contracted."""
    scales, factors = _scales(body, dot)
    if not scales or dot.args[0] == dot.args[1] or any(_running(body, x) for x in scales):
        return None
    for name in dot.args:
        operand = made.get(name)
        if operand not in body or operand.op != "mul" or _users(body, name) != [dot] or _running(body, operand):
            continue
        norms = [f for f in factors if _norm_of(made, f, dot.attr("dim")) in operand.args]
        if not norms:
            continue
        rest = _staying(made, [f for f in factors if f not in norms], axes)
        moved = [f for f in factors if f not in rest]
        new = [replace(operand, args=(*operand.args, *moved)), dot]
        if rest:
            new.append(replace(scales[-1], args=(*rest, dot.out)))
        else:
            new[1] = replace(dot, out=scales[-1].out)
        at = body.index(scales[-1])
        old = (operand, dot, *scales)
        return [x for x in body[:at] if x not in old] + new + body[at + 1 :]
    return None


def _staying(made: Made, factors: list[str], axes: tuple[str, ...]) -> list[str]:
    """Those of the other factors that stay behind the product: without a root of the size that is contracted, unless there
    is nothing else. Then a number would cost a pass over the tile by itself, and stays."""
    rest = [f for f in factors if not _is_root_of_size(made, f, axes)]
    return rest or factors


def _scales(body: list[Statement], dot: Compute) -> tuple[list[Compute], list[str]]:
    """The products that a matrix product goes through, each the only one that reads the one before, and their other factors.
    None of them has other dims."""
    found: list[Compute] = []
    factors: list[str] = []
    name = dot.out
    while len(users := _users(body, name)) == 1:
        (user,) = users
        if not isinstance(user, Compute) or user.op != "mul" or user.args.count(name) != 1:
            break
        if set(user.dims) != set(dot.dims):
            break
        found.append(user)
        factors += [f for f in user.args if f != name]
        name = user.out
    return found, factors


def _norm_of(made: Made, name: str, dim: str) -> str | None:
    """The tile x if `name` is one over the root of the sum, or mean, of x * x along `dim` and a number above zero."""
    under = _made(made, name, "rsqrt")
    if under is None:
        inverse = _made(made, name, "inv")
        under = inverse and _made(made, inverse.args[0], "sqrt")
    total = under and _made(made, under.args[0], "add")
    if total is None or len(total.args) != 2:
        return None
    for number, mean in (total.args, total.args[::-1]):
        divided = _made(made, mean, "div")
        if divided is not None and _made(made, divided.args[1], "size"):
            mean = divided.args[0]
        added = _made(made, mean, "sum")
        square = added and _made(made, added.args[0], "mul")
        if square is None or added is None or added.attr("dim") != dim or not _is_above_zero(made, number):
            continue
        if len(square.args) == 2 and square.args[0] == square.args[1]:
            return square.args[0]
    return None


def _made(made: Made, name: str, op: str) -> Compute | None:
    """The operator that makes a tile, if it is of that name."""
    found = made.get(name)
    return found if found is not None and found.op == op else None


def _is_above_zero(made: Made, name: str) -> bool:
    number = _made(made, name, "const")
    if number is None:
        return False
    value = number.attr("value").removeprefix("~")
    return (Fraction(value) if "/" in value else float(value)) > 0


def _is_root_of_size(made: Made, name: str, axes: tuple[str, ...]) -> bool:
    root = _made(made, name, "rsqrt")
    size = root and _made(made, root.args[0], "size")
    return size is not None and (size.attr("axis"),) == axes


def _users(body: list[Statement], name: str) -> list[Statement]:
    return [x for x in body if name in read_by((x,))]


def _running(body: list[Statement], x: Compute) -> bool:
    """True if it reads an accumulator of this loop, which is not the same at every place."""
    names = read_by((x,))
    return any(isinstance(y, Accumulate) and y.out in names for y in body)
