"""What a term is in the padding of an axis, where loads give 0: the states that its operators make of the loads'."""

from __future__ import annotations

from mirage.meaning.terms import Terms
from mirage.operators.block_operators import state_of
from mirage.operators.padding import FINITE, State


def in_padding(t: Terms, x: int, axis: str, memo: dict[int, State] | None = None) -> State:
    """Conservative: "any" covers infinities and NaN, so that 0 * any is any."""
    memo = {} if memo is None else memo
    if x not in memo:
        memo[x] = _in_padding(t, x, axis, memo)
    return memo[x]


def is_finite(state: State) -> bool:
    return state in FINITE


def _in_padding(t: Terms, x: int, axis: str, memo: dict[int, State]) -> State:
    n = t.node(x)
    kind = n[0]
    if axis not in t.dims(x):
        if kind == "const":
            return "zero" if n[1] == 0 else "one" if n[1] == 1 else "nonzero"
        return "any" if kind == "ninf" else "finite"
    if kind == "in":
        return "zero"
    if kind == "index":
        return "finite"
    if kind == "red":
        return in_padding(t, n[3], axis, memo)
    kids = t.kids(x)
    parts = [in_padding(t, k, axis, memo) for k in kids]
    return state_of(n[1] if kind == "fn" else kind, parts, [t.is_boolean(k) for k in kids])
