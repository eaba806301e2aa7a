"""What a term is in the padding of an axis, where loads give 0: exactly zero, finite, or unknown."""

from __future__ import annotations

from typing import Literal

from mirage.meaning.terms import Terms

Pad = Literal["zero", "finite", "unknown"]
BOUNDED = {"sigmoid", "tanh", "erf", "sin", "cos", "lt", "le", "eq", "and", "or", "not"}
KEEPS_ZERO = {"abs", "tanh", "erf", "sin", "sqrt"}


def in_padding(t: Terms, x: int, axis: str, memo: dict[int, Pad] | None = None) -> Pad:
    """Conservative: "unknown" covers infinities and NaN, so that 0 * unknown is unknown."""
    memo = {} if memo is None else memo
    if x not in memo:
        memo[x] = _in_padding(t, x, axis, memo)
    return memo[x]


def _in_padding(t: Terms, x: int, axis: str, memo: dict[int, Pad]) -> Pad:
    if axis not in t.dims(x):
        return "unknown" if t.kind(x) == "ninf" else "zero" if t.is_const(x, 0) else "finite"
    n = t.node(x)
    kind = n[0]
    if kind == "in":
        return "zero"
    if kind == "index":
        return "finite"
    if kind == "red":
        body = in_padding(t, n[3], axis, memo)
        return body if n[1] == "sum" or body != "zero" else "zero"
    parts = [in_padding(t, k, axis, memo) for k in t.kids(x)]
    if kind == "mul":
        selected = any(p == "zero" and t.is_boolean(k) for k, p in zip(t.kids(x), parts, strict=True))
        if selected or ("zero" in parts and "unknown" not in parts):
            return "zero"
        return "finite" if "unknown" not in parts else "unknown"
    if kind == "add":
        if all(p == "zero" for p in parts):
            return "zero"
        return "unknown" if "unknown" in parts else "finite"
    if kind == "sqrt":
        return "zero" if parts[0] == "zero" else "unknown"
    if kind == "exp":
        return "finite" if parts[0] == "zero" else "unknown"
    if kind == "fn":
        if n[1] in KEEPS_ZERO and parts[0] == "zero":
            return "zero"
        if n[1] in BOUNDED:
            return "finite"
        if n[1] in ("maximum", "minimum", "abs", "finite") and "unknown" not in parts:
            return "zero" if all(p == "zero" for p in parts) else "finite"
        if n[1] == "where" and parts[1] == parts[2] != "unknown":
            return parts[1]
    return "unknown"
