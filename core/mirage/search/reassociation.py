"""A contraction taken through a nested sum: sum_k x_k (sum_r A_kr B_rn) = sum_r (sum_k x_k A_kr) B_rn.

Inside a loop over k both sides are right for a tile of k: what a tile gives is summed up, and a contraction over r commutes
with that. So `x W + (x A) B` has one accumulator, as if [x, xA] were contracted with [W; B], and nothing is concatenated.
The left side forms (W + A B) for a tile of k instead; which one is less work depends on the sizes, so both are searched.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mirage.meaning.nodes import Add, Reduce
from mirage.meaning.terms import Terms


@dataclass(frozen=True)
class Through:
    """A product over an axis: `inner` is contracted over the axis first, then with `outer` over `axis`; `rest` does not
    have the axis that is contracted first."""

    axis: str
    inner: tuple[int, ...]
    outer: tuple[int, ...]
    rest: tuple[int, ...]


def through(t: Terms, axis: str, product: int) -> Through | None:
    """The sum over `axis` of `product` taken through a plain sum among its factors, if there is one."""
    coefficient, factors = t.flat("mul", (product,))
    for f in factors:
        n = t.node(f)
        if not isinstance(n, Reduce) or not plain_sum(t, n) or axis not in t.dims(f) or n.axis == axis:
            continue
        e = n.axis
        others = [g for g in factors if g != f]
        if has_axis(t, others, e):
            continue
        scale, parts = t.flat("mul", (n.body,))
        inner = [g for g in (*others, *parts) if axis in t.dims(g)]
        outer = [g for g in parts if axis not in t.dims(g)]
        if not outer or not has_axis(t, inner, e) or not has_axis(t, others, axis):
            continue
        rest = [g for g in others if axis not in t.dims(g)]
        rest += [t.const(c) for c in (coefficient, scale) if c != 1]
        return Through(e, tuple(inner), tuple(outer), tuple(rest))
    return None


def plain_sum(t: Terms, n: Reduce) -> bool:
    """A sum of products that carries nothing from pass to pass."""
    return n.op == "sum" and not n.changes and not isinstance(t.node(n.body), Add)


def has_axis(t: Terms, terms: Iterable[int], axis: str) -> bool:
    return any(axis in t.dims(x) for x in terms)


def products(t: Terms, body: int) -> tuple[int, ...]:
    """The products that a body adds up."""
    n = t.node(body)
    return n.parts if isinstance(n, Add) else (body,)


def any_through(t: Terms, reductions: Iterable[int]) -> bool:
    return any(
        through(t, n.axis, x) is not None
        for n in map(t.reduction, reductions) if n.op == "sum" for x in products(t, n.body)
    )  # fmt: skip
