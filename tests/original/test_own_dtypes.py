"""A block graph by hand in the dtypes whose range is float32's: what is not finite in float32 as written need not be in a kernel."""

from __future__ import annotations

import pytest

import mirage as mi


def program(dtype):
    graph = mi.new_kernel_graph()
    x, w = graph.new_input(dims=(16, 128), dtype=dtype), graph.new_input(dims=(128, 64), dtype=dtype)
    graph.matmul(graph.rms_norm(x, normalized_shape=(128,)), w)
    return graph


def fused(dtype, accumulator):
    graph = mi.new_kernel_graph()
    x, w = graph.new_input(dims=(16, 128), dtype=dtype), graph.new_input(dims=(128, 64), dtype=dtype)
    block = mi.new_threadblock_graph(grid_dim=(4, 1, 1), block_dim=(128, 1, 1), forloop_range=4, reduction_dimx=16)
    rows = block.new_input(dtensor=x, input_map=(-1, -1, -1), forloop_dim=1)
    columns = block.new_input(dtensor=w, input_map=(1, -1, -1), forloop_dim=0)
    product = block.forloop_accum(block.matmul(rows, columns))
    block.new_output(stensor=block.div(product, block.forloop_accum(rows, accumulator)), output_map=(1, -1, -1))
    graph.mark_output(graph.customized([x, w], block)[0])
    return graph


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("accumulator,word", [("rms", "TESTED"), ("mean", "REJECTED")])
def test_rmsnorm_and_linear_by_hand_is_judged_in_every_dtype(dtype, accumulator, word):
    """Squares of subnormal numbers are 0 in float32, so that the function as written divides by it there."""
    of = getattr(mi, dtype)
    found = fused(of, accumulator).verify(program(of), text=word == "TESTED")
    assert found["word"] == word, found["evidence"]
