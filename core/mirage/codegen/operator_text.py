"""Triton text of pointwise block operators.

Sums, products, quotients and comparisons are Python's operators and are written out here, in readable form (a + -b is a - b,
a * (1 / b) is a / b); functions have a template in the operator table.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence

from mirage.codegen.text_values import (
    AND,
    ATOM,
    COMPARE,
    OR,
    PRODUCT,
    SUM,
    UNARY,
    TextValue,
    as_condition,
    as_float,
    as_tensor,
    integer,
    joined,
    spread,
)
from mirage.errors import EmissionRefused
from mirage.operators.block_operators import BLOCK

Dims = tuple[str, ...]


def pointwise(op: str, args: Sequence[TextValue], dims: Dims) -> TextValue:
    """The value of a pointwise operator whose result has the wide tile dims `dims`."""
    special = SPECIAL.get(op)
    if special is not None:
        return special(args, dims)
    entry = BLOCK.get(op)
    if entry is None or not entry.triton or entry.reduces:
        raise EmissionRefused(
            f"block operator {op!r} has no Triton text", next_step="give it one in the operator table"
        )
    same, kind = _same(args)
    if kind == "i" and not entry.integral:
        same, kind = [as_float(a) for a in args], "f"
    if kind == "c":
        same, kind = [as_tensor(a) for a in args], "f"
    return template(entry.triton, [spread(a, dims) for a in same], dims, kind)


def template(text: str, args: Sequence[TextValue], dims: Dims, kind: str) -> TextValue:
    """A template of the operator table with its arguments put in, in parentheses where they need them."""
    parts = []
    for i, a in enumerate(args):
        place = re.search(rf"(?<=[(,])\s*\{{{i}\}}\s*(?=[,)])", text)
        parts.append(a.text if place or text == f"{{{i}}}" else a.at(ATOM))
    out = text.format(*parts)
    node = ast.parse(out, mode="eval").body
    return TextValue(out, dims, kind, ATOM if isinstance(node, (ast.Call, ast.Name, ast.Subscript)) else 0)


def _same(args: Sequence[TextValue]) -> tuple[list[TextValue], str]:
    """Arguments of one kind: integers if all are, else floats (numbers follow)."""
    kinds = {a.kind for a in args}
    if kinds == {"c"}:
        return list(args), "c"
    if kinds <= {"i", "c"}:
        whole = [integer(a) for a in args]
        if all(a.number is None or a.number.denominator == 1 for a in args):
            return whole, "i"
    return [as_float(a) for a in args], "f"


def _add(args: Sequence[TextValue], dims: Dims) -> TextValue:
    first = next((i for i, a in enumerate(args) if a.form != "neg"), None)
    order = list(args) if first is None else [args[first], *args[:first], *args[first + 1 :]]
    plain, kind = _same([a.inner[0] if i and a.form == "neg" else a for i, a in enumerate(order)])
    text = ""
    for i, (a, p) in enumerate(zip(order, plain, strict=True)):
        minus = bool(i) and a.form == "neg"
        part = spread(p, dims)
        text += (f" {'-' if minus else '+'} " if i else "") + part.at(PRODUCT if minus else SUM)
    return TextValue(text, dims, kind, SUM if len(args) > 1 else plain[0].level)


def _sub(args: Sequence[TextValue], dims: Dims) -> TextValue:
    (a, b), kind = _same(args)
    return TextValue(f"{spread(a, dims).at(SUM)} - {spread(b, dims).at(PRODUCT)}", dims, kind, SUM)


def _neg(args: Sequence[TextValue], dims: Dims) -> TextValue:
    (a,), kind = _same(args)
    return TextValue(f"-{spread(a, dims).at(UNARY)}", dims, kind, UNARY, form="neg", inner=(a,))


def _fraction(value: TextValue) -> bool:
    """Not a number, or one that a fraction of small numbers is."""
    return value.number is None or value.number == value.number.limit_denominator(1 << 20)


def _product(parts: Sequence[TextValue], dims: Dims) -> TextValue:
    """A product without conditions: factors, then the divisors that came as inverses."""
    over = [p.inner[0] for p in parts if p.form == "inv"]
    top, kind = _same([p for p in parts if p.form != "inv"])
    if over:
        kind = "c" if all(p.kind == "c" for p in parts) else "f"
        top = top if kind == "c" else [as_float(t) for t in top]
    if sum(t.number is not None for t in top) > 1 and not all(_fraction(t) for t in top):
        # Python would make one number of two that stand first: another one than each of them where no fraction fits
        top = sorted(top, key=lambda t: t.number is not None)
    text = joined("*", PRODUCT, [spread(t, dims) for t in top]) if top else "1.0"
    for d in over:
        text += f" / {spread(as_float(d), dims).at(UNARY)}"
    single = len(top) == 1 and not over
    return TextValue(text, dims, kind, spread(top[0], dims).level if single else PRODUCT)


def _mul(args: Sequence[TextValue], dims: Dims) -> TextValue:
    flags = [a for a in args if a.kind == "b"]
    rest = [a for a in args if a.kind != "b"]
    if not flags:
        return _product(rest, dims)
    both = _and(flags, dims)
    if not rest:
        return both
    return TextValue(f"tl.where({both.text}, {_product(rest, dims).text}, 0.0)", dims)


def _div(args: Sequence[TextValue], dims: Dims) -> TextValue:
    a, b = (as_float(x) for x in args)
    kind = "c" if a.kind == b.kind == "c" else "f"
    return TextValue(f"{spread(a, dims).at(PRODUCT)} / {spread(b, dims).at(UNARY)}", dims, kind, PRODUCT)


def _inv(args: Sequence[TextValue], dims: Dims) -> TextValue:
    a = args[0]
    if a.form == "sqrt":
        return pointwise("rsqrt", a.inner, dims)
    a = as_float(a)
    text = f"1.0 / {spread(a, dims).at(UNARY)}"
    return TextValue(text, dims, "c" if a.kind == "c" else "f", PRODUCT, form="inv", inner=(a,))


def _sqrt(args: Sequence[TextValue], dims: Dims) -> TextValue:
    a = as_tensor(args[0])
    return TextValue(f"tl.sqrt({spread(a, dims).text})", dims, form="sqrt", inner=(args[0],))


def _where(args: Sequence[TextValue], dims: Dims) -> TextValue:
    condition = as_condition(args[0])
    if args[1].kind == args[2].kind == "b":
        a, b, kind = args[1], args[2], "b"
    else:
        (a, b), kind = _same(args[1:])
    kind = "f" if kind == "c" else kind
    texts = (spread(condition, dims).text, spread(a, dims).text, spread(b, dims).text)
    return TextValue(f"tl.where({', '.join(texts)})", dims, kind)


def _finite(args: Sequence[TextValue], dims: Dims) -> TextValue:
    a = spread(as_tensor(args[0]), dims)
    return TextValue(f'tl.where({a.at(SUM)} == float("-inf"), 0.0, {a.text})', dims)


def _compare(operator: str) -> Callable[[Sequence[TextValue], Dims], TextValue]:
    def text(args: Sequence[TextValue], dims: Dims) -> TextValue:
        (a, b), kind = _same(args)
        if kind == "c":
            a = as_tensor(a)
        return TextValue(f"{spread(a, dims).at(OR)} {operator} {spread(b, dims).at(OR)}", dims, "b", COMPARE)

    return text


def _and(args: Sequence[TextValue], dims: Dims) -> TextValue:
    parts = [spread(as_condition(a), dims) for a in args]
    return parts[0] if len(parts) == 1 else TextValue(joined("&", AND, parts), dims, "b", AND)


def _or(args: Sequence[TextValue], dims: Dims) -> TextValue:
    parts = [spread(as_condition(a), dims) for a in args]
    return parts[0] if len(parts) == 1 else TextValue(joined("|", OR, parts), dims, "b", OR)


def _not(args: Sequence[TextValue], dims: Dims) -> TextValue:
    a = spread(as_condition(args[0]), dims)
    return TextValue(f"~{a.at(UNARY)}", dims, "b", UNARY)


SPECIAL: dict[str, Callable[[Sequence[TextValue], Dims], TextValue]] = {
    "add": _add,
    "sub": _sub,
    "neg": _neg,
    "mul": _mul,
    "div": _div,
    "inv": _inv,
    "sqrt": _sqrt,
    "where": _where,
    "finite": _finite,
    "lt": _compare("<"),
    "le": _compare("<="),
    "eq": _compare("=="),
    "and": _and,
    "or": _or,
    "not": _not,
}
