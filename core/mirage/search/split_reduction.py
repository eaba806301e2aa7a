"""A split reduction: partial accumulators of each part, and the term that combines them.

Plain sums add up, maxima take the maximum, carried accumulators are brought to the final value of their atoms by the
same coefficients that their update has: the shift's factor is part of the algebra, not of an emitter.
"""

from __future__ import annotations

from mirage.ir.index import DimIndex
from mirage.meaning.exp_shift import substitute
from mirage.meaning.terms import Terms


def strip_guard(t: Terms, x: int) -> int:
    """`x` without the guards of its maxima: a part without elements has maximum -inf, and its factor is exp(-inf) = 0."""
    mapping = {y: t.node(y)[2][0] for y in t.walk(x) if t.kind(y) == "fn" and t.node(y)[1] == "finite"}
    return substitute(t, x, mapping) if mapping else x


def _over(t: Terms, x: int, mapping: dict[int, int], memo: dict[int, int]) -> int:
    """`x` with reductions (kept by identity) replaced, not looking into other reductions."""
    if x in mapping:
        return mapping[x]
    if x not in memo:
        kids = t.kids(x)
        memo[x] = x if t.kind(x) == "red" or not kids else t.rebuild(x, tuple(_over(t, k, mapping, memo) for k in kids))
    return memo[x]


def combine(t: Terms, output: int, partial: dict[int, tuple[str, tuple[str, ...]]], part: str) -> int:
    """`output` over the partial accumulators. `partial` maps each reduction to (tensor, its axes in order); `part` is
    the axis of the parts, the tensors' first dimension."""
    loads = {
        r: t.input(name, (DimIndex((part,)), *(DimIndex((a,)) for a in axes))) for r, (name, axes) in partial.items()
    }
    final: dict[int, int] = {}
    for r in sorted(partial):
        _, op, _, _, deltas, update = t.node(r)
        if op == "max":
            final[r] = t.max(part, loads[r])
            continue
        if not deltas:
            final[r] = t.sum(part, loads[r])
            continue
        change: dict[int, int] = {}
        for y in deltas:
            _, atom, action = t.node(y)
            end = _over(t, atom, final, {})
            here = strip_guard(t, _over(t, atom, loads, {}))
            change[y] = t.sub(end, here) if action == "+" else t.mul(end, t.inv(here))
        body = [t.mul(substitute(t, c, change), loads[r if s is None else s]) for c, s in update]
        final[r] = t.sum(part, t.add(*body))
    return _over(t, output, final, {})
