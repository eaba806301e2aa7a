"""Padding of terms: the state of a term in the padding of an axis, where loads give 0, by the rules of its operators."""

from __future__ import annotations

from mirage.meaning.nodes import Const, Index, Input, NegInf, Reduce
from mirage.meaning.terms import Terms
from mirage.operators.block_operators import state_of
from mirage.operators.padding import FINITE, State, of_number


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
    if axis not in t.dims(x):
        if isinstance(n, Const):
            return of_number(n.value)
        return "any" if isinstance(n, NegInf) else "finite"
    if isinstance(n, Input):
        return "zero"
    if isinstance(n, Index):
        return "finite"
    if isinstance(n, Reduce):
        return in_padding(t, n.body, axis, memo)
    parts = [in_padding(t, k, axis, memo) for k in n.kids]
    return state_of(t.operator(x), parts, [t.is_boolean(k) for k in n.kids])
