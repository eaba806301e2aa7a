"""Kernels that read slices of one input: its dimension has the size that is stated, and the slices have theirs."""

from __future__ import annotations

import numpy as np
import pytest

from mirage.mugraph.parse import parse
from mirage.mugraph.resized import same_size, tiny_sizes
from mirage.verify.floats.launch_sizes import launch_sizes
from mirage.verify.floats.worker import decode, packed

HALVES = parse("""mugraph halves
axes k=64 m=8 n=40 p=16 s=2
input X fp16 [m, k]
input W fp16 [n, k] sizes [56, _]
temp P fp32 [s, m, p]
output out0 fp16 [m, n]
output out1 fp16 [m, p]
kernel first warps 4 stages 1:
  block cluster 1:
    dim m (m) grid tile 8
    dim n (n) grid tile 16
    dim k (k) resident tile 64
    x[m, k] = load X[m, k]
    w[n, k] = load W[n, k]
    t[m, n] = dot(x, w; dim=k)
    store out0[m, n] = t
kernel second warps 4 stages 1:
  block cluster 1:
    dim s (s) split tile 1 splits k parts 2
    dim m (m) grid tile 8
    dim p (p) grid tile 16
    dim k (k) loop tile 16
    for k:
      x[m, k] = load X[m, k]
      w[p, k] = load W[p+40, k]
      t[m, p] = dot(x, w; dim=k)
      acc[m, p] += t
    store P[s, m, p] = acc
  tail cluster 1:
    dim m (m) grid tile 8
    dim p (p) grid tile 16
    dim s (s) resident tile 2
    parts[m, p, s] = load P[s, m, p]
    t[m, p] = sum(parts; dim=s)
    store out1[m, p] = t
""")


def test_slices_of_one_dimension_have_sizes_of_their_own():
    kind = same_size(HALVES)
    assert kind["n"] != kind["p"]
    sizes = launch_sizes(HALVES)
    assert sizes["n"] == 40 and sizes["p"] == 16  # a larger slice would end outside of W


def test_a_dimension_that_two_names_index_whole_has_one_size():
    whole = parse(
        "mugraph twice\naxes m=8 n=8\ninput X fp16 [m]\noutput out fp16 [m, n]\nkernel k warps 4 stages 1:\n"
        "  block cluster 1:\n    dim m (m) grid tile 4\n    dim n (n) grid tile 4\n    a[m] = load X[m]\n"
        "    b[n] = load X[n]\n    c[m, n] = mul(a, b)\n    store out[m, n] = c\n"
    )
    assert same_size(whole)["m"] == same_size(whole)["n"]


def test_small_sizes_keep_the_slices_and_the_tiles_of_their_blocks_and_tails():
    sizes, tiles = tiny_sizes(HALVES)
    assert (sizes["n"], sizes["p"]) == (40, 16) and "p" not in tiles["second"]
    assert sizes["k"] < 64


@pytest.mark.parametrize("dtype,width", [("fp16", 2), ("bf16", 4), ("fp32", 4), ("fp64", 8), ("int64", 8)])
def test_inputs_travel_in_few_bytes_and_arrive_unchanged(dtype: str, width: int):
    value = np.array([[0.0, -0.0, 65504.0], [2.0**-24, -np.inf, 3.0]])
    sent = packed(dtype, value)
    assert len(sent["data"]) == 6 * width
    back = decode(sent)
    assert back.dtype == np.float64 and back.tobytes() == value.tobytes()
