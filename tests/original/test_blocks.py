"""The block graph builder: every accumulator and operator run, and mistakes with the line of the script."""

from __future__ import annotations

import pytest
import torch
from references import REFERENCES, block, inputs, interpreted

import mirage as mi
from mirage.errors import GraphMistake, InvalidMugraph
from mirage.mugraph.grammar import Accumulate, CustomKernel, Loop
from mirage_original.hand_written import written


def test_every_reference_runs_in_the_interpreter_as_its_program(tools, tmp_path, forked_python):
    torch.manual_seed(0)
    programs = {name: r.wanted(r.small) for name, r in REFERENCES.items()}
    cases = [(written(r.build(**r.small), programs[name], tools), programs[name]) for name, r in REFERENCES.items()]
    equal, said = interpreted(tmp_path, cases, forked_python)
    assert equal == len(REFERENCES), said
    found, program = cases[0]
    found.__dict__["text"] = (
        found.text.replace("tl.rsqrt(", "tl.sqrt(").replace("tl.sqrt_rn(", "tl.exp(").replace("tl.sqrt(", "tl.exp(")
    )
    assert interpreted(tmp_path, [(found, program)], forked_python)[0] == 0


# ---- accumulators
X = torch.arange(2 * 12, dtype=torch.float64).reshape(2, 12) / 7 - 1
ACCUMULATED = {  # a row of 12 in 3 iterations of 4
    None: X.reshape(2, 3, 4).sum(1),
    "sum": X.sum(1, keepdim=True),
    "mean": X.mean(1, keepdim=True),
    "rms": X.square().mean(1, keepdim=True).sqrt(),
    "sum_todimx": X.reshape(2, 6, 2).sum(1),
    "max": X.reshape(2, 3, 4).amax(1),
}


def accumulated(acc, range_=3):
    g, (x,) = inputs((2, 12), dtype=mi.float32)
    b = block((2, 1, 1), range_, dimx=2)
    tile = b.new_input(x, (0, -1, -1), 1)
    b.new_output(b.forloop_accum(tile, acc), (0, -1, -1))
    g.mark_output(g.customized([x], b)[0])
    return g


@pytest.mark.parametrize("acc", ACCUMULATED)
def test_an_accumulator(acc):
    g = accumulated(acc)
    names = {}
    exec(g.plain(), names)
    assert torch.allclose(names["program"](X), ACCUMULATED[acc])
    (kernel,) = g.check().kernels
    assert isinstance(kernel, CustomKernel) and any(isinstance(s, Loop) for s in kernel.block.body)
    whole = accumulated(acc, 1)
    assert not any(isinstance(s, Loop) for s in whole.check().kernels[0].block.body)


def test_what_does_not_vary_counts_once_an_iteration():
    g, (x, y) = inputs((2, 12), (2, 4), dtype=mi.float32)
    b = block((2, 1, 1), 3)
    tiles = b.new_input(x, (0, -1, -1), 1), b.new_input(y, (0, -1, -1), -1)
    b.new_output(b.add(*map(b.forloop_accum, tiles)), (0, -1, -1))
    g.mark_output(g.customized([x, y], b)[0])
    names = {}
    exec(g.plain(), names)
    given = torch.randn(2, 4).double()
    assert torch.allclose(names["program"](X, given), X.reshape(2, 3, 4).sum(1) + 3 * given)
    assert any(
        isinstance(s, Accumulate) for i in g.check().kernels[0].block.body if isinstance(i, Loop) for s in i.body
    )


OPERATORS = {
    "exp": lambda x: x.exp(), "silu": torch.nn.functional.silu, "gelu": torch.nn.functional.gelu, "relu": torch.relu,
    "square": torch.square, "sqrt": lambda x: x.abs().sqrt(), "rsqrt": lambda x: x.abs().rsqrt(),
    "rms_norm": lambda x: x / x.square().mean(-1, keepdim=True).sqrt(),
    "clamp": lambda x: x.clamp(-0.5, 0.5), "mul_scalar": lambda x: x * 0.3,
    "reduction": lambda x: x.sum(1, keepdim=True), "reduction_to_dimx": lambda x: x.reshape(2, 6, 2).sum(1),
    "add": lambda x: x + x, "sub": lambda x: x - x.exp(), "mul": lambda x: x * x.exp(), "div": lambda x: x / x.exp(),
    "pow": lambda x: x.exp() ** x, "concat": lambda x: torch.cat((x, x.exp()), 1),
    "new_output": lambda x: x.reshape(2, 12),
}  # fmt: skip
MORE = {"clamp": (-0.5, 0.5), "mul_scalar": (0.3,), "reduction": (1,), "reduction_to_dimx": (1,)}


@pytest.mark.parametrize("op", OPERATORS)
def test_an_operator(op):
    g, (x,) = inputs((2, 12), dtype=mi.float32)
    b = block((2, 1, 1), 1, dimx=2)
    tile = b.new_input(x, (0, -1, -1), -1)
    if op in ("sqrt", "rsqrt"):
        tile = b.sqrt(b.square(tile))
    if op in ("sub", "mul", "div"):
        out = getattr(b, op)(tile, b.exp(tile))
    elif op == "pow":
        out = b.pow(b.exp(tile), tile)
    elif op == "add":
        out = b.add(tile, tile)
    elif op == "concat":
        out = b.concat(tile, b.exp(tile), dim=1)
    elif op == "new_output":
        out = tile
    else:
        out = getattr(b, op)(tile, *MORE.get(op, ()))
    b.new_output(out, (0, -1, -1))
    g.mark_output(g.customized([x], b)[0])
    names = {}
    exec(g.plain(), names)
    assert torch.allclose(names["program"](X), OPERATORS[op](X)), op
    assert g.check().outputs


def test_a_concat_of_three_is_multiplied_part_by_part():
    g, (x, w) = inputs((2, 12), (12, 4), dtype=mi.float32)
    b = block((1, 1, 1), 1)
    tile, rows = (b.new_input(t, (-1, -1, -1), -1) for t in (x, w))
    three = b.concat(b.concat(tile, b.exp(tile), 1), b.square(tile), 1)
    b.new_output(b.matmul(three, b.concat(rows, b.concat(rows, b.exp(rows), 0), 0)), (-1, -1, -1))
    b.new_output(b.reduction(b.rms_norm(three), 1), (-1, -1, -1))
    assert len(g.customized([x, w], b)) == 2 and g.check()
    names, given = {}, torch.randn(12, 4).double()
    exec(g.plain(), names)
    product, total = names["program"](X, given)
    left, right = torch.cat((X, X.exp(), X.square()), 1), torch.cat((given, given, given.exp()), 0)
    assert torch.allclose(product, left @ right)
    assert torch.allclose(total, (left / left.square().mean(1, keepdim=True).sqrt()).sum(1, keepdim=True))


def norms(acc, dims=(4, 32)):
    """The root of a mean, by an accumulator or an operator, with what else its block gives."""
    g, (x,) = inputs(dims, dtype=mi.float32)
    b = block((2, 1, 1), 2)
    tile = b.new_input(x, (0, -1, -1), 1)
    if acc == "rms_norm":
        b.new_output(b.rms_norm(b.forloop_accum(tile)), (0, -1, -1))
    else:
        b.new_output(b.forloop_accum(tile, acc), (0, -1, -1))
        b.new_output(b.exp(tile), (0, -1, -1), 1)
    g.customized([x], b)
    return g


@pytest.mark.parametrize("acc", ["mean", "rms", "sum", "rms_norm"])
def test_what_a_mean_computes_by_itself_is_accepted_and_nothing_else(acc):
    assert norms(acc).verify()["word"] in ("PROVED", "TESTED")
    other = {"mean": "sum", "rms": "mean", "sum": "mean"}.get(acc)
    if other is not None:
        assert norms(other).verify(norms(acc))["word"] == "REJECTED"


def test_a_concat_of_too_many_parts_has_a_code():
    g, (x,) = inputs((2, 12), dtype=mi.float32)
    b = block((1, 1, 1), 3)
    tile = b.new_input(x, (-1, -1, -1), 1)
    for _ in range(7):
        tile = b.concat(tile, tile, 1)
    b.new_output(b.forloop_accum(tile, "sum"), (-1, -1, -1))
    g.customized([x], b)
    with pytest.raises(GraphMistake, match="128 parts"):
        g.check()


def test_a_concat_that_meets_a_whole_tile_has_a_code():
    g, (x, w) = inputs((2, 12), (24, 4))
    b = block((1, 1, 1), 1)
    tile, whole = (b.new_input(t, (-1, -1, -1), -1) for t in (x, w))
    b.new_output(b.matmul(b.concat(tile, tile, 1), whole), (-1, -1, -1))
    g.customized([x, w], b)
    with pytest.raises(GraphMistake, match="concat") as caught:
        g.check()
    assert caught.value.path == __file__ and caught.value.next_step


def test_an_output_in_the_loop_and_one_of_a_part():
    g, (x,) = inputs((2, 12), dtype=mi.float32)
    b = block((2, 1, 1), 3)
    b.new_output(b.exp(b.new_input(x, (0, -1, -1), 1)), (0, -1, -1), forloop_dim=1)
    g.mark_output(g.customized([x], b)[0])
    names = {}
    exec(g.plain(), names)
    assert torch.allclose(names["program"](X), X.exp()) and g.check()


def test_a_graph_with_blocks_is_called_written_drawn_and_kept(tmp_path):
    r = REFERENCES["lora"]
    graph, program = r.build(**r.small), r.wanted(r.small)
    given = [torch.randn(*t.shape).half() * 0.1 for t in program.inputs]
    assert torch.allclose(graph(inputs=given)[0], program(inputs=given)[0], atol=1e-2)
    graph.generate_triton_program(str(tmp_path / "kernels.py"))
    graph.visualize(str(tmp_path / "picture"))
    graph.to_json(str(tmp_path / "graph.json"))
    assert "tl.dot(" in (tmp_path / "kernels.py").read_text()
    assert all((tmp_path / n).stat().st_size for n in ("picture.svg", "graph.json"))
    graph.exp(graph.outputs[0])  # it grows: what was made before is not used
    assert len(graph.check().kernels) == 2


# ---- mistakes
def mistakes():
    g, (x, w, z) = inputs((4, 64), (64, 128), (4, 64))
    b, other = block((2, 1, 1), 4, dimx=24), block((2, 1, 1), 4)
    a, u = b.new_input(x, (-1, -1, -1), 1), b.new_input(w, (1, -1, -1), 0)
    y = b.matmul(a, u)
    done = b.forloop_accum(y)
    stranger = other.new_input(x, (-1, -1, -1), 1)
    return {
        "a map that cuts what does not divide": lambda: block((3, 1, 1), 1).new_input(x, (1, -1, -1), -1),
        "a range that does not divide": lambda: block((1, 1, 1), 5).new_input(x, (-1, -1, -1), 1),
        "a map of two numbers": lambda: b.new_input(x, (0, 1), -1),
        "a map beyond the dims": lambda: b.new_input(x, (2, -1, -1), -1),
        "two grid dims on one dim": lambda: block((2, 2, 1), 1).new_input(x, (1, 1, -1), -1),
        "a wrong map": lambda: b.matmul(a, b.new_input(w, (0, -1, -1), 1)),
        "no accumulator": lambda: b.new_output(y, (1, -1, -1)),
        "an accumulator twice": lambda: b.forloop_accum(done),
        "an unknown accumulator": lambda: b.forloop_accum(y, "rescale"),
        "both sides of the accumulator": lambda: b.add(y, done),
        "a dimx that does not divide": lambda: b.forloop_accum(y, "sum_todimx"),
        "another block's tile": lambda: b.exp(stranger),
        "an output whose blocks collide": lambda: b.new_output(done, (-1, -1, -1)),
        "an output for several GPUs": lambda: b.new_output(done, (1, -1, -1), epilogue="allreduce"),
        "a maximum after the loop": lambda: b.reduction_max(done, 1),
        "no output": lambda: g.customized([x, w], b),
        "other inputs": lambda: g.customized([x, z], b),
        "a grid of zero": lambda: mi.new_threadblock_graph((0, 1, 1), (128, 1, 1), 1, 1),
        "a hundred threads": lambda: mi.new_threadblock_graph((1, 1, 1), (100, 1, 1), 1, 1),
        "a grid that is a number": lambda: mi.new_threadblock_graph(4, (128, 1, 1), 1, 1),
        "a grid of fractions": lambda: mi.new_threadblock_graph((4.0, 1, 1), (128, 1, 1), 1, 1),
        "threads that are nothing": lambda: mi.new_threadblock_graph((4, 1, 1), None, 1, 1),
        "an input of nothing": lambda: b.new_input(None, (-1, -1, -1), 1),
        "an input of PyTorch": lambda: b.new_input(X, (-1, -1, -1), 1),
        "a map that is a number": lambda: b.new_input(x, -1, 1),
        "a map that is nothing": lambda: b.new_output(done, None),
        "a tensor for a tile": lambda: b.exp(x),
        "a number for a tile": lambda: b.add(a, 1.0),
        "a scalar that is a tile": lambda: b.mul_scalar(a, a),
        "a scalar that is a text": lambda: b.mul_scalar(a, "2"),
        "a scalar without an end": lambda: b.mul_scalar(a, float("inf")),
        "the size of a dim beyond the last": lambda: a.dim(2),
        "a clamp of no number": lambda: b.clamp(a, float("nan"), 1.0),
    }  # fmt: skip


@pytest.mark.parametrize("what", mistakes())
def test_a_mistake_has_a_code_a_line_and_a_next_step(what):
    made = mistakes()[what]
    with pytest.raises(GraphMistake) as caught:
        made()
    e = caught.value
    assert e.code == "MIR309" and e.next_step and e.path == __file__
    assert e.line == made.__code__.co_firstlineno


def test_a_rule_that_breaks_names_the_line_of_the_tile():
    g, (x,) = inputs((4, 64), dtype=mi.float32)
    b = block((4, 1, 1), 4)
    total = b.reduction(b.new_input(x, (0, -1, -1), 1), 1)
    here = b.forloop_accum_max(total).step.place
    b.new_output(b.forloop_accum_rescale(total, b.forloop_accum_max and total), (0, -1, -1))
    g.mark_output(g.customized([x], b)[0])
    with pytest.raises(InvalidMugraph) as caught:
        g.check()
    assert caught.value.code == "MIR300" and caught.value.path == __file__ and caught.value.line == here[1] + 1


def test_dims_that_are_cut_in_two_ways_that_do_not_fit():
    g, (x,) = inputs((24, 16))
    first, second = block((6, 1, 1), 1), block((4, 1, 1), 1)
    first.new_output(first.forloop_accum(first.new_input(x, (0, -1, -1), -1)), (0, -1, -1))
    (y,) = g.customized([x], first)
    second.new_output(second.forloop_accum(second.new_input(y, (0, -1, -1), -1)), (0, -1, -1))
    g.mark_output(g.customized([y], second)[0])
    with pytest.raises(GraphMistake, match="cut into parts"):
        g.check()
