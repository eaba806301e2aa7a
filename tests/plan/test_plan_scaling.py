"""Norms go into the operand that is computed anyway, and nothing else does."""

from __future__ import annotations

import numpy as np
import pytest
from workloads.evaluate import evaluate

from mirage.mugraph.check import check
from mirage.mugraph.grammar import Compute, MuGraph
from mirage.mugraph.parse import parse
from mirage.mugraph.walk import parts, sites
from mirage.plan.operand_scaling import operand_scaling

# Every shape cuts a tail off its tiles.
NORMED = """mugraph normed
axes j=16 l=21 m=5
input Q fp16 [m, j]
input G fp16 [j]
input K fp16 [l, j]
output O fp16 [m]
kernel one warps 4 stages 1:
  block cluster 1:
    dim m (m) grid tile 4
    dim j (j) resident tile 16
    dim l (l) loop tile 16
    size_j[] = size(axis=j)
    r[] = rsqrt(size_j)
    c[] = const(value=1/100)
    q[m, j] = load Q[m, j]
    square[m, j] = mul(q, q)
    total[m] = sum(square; dim=j)
    more[m] = add(total, c)
    norm[m] = rsqrt(more)
    g[j] = load G[j]
    for l:
      k[j, l] = load K[l, j]
      long[l] = sum(k; dim=j)
      gained[m, j] = mul(g, q)
      t[m, l] = dot(gained, k; dim=j)
      scaled[m, l] = mul(r, norm, long, t)
      inside[l] = mask(dim=l)
      kept[m, l] = mul(inside, scaled)
      part[m] = sum(kept; dim=l)
      acc[m] += part
    store O[m] = acc
"""


def operators(m: MuGraph) -> dict[str, Compute]:
    every = [s.statement for p in parts(m) for s in sites(p)]
    return {x.out: x for x in every if isinstance(x, Compute)}


def changed(text: str, *pairs: tuple[str, str]) -> MuGraph:
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    m = parse(text)
    check(m)
    return m


def same(m: MuGraph) -> MuGraph:
    """The µGraph scaled: still valid, and the same values."""
    scaled = operand_scaling(m)
    check(scaled)
    assert operand_scaling(scaled) == scaled
    r = np.random.default_rng(1)
    inputs = [r.standard_normal(m.shape(t)) for t in m.inputs]
    np.testing.assert_allclose(evaluate(scaled, *inputs), evaluate(m, *inputs), rtol=1e-10, atol=1e-12)
    return scaled


def test_a_norm_and_a_number_go_into_the_computed_operand() -> None:
    found = operators(same(changed(NORMED)))
    assert found["gained"].args == ("g", "q", "r", "norm")
    assert found["kept"].args == ("long", "inside", "t") and "scaled" not in found


def test_through_several_products_in_a_row() -> None:
    m = changed(
        NORMED,
        ("scaled[m, l] = mul(r, norm, long, t)", "near[m, l] = mul(long, t)\n      scaled[m, l] = mul(r, norm, near)"),
    )
    found = operators(same(m))
    assert found["gained"].args == ("g", "q", "r", "norm") and "near" not in found


def test_a_number_stays_where_the_tile_is_read_once_anyway() -> None:
    m = changed(
        NORMED,
        ("mul(r, norm, long, t)", "mul(r, norm, t)"),
        ("kept[m, l] = mul(inside, scaled)", "zero[] = const(value=0)\n      kept[m, l] = where(inside, scaled, zero)"),
    )
    found = operators(same(m))
    assert found["gained"].args == ("g", "q", "norm") and found["scaled"].args == ("r", "t")


def test_the_last_factor_takes_the_product_along() -> None:
    m = changed(
        NORMED,
        ("mul(r, norm, long, t)", "mul(norm, t)"),
        ("kept[m, l] = mul(inside, scaled)", "zero[] = const(value=0)\n      kept[m, l] = where(inside, scaled, zero)"),
    )
    found = operators(same(m))
    assert found["scaled"].op == "dot" and "t" not in found


def test_without_a_loop() -> None:
    text = NORMED.replace("l (l) loop tile 16", "l (l) resident tile 32").replace("    for l:\n", "")
    text = text.replace("      ", "    ").replace("    acc[m] += part\n", "").replace("O[m] = acc", "O[m] = part")
    assert operators(same(changed(text)))["gained"].args == ("g", "q", "r", "norm")


STAYS = {
    "an operand as it is loaded": (("dot(gained, k", "dot(q, k"),),
    "a factor along the other operand's dim": (("mul(r, norm, long, t)", "mul(long, t)"),),
    "a norm of something else": (
        ("square[m, j] = mul(q, q)", "other[m, j] = mul(g, q)\n    square[m, j] = mul(other, other)"),
        ("    g[j] = load G[j]\n", ""),
        ("    q[m, j] = load", "    g[j] = load G[j]\n    q[m, j] = load"),
    ),
    "a factor of one element, however small it is": (
        ("more[m] = add(total, c)", "square_r[] = mul(r, r)\n    more[] = add(square_r, c)"),
        ("norm[m] = rsqrt(more)", "norm[] = rsqrt(more)"),
    ),
    "a norm with more in it": (("more[m] = add(total, c)", "more[m] = add(total, c, total)"),),
    "one over what may be zero": (("more[m] = add(total, c)", "more[m] = add(total, total)"),),
    "one over what a number takes below zero": (("value=1/100", "value=-1/100"),),
    "one over what may be below zero": (("total[m] = sum(square; dim=j)", "total[m] = sum(q; dim=j)"),),
    "one over a cube": (("mul(q, q)", "mul(q, q, q)"),),
    "one over a square": (("norm[m] = rsqrt(more)", "norm[m] = inv(more)"),),
    "what is no norm": (("norm[m] = rsqrt(more)", "norm[m] = sqrt(more)"),),
    "the root of another size": (
        ("mul(r, norm, long, t)", "mul(r, long, t)"), ("size_j[] = size(axis=j)", "size_j[] = size(axis=l)"),
    ),
    "a product that is also read otherwise": (
        ("kept[m, l] = mul(inside, scaled)", "both[m, l] = add(scaled, t)\n      kept[m, l] = mul(inside, both)"),
    ),
    "a product that is multiplied by itself": (("mul(r, norm, long, t)", "mul(r, norm, t, t)"),),
    "an operand that is also read otherwise": (
        ("mul(r, norm, long, t)", "mul(r, norm, other, t)"),
        ("      t[m, l] = dot", "      other[m] = sum(gained; dim=j)\n      t[m, l] = dot"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", STAYS)
def test_everything_else_stays(what: str) -> None:
    m = changed(NORMED, *STAYS[what])
    assert operand_scaling(m) == m


@pytest.mark.parametrize("old", ["gained[m, j] = mul(g, q)", "scaled[m, l] = mul(r, norm, long, t)"])
def test_what_reads_a_running_sum_stays_where_it_is(old: str) -> None:
    m = parse(NORMED.replace(old, old.replace(")", ", acc@old)")))
    assert m != parse(NORMED) and operand_scaling(m) == m


def test_a_mean_is_a_norm_too_and_so_is_one_over_a_root() -> None:
    m = changed(
        NORMED,
        ("more[m] = add(total, c)", "mean[m] = div(total, size_j)\n    more[m] = add(c, mean)"),
        ("norm[m] = rsqrt(more)", "root[m] = sqrt(more)\n    norm[m] = inv(root)"),
    )
    assert operators(same(m))["gained"].args == ("g", "q", "r", "norm")


def test_both_operands() -> None:
    m = changed(
        NORMED,
        ("long[l] = sum(k; dim=j)", "high[j, l] = mul(k, k)\n      sum_k[l] = sum(high; dim=j)\n"
         "      off[l] = add(sum_k, c)\n      long[l] = rsqrt(off)\n      weighed[j, l] = mul(g, k)"),
        ("dot(gained, k; dim=j)", "dot(gained, weighed; dim=j)"),
    )  # fmt: skip
    found = operators(same(m))
    assert found["gained"].args == ("g", "q", "r", "norm") and found["weighed"].args == ("g", "k", "long")
    assert found["kept"].args == ("inside", "t")


def test_a_scale_along_the_contracted_dim_or_one_more_stays() -> None:
    """The product is then spread over a dim that it has not."""
    wide = NORMED.replace("kept[m, l] = mul(inside, scaled)", "kept[m, j, l] = mul(inside, spread)")
    wide = wide.replace("part[m] = sum(kept; dim=l)", "sums[m, j] = sum(kept; dim=l)\n      part[m] = sum(sums; dim=j)")
    for factors in ("g, t", "norm, g, t", "norm, square, t"):
        m = changed(wide, ("scaled[m, l] = mul(r, norm, long, t)", f"spread[m, j, l] = mul({factors})"))
        assert operand_scaling(m) == m
