"""Layout: the integer program finds what trying every order finds, and never changes a value."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from workloads.evaluate import evaluate
from workloads.hand import BUILDERS, real, small
from workloads.layouts import shuffled

from mirage.errors import InvalidMugraph
from mirage.mugraph.check import check
from mirage.mugraph.grammar import Compute, Load, MuGraph, Store
from mirage.mugraph.parse import parse
from mirage.mugraph.walk import computes, parts, sites
from mirage.plan import plan
from mirage.plan.dim_order import Key, Order, Orders, layout

NAMES = sorted(BUILDERS)


def dots(m: MuGraph) -> list[Compute]:
    return [c for p in parts(m) for s in sites(p) for c in computes(s.statement) if c.op == "dot"]


def cost(o: Orders, chosen: dict[Key, Order]) -> float:
    alone = sum(n.alone[n.orders.index(chosen[key])] for key, n in o.nodes.items())
    return alone + sum(e.bytes for e in o.edges if not e.agree(chosen[e.a], chosen[e.b]))


PRODUCT = """mugraph product
axes m=40 k=90 n=200
input X fp16 [m, k]
input W fp16 [k, n]
output O fp16 [m, n]
kernel one warps 4 stages 3:
  block cluster 1:
    dim m (m) grid tile 16
    dim n (n) grid tile TILE
    dim k (k) loop tile 32
    for k:
      x[m, k] = load X[m, k]
      w[k, n] = load W[k, n]
      part[m, n] = dot(x, w; dim=k)
      y[m, n] += part
    o[m, n] = mul(y, y)
    store O[m, n] = o
"""

TURNED = """mugraph turned
axes m=64 n=512
input X fp16 [m, n]
temp T fp32 [m, n]
output O fp16 [n]
kernel write warps 4 stages 1:
  block cluster 1:
    dim n (n) grid tile 64
    dim m (m) grid tile 8
    x[m, n] = load X[m, n]
    y[m, n] = mul(x, x)
    store T[m, n] = y
kernel read warps 4 stages 1:
  block cluster 1:
    dim n (n) grid tile WIDTH
    dim m (m) resident tile 64
    t[m, n] = load T[m, n]
    o[n] = sum(t; dim=m)
    store O[n] = o
"""


def small_programs() -> list[MuGraph]:
    texts = [PRODUCT.replace("TILE", str(n)) for n in (32, 64, 128)]
    texts += [TURNED.replace("WIDTH", str(n)) for n in (1, 4, 32)]
    return [parse(t) for t in texts]


@pytest.mark.parametrize("m", small_programs(), ids=lambda m: m.name)
def test_the_program_finds_what_trying_everything_finds(m: MuGraph) -> None:
    o = Orders(m)
    chosen = o.solve()
    keys = list(o.nodes)
    assert np.prod([len(n.orders) for n in o.nodes.values()]) < 1e5
    every = (dict(zip(keys, x, strict=True)) for x in product(*(n.orders for n in o.nodes.values())))
    assert cost(o, chosen) == pytest.approx(min(cost(o, x) for x in every), abs=1e-6)


def test_the_operand_with_a_warp_groups_rows_stands_left() -> None:
    assert dots(layout(parse(PRODUCT.replace("TILE", "64"))))[0].dims == ("n", "m")
    assert dots(layout(parse(PRODUCT.replace("TILE", "32"))))[0].dims == ("m", "n")  # neither has: it stays


def test_an_intermediate_lies_as_its_reader_wants_it_where_that_costs_the_writer_less() -> None:
    thin = layout(parse(TURNED.replace("WIDTH", "1")))
    assert thin.tensor("T").dims == (("n",), ("m",))
    index = {s.statement.tensor: s.statement.index for p in parts(thin) for s in sites(p)
             if isinstance(s.statement, (Load, Store)) and s.statement.tensor == "T"}  # fmt: skip
    assert [d.axes for d in index["T"]] == [("n",), ("m",)]
    wide = layout(parse(TURNED.replace("WIDTH", "32")))
    assert wide.tensor("T").dims == (("m",), ("n",))


def test_inputs_and_outputs_keep_their_places() -> None:
    for name in NAMES:
        before, after = real(name).mugraph, layout(real(name).mugraph)
        assert before.inputs == after.inputs and before.outputs == after.outputs


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(3))
def test_no_order_changes_a_value(name: str, seed: int) -> None:
    case = small()[name]
    other = shuffled(case.mugraph, seed)
    check(other)
    inputs = case.inputs(seed=7)
    np.testing.assert_allclose(evaluate(other, *inputs), case.reference(*inputs), rtol=1e-9, atol=1e-12)
    wrong = replace(
        other, tensors=tuple(replace(t, dims=t.dims[::-1]) if t.kind == "input" else t for t in other.tensors)
    )
    with pytest.raises((AssertionError, InvalidMugraph)):
        check(wrong)
        np.testing.assert_allclose(evaluate(wrong, *inputs), case.reference(*inputs), rtol=1e-9, atol=1e-12)


def test_it_can_be_switched_off() -> None:
    m = parse(PRODUCT.replace("TILE", "64"))
    assert dots(plan(m, without={"layout"}))[0].dims == ("m", "n")
    assert dots(plan(m))[0].dims == ("n", "m")
