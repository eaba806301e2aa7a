"""Tensors whose dims lie in memory in another order."""

from __future__ import annotations

import pytest
import torch
from references import block, inputs

import mirage as mi
from mirage.errors import GraphMistake
from mirage_original.hand_written import written
from mirage_original.tensors import inverse, storage_order


def test_the_order_of_dims_in_memory():
    for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2), (1, 2, 0)):
        x = torch.empty(tuple((3, 4, 5)[d] for d in order)).permute(inverse(order))
        found = storage_order(tuple(x.shape), x.stride())
        assert found == (() if order == (0, 1, 2) else order)
        assert x.permute(found or (0, 1, 2)).is_contiguous()
    assert storage_order((4, 1), (1, 1)) == () == storage_order((1, 4), (7, 1))
    for shape, strides in (((4, 8), (16, 1)), ((4, 8), (1, 1)), ((4, 8), (8, 2)), ((4, 8), (8,))):
        assert storage_order(shape, strides) is None


def near(got, want):
    return (got.double() - want).abs().max() < 4e-3 * want.abs().max()


def normed(w_strides=None, out_strides=None, m=16, k=64, n=64):
    g = mi.new_kernel_graph()
    X, W = g.new_input((m, k)), g.new_input((k, n), strides=w_strides)
    b = block((2, 1, 1), 2)
    x, w = b.new_input(X, (-1, -1, -1), 1), b.new_input(W, (1, -1, -1), 0)
    b.new_output(b.div(b.forloop_accum(b.matmul(x, w)), b.forloop_accum(x, "rms")), (1, -1, -1))
    g.mark_output(g.customized([X, W], b)[0], strides=out_strides)
    return g


def plain(w_strides=None, out_strides=None, m=16, k=64, n=64):
    g = mi.new_kernel_graph()
    X, W = g.new_input((m, k)), g.new_input((k, n), strides=w_strides)
    g.mark_output(g.matmul(g.rms_norm(X, (k,)), W), strides=out_strides)
    return g


@pytest.mark.parametrize("strides", [((1, 64), None), ((1, 64), (1, 16)), (None, (1, 16))])
def test_a_graph_by_hand_with_other_strides(strides, tools):
    graph, program = normed(*strides), plain(*strides)
    found = written(graph, program, tools)
    verdict = found.verify(text=False)
    assert verdict["word"] in ("PROVED", "TESTED"), verdict
    stored = {t.name: found.mugraph.shape(t) for t in found.mugraph.tensors}
    assert stored["x1"] == (64, 64) and stored["out"] == ((64, 16) if strides[1] else (16, 64))
    x, w = torch.randn(16, 64).half(), torch.randn(64, 64).half()
    w = w.t().contiguous().t() if strides[0] else w
    want = torch.nn.functional.rms_norm(x.double(), (64,)) @ w.double()
    for g in (graph, program):
        (got,) = g(inputs=[x, w])
        assert near(got, want) and got.stride() == (strides[1] or (64, 1))
    wrong = written(graph, plain(None if strides[0] else (1, 64), strides[1]), tools)
    assert wrong.verify(text=False)["word"] == "REJECTED"


def test_a_search_with_a_column_major_weight():
    program = plain((1, 64))
    (found,) = mi.superoptimize(program, max_num_new_graphs=1)
    x, w = torch.randn(16, 64).half(), torch.randn(64, 64).half().t()
    want = torch.nn.functional.rms_norm(x.double(), (64,)) @ w.double()
    assert near(found(inputs=[x, w])[0], want)
    assert found.found.verify(text=False)["word"] in ("PROVED", "TESTED")


def test_a_library_product_wants_row_major():
    g, (x,) = inputs((4, 8))
    w = g.new_input((8, 8), strides=(1, 8))
    b = block((4, 1, 1), 1)
    b.new_output(b.exp(b.new_input(x, (0, -1, -1), -1)), (0, -1, -1))
    g.mark_output(g.matmul(g.customized([x], b)[0], w))
    with pytest.raises(GraphMistake, match="row-major") as caught:
        g.check()
    assert caught.value.path == __file__
