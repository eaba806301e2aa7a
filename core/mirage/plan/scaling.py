"""Operand scaling: the norms that a matrix product is scaled by go into the operand that is computed anyway.

`(g * q) @ k * rsqrt(mean(q * q) + eps)` becomes `(g * q * rsqrt(...)) @ k`. What goes into a matrix instruction is rounded to the
dtype of the tensors: an operand that is not yet divided by its norm may be too large for it, or so small that it loses digits,
where the function's own values are not. The tile of products is then multiplied by less, once an iteration.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from mirage.mugraph.grammar import Accumulate, BlockGraph, Compute, CustomKernel, Loop, MuGraph, Statement
from mirage.plan.bodies import Item, read_by

Made = Mapping[str, Compute]  # by name, what an operator makes of tiles


def operand_scaling(m: MuGraph) -> MuGraph:
    """Every matrix product with the norms of its computed operands inside."""
    kernels = []
    for k in m.kernels:
        if isinstance(k, CustomKernel):
            k = replace(k, block=_block(k.block), tail=_block(k.tail) if k.tail is not None else None)
        kernels.append(k)
    return replace(m, kernels=tuple(kernels))


def _block(b: BlockGraph) -> BlockGraph:
    loops = [item for item in b.body if isinstance(item, Loop)]
    if not loops:
        return replace(b, body=_scaled([x for x in b.body if not isinstance(x, Loop)], {}))
    body: list[Item] = []  # what stands outside of the loops stays: they may read it
    made: dict[str, Compute] = {}
    for item in b.body:
        if isinstance(item, Loop):
            item = replace(item, body=_scaled(list(item.body), made))
        elif isinstance(item, Compute):
            made[item.out] = item
        body.append(item)
    return replace(b, body=tuple(body))


def _scaled(body: list[Statement], outside: Made) -> tuple[Statement, ...]:
    """The body with every operand scaled that can be. `outside`: what was made before it."""
    made = {**outside, **{x.out: x for x in body if isinstance(x, Compute)}}
    for dot in [x for x in body if isinstance(x, Compute) and x.op == "dot"]:
        scales, factors = _scales(body, dot)
        if not scales or any(_running(body, x) for x in scales):
            continue
        for name in dot.args:
            operand = made.get(name)
            if operand not in body or operand.op != "mul" or _users(body, name) != [dot] or _running(body, operand):
                continue
            norms = [f for f in factors if f in made and _is_norm(made, f) and set(made[f].dims) <= set(operand.dims)]
            rest = [f for f in factors if f not in norms]
            if not rest:  # a number costs a pass over the tile where no other factor takes it
                rest = [f for f in norms if not made[f].dims]
                norms = [f for f in norms if made[f].dims]
            if not any(made[f].dims for f in norms) or dot.args[0] == dot.args[1]:
                continue
            new = [replace(operand, args=(*operand.args, *norms)), dot]
            if rest:
                new.append(replace(scales[-1], args=(*rest, dot.out)))
            else:
                new[1] = replace(dot, out=scales[-1].out)
            made.update((x.out, x) for x in new)
            at = body.index(scales[-1])
            old = (operand, dot, *scales)
            body = [x for x in body[:at] if x not in old] + new + body[at + 1 :]
            break
    return tuple(body)


def _scales(body: list[Statement], dot: Compute) -> tuple[list[Compute], list[str]]:
    """The products that a matrix product goes through, each the only one that reads the one before, and their other factors."""
    found: list[Compute] = []
    factors: list[str] = []
    name = dot.out
    while len(users := _users(body, name)) == 1:
        (user,) = users
        if not isinstance(user, Compute) or user.op != "mul" or user.args.count(name) != 1:
            break
        found.append(user)
        factors += [f for f in user.args if f != name]
        name = user.out
    return found, factors


def _is_norm(made: Made, name: str) -> bool:
    """Whether it is one over (the root of) what is above zero: finite, so that a zero beside it in the operand stays one."""
    f = made[name]
    return f.op in ("inv", "rsqrt") and _sign(made, f.args[0]) > 0


def _sign(made: Made, name: str) -> int:
    """1 for what is above zero, 0 for what is not below it, -1 where that is not known."""
    f = made.get(name)
    if f is None:
        return -1
    if f.op == "const":
        value = float(Fraction(v)) if "/" in (v := f.attr("value").removeprefix("~")) else float(v)
        return (value > 0) - (value < 0)
    if f.op == "size":
        return 1
    if f.op in ("exp", "abs") or (f.op == "mul" and len(f.args) == 2 and f.args[0] == f.args[1]):
        return 0
    signs = [_sign(made, x) for x in f.args]
    if f.op == "add" and min(signs) >= 0:
        return max(signs)
    return min(0, *signs) if f.op in ("sum", "mul", "div", "sqrt") else -1


def _users(body: list[Statement], name: str) -> list[Statement]:
    return [x for x in body if name in read_by((x,))]


def _running(body: list[Statement], x: Compute) -> bool:
    """Whether it reads an accumulator of this loop, which is not the same at every place."""
    names = read_by((x,))
    return any(isinstance(y, Accumulate) and y.out in names for y in body)
