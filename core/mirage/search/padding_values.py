"""Padding of terms: the state of a term in the padding of an axis, where loads give 0, by the rules of its operators."""

from __future__ import annotations

from mirage.meaning.nodes import Const, Index, Input, NegInf, Reduce
from mirage.meaning.terms import Terms
from mirage.operators.block_operators import state_of
from mirage.operators.padding import FINITE, State, of_number


class PaddingStates:
    """The states of an arena's terms in the padding of its axes. Each is found once: a term never changes."""

    def __init__(self, t: Terms) -> None:
        self.t = t
        self._known: dict[tuple[int, str], State] = {}

    def of(self, x: int, axis: str) -> State:
        """The state of `x` in the padding of `axis`. Conservative: "any" covers infinities and NaN, so that 0 * any is any."""
        found = self._known.get((x, axis))
        if found is None:
            found = self._known[x, axis] = self._of(x, axis)
        return found

    def _of(self, x: int, axis: str) -> State:
        t = self.t
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
            return self.of(n.body, axis)
        parts = [self.of(k, axis) for k in n.kids]
        return state_of(t.operator(x), parts, [t.is_boolean(k) for k in n.kids])


def is_finite(state: State) -> bool:
    return state in FINITE
