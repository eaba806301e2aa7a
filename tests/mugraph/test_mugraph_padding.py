"""The padding rule follows exactly what stands outside a dim: what it accepts is neutral, what it rejects is not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from workloads.evaluate import evaluate

from mirage.mugraph.check import broken_rule
from mirage.mugraph.parse import parse
from mirage.operators.block_operators import state_of

TEMPLATE = """mugraph reduce
axes m=5 k=7
input X fp16 [m, k]
input Y fp16 [m]
output O fp16 [m]
kernel one warps 4 stages 1:
  block cluster 1:
    dim m (m) grid tile 2
    dim k (k) resident tile 8
    x[m, k] = load X[m, k]PAD
    y[m] = load Y[m]
    in_k[k] = mask(dim=k)
    zero[] = const(value=0)
    low[] = const(value=-inf)
    two[] = const(value=2)
BODY
    o[m] = OP(v; dim=k)
    store O[m] = o
"""

# (load pad, body, reduction, reference or None where the rule must reject)
ROWS = [
    ("", "v[m, k] = mul(x, y)", "sum", lambda x, y: (x * y[:, None]).sum(1)),
    ("", "v[m, k] = div(x, two)", "sum", lambda x, y: x.sum(1) / 2),
    ("", "v[m, k] = tanh(x)", "sum", lambda x, y: np.tanh(x).sum(1)),
    ("", "a[m, k] = exp(x)\n    v[m, k] = mul(a, in_k)", "sum", lambda x, y: np.exp(x).sum(1)),
    ("", "a[m, k] = inv(x)\n    v[m, k] = mul(a, in_k)", "sum", lambda x, y: (1 / x).sum(1)),
    ("", "a[m, k] = sub(x, y)\n    v[m, k] = where(in_k, a, zero)", "sum", lambda x, y: (x - y[:, None]).sum(1)),
    (" pad -inf", "v[m, k] = exp(x)", "sum", lambda x, y: np.exp(x).sum(1)),
    (" pad -inf", "v[m, k] = sub(x, y)", "max", lambda x, y: (x - y[:, None]).max(1)),
    ("", "v[m, k] = where(in_k, x, low)", "max", lambda x, y: x.max(1)),
    (" pad 1.0", "v[m, k] = log(x)", "sum", lambda x, y: np.log(x).sum(1)),
    (" pad 1.0", "a[m, k] = sub(x, two)\n    v[m, k] = mul(in_k, a)", "sum", lambda x, y: (x - 2).sum(1)),
    ("", "v[m, k] = exp(x)", "sum", None),
    ("", "v[m, k] = sub(x, y)", "sum", None),
    ("", "v[m, k] = sigmoid(x)", "sum", None),
    ("", "v[m, k] = add(x, two)", "sum", None),
    ("", "a[m, k] = inv(x)\n    v[m, k] = mul(a, x)", "sum", None),  # 0 * inf
    ("", "a[m, k] = sub(x, y)\n    b[m, k] = exp(a)\n    v[m, k] = mul(b, x)", "sum", None),
    ("", "v[m, k] = div(x, x)", "sum", None),
    ("", "v[m, k] = mul(x, y)", "max", None),
    (" pad -inf", "v[m, k] = neg(x)", "max", None),
    (" pad -inf", "v[m, k] = mul(x, in_k)", "max", None),  # masked to 0, not to -inf
    (" pad nan", "v[m, k] = tanh(x)", "sum", None),
]  # fmt: skip


@pytest.mark.parametrize(("pad", "body", "op", "reference"), ROWS)
def test_padding(pad: str, body: str, op: str, reference) -> None:  # type: ignore[no-untyped-def]
    m = parse(TEMPLATE.replace("PAD", pad).replace("BODY", "    " + body).replace("OP", op))
    rng = np.random.default_rng(5)
    x, y = rng.uniform(0.5, 2.0, (5, 7)), rng.uniform(0.5, 2.0, 5)
    found = broken_rule(m)
    if reference is None:
        assert found is not None and found[0] == "padding"
    else:
        assert found is None, found
        np.testing.assert_allclose(evaluate(m, x, y), reference(x, y), rtol=1e-12)


def test_rounding_keeps_zero_and_nothing_is_known_of_a_new_operator() -> None:
    rounded = state_of("round_fp16", ["zero"], [False]), state_of("round_fp16", ["finite"], [False])
    assert rounded == ("zero", "huge")
    assert state_of("an_operator_of_tomorrow", ["zero"], [False]) == "any"


ONES = """mugraph ones
axes m=5 k=7
input X fp16 [m, k]
output O fp16 [m]
kernel one warps 4 stages 1:
  block cluster 1:
    dim m (m) grid tile 2
    dim k (k) loop tile 4
    for k:
      x[m, k] = load X[m, k]
      in_k[k] = mask(dim=k)
      one[m, k] = eq(x, x)
      v[m, k] = FACTOR
      part[m] = sum(v; dim=k)
      acc[m] += part
    store O[m] = acc
"""


def test_comparisons_select_where_they_are_masked() -> None:
    assert broken_rule(parse(ONES.replace("FACTOR", "mul(one, in_k)"))) is None
    found = broken_rule(parse(ONES.replace("FACTOR", "mul(one, one)")))
    assert found is not None and found[0] == "padding"


@pytest.mark.parametrize("first", [1, 8])
def test_one_body_is_judged_for_each_tile_by_itself(first: int) -> None:
    """A dim of one element has no padding; with a wider tile the same body reads it, whichever was asked first."""
    m = parse(TEMPLATE.replace("PAD", "").replace("BODY", "    v[m, k] = exp(x)").replace("OP", "sum"))
    (kernel,) = m.kernels

    def tiled(tile: int):  # type: ignore[no-untyped-def]
        dims = tuple(replace(d, tile=tile) if d.name == "k" else d for d in kernel.block.dims)
        block = replace(kernel.block, dims=dims)
        assert block.body is kernel.block.body
        return replace(m, axes=(("m", 5), ("k", 1)), kernels=(replace(kernel, block=block),))

    for tile in (first, 9 - first):
        found = broken_rule(tiled(tile))
        assert found is None if tile == 1 else found is not None and found[0] == "padding"
