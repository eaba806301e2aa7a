"""A split reduction: partial accumulators of each part, and the term that combines them.

Plain sums add up, maxima take the maximum, carried accumulators are brought to the final value of their atoms by the
same coefficients that their update has: the shift's factor is part of the algebra, not of an emitter.
"""

from __future__ import annotations

from mirage.ir.index import DimIndex
from mirage.meaning.exp_shift import substitute, unguarded
from mirage.meaning.nodes import Reduce
from mirage.meaning.terms import Terms


def strip_guard(t: Terms, x: int) -> int:
    """`x` without the guards of its maxima: a part without elements has maximum -inf, and its factor is exp(-inf) = 0."""
    mapping = {y: unguarded(t, y) for y in t.walk(x) if t.applies(y, "finite")}
    return substitute(t, x, mapping) if mapping else x


def _over(t: Terms, x: int, mapping: dict[int, int], memo: dict[int, int]) -> int:
    """`x` with reductions (kept by identity) replaced, not looking into other reductions."""
    if x in mapping:
        return mapping[x]
    if x not in memo:
        kids = t.kids(x)
        memo[x] = (
            x
            if isinstance(t.node(x), Reduce) or not kids
            else t.rebuild(x, tuple(_over(t, k, mapping, memo) for k in kids))
        )
    return memo[x]


def combine(t: Terms, output: int, partial: dict[int, tuple[str, tuple[str, ...]]], part: str) -> int:
    """`output` over the partial accumulators. `partial` maps each reduction to (tensor, its axes in order); `part` is
    the axis of the parts, the tensors' first dimension."""
    loads = {
        r: t.input(name, (DimIndex((part,)), *(DimIndex((a,)) for a in axes))) for r, (name, axes) in partial.items()
    }
    final: dict[int, int] = {}
    for r in sorted(partial):
        n = t.reduction(r)
        if n.op == "max":
            final[r] = t.max(part, loads[r])
            continue
        if not n.updates:
            final[r] = t.sum(part, loads[r])
            continue
        whole: dict[int, int] = {}  # each change, from the part's own value to the final one
        for y in n.changes:
            c = t.change_of(y)
            end = _over(t, c.atom, final, {})
            here = strip_guard(t, _over(t, c.atom, loads, {}))
            whole[y] = t.sub(end, here) if c.action == "+" else t.mul(end, t.inv(here))
        body = [
            t.mul(substitute(t, u.coefficient, whole), loads[r if u.sibling is None else u.sibling]) for u in n.updates
        ]
        final[r] = t.sum(part, t.add(*body))
    return _over(t, output, final, {})
