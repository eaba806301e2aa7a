"""Rule on partial results: what one tile of a loop sums up means nothing until the accumulator of the loop has it all.

A sum (dot, maximum) over the loop's dim inside the loop is the result of one tile, so it depends on how the dim is cut.
It may go through what commutes with the accumulation, and nothing else: partial sums are added, negated, scaled by what
does not have the loop's dim, summed and contracted over other dims; partial maxima are joined and shifted.
"""

from __future__ import annotations

from mirage.mugraph import old_value
from mirage.mugraph.grammar import Accumulate, Compute, MuGraph
from mirage.mugraph.rules.breach import Breach, Limits, breach
from mirage.mugraph.walk import computes, parts, reads, sites
from mirage.operators.block_operators import BLOCK


def _kind(c: Compute, dim: str, partial: dict[str, str]) -> str:
    """What the result of an operator in the loop over `dim` is: a partial "sum" or "max", or "" if it is no partial."""
    kinds = [partial.get(old_value.bare(a), "") for a in c.args]
    if not any(kinds):
        over = BLOCK[c.op].form in ("reduce", "dot") and c.attr("dim") == dim
        return ("max" if c.op == "max" else "sum") if over else ""
    kind = next(k for k in kinds if k)
    how = BLOCK[c.op].partial.get(kind)
    count = sum(k == kind for k in kinds)
    fits = {"all": count == len(kinds), "one": count == 1, "first": count == 1 and kinds[0] == kind, None: False}[how]
    if not fits or any(k not in ("", kind) for k in kinds):
        raise Breach("", f"{c.op} uses the partial {kind} of one tile, which depends on how {dim} is cut")
    return kind


def partials(m: MuGraph, limits: Limits) -> None:
    """What is reduced over a loop's dim reaches the loop's accumulator only through what commutes with it."""
    for part in parts(m):
        partial: dict[str, str] = {}
        at = -1
        for s in sites(part):
            if s.position != at:
                partial, at = {}, s.position
            if s.loop is None:
                continue
            x = s.statement
            if isinstance(x, Accumulate):
                if partial.get(x.arg, "") != x.op:
                    raise breach(s, f"the contribution is no partial {x.op} over {s.loop.dim}")
                if any(r in partial for r in reads(x)[1:]):
                    raise breach(s, "a coefficient is the partial result of one tile")
                continue
            dims: set[str] = set()
            for c in computes(x):
                try:
                    kind = _kind(c, s.loop.dim, partial)
                except Breach as b:
                    raise breach(s, b.message) from None
                dims |= set(c.dims) if kind else set()
                if kind:
                    partial[c.out] = kind
            if s.loop.dim in dims:
                raise breach(s, f"a partial result is spread over {s.loop.dim} again")
