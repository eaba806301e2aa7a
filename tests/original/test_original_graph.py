"""The original's graph builder: shapes, outputs, mistakes, and the function that a graph stands for."""

from __future__ import annotations

import pytest
import torch

import mirage as mi
from mirage.errors import CannotWrite, GraphMistake


def attention(q: int = 6, d: int = 5, t: int = 7):
    g = mi.new_graph()
    Q, K, V = (g.new_input(dims=s, dtype=mi.float32) for s in ((2, q, d), (2, d, t), (2, t, d)))
    E = g.exp(g.matmul(Q, K))
    return g, g.matmul(g.div(E, g.reduction(E, 2)), V)


def test_a_graph_runs_as_the_function_that_it_stands_for():
    g, out = attention()
    q, k, v = (torch.randn(*t.shape) for t in g.inputs)
    want = torch.softmax(q @ k, -1) @ v
    (got,) = g(inputs=[q, k, v])
    assert out.shape == tuple(want.shape) and torch.allclose(got, want, atol=1e-6)
    filled = [torch.empty_like(want)]
    assert g(inputs=[q, k, v], outputs=filled)[0] is filled[0] and torch.equal(filled[0], got)
    assert not torch.allclose(g(inputs=[q + 1, k, v])[0], want, atol=1e-3)


def test_every_operator_is_what_pytorch_has():
    x, y = torch.rand(3, 4) + 0.5, torch.rand(3, 1) + 0.5
    F = torch.nn.functional
    want = {
        "exp": x.exp(), "silu": F.silu(x), "gelu": F.gelu(x), "relu": F.relu(x - 1), "sqrt": x.sqrt(), "square": x * x,
        "add": x + y, "mul": x * y, "div": x / y, "pow": x**y, "reduction": x.sum(0, keepdim=True),
        "rms_norm": x / (x * x).mean(-1, keepdim=True).sqrt(), "clamp": x.clamp(0.7, 1.1),
    }  # fmt: skip
    for op, value in want.items():
        g = mi.new_kernel_graph()
        a, b = g.new_input(dims=(3, 4), dtype=mi.float32), g.new_input(dims=(3, 1), dtype=mi.float32)
        more = {"reduction": (0,), "rms_norm": ((4,),), "clamp": (0.7, 1.1)}.get(op, ())
        two = op in ("add", "mul", "div", "pow")
        getattr(g, op)(a, *((b,) if two else more))
        given = x - 1 if op == "relu" else x
        assert torch.allclose(g(inputs=[given, y])[0], value, atol=1e-5), op


def test_outputs_are_what_is_marked_else_what_nothing_reads():
    g = mi.new_graph()
    x = g.new_input(dims=(2, 3))
    e, s = g.exp(x), g.square(x)
    assert [t.place for t in g.outputs] == [e.place, s.place]
    g.mark_output(s)
    assert [t.place for t in g.outputs] == [s.place]
    assert x.dim(1) == 3 and x.num_dims == 2 and x.dtype.is_fp16()


def small():
    g = mi.new_graph()
    g.exp(g.new_input(dims=(2, 3)))
    return g


def run(inputs, outputs=None):
    return small()(inputs=inputs, outputs=outputs)


def mistakes():
    g, other = mi.new_graph(), mi.new_graph()
    a, b = g.new_input(dims=(2, 3)), g.new_input(dims=(4, 5))
    f = g.new_input(dims=(3, 4), dtype=mi.float32)
    stranger = other.new_input(dims=(2, 3))
    return {
        "inner sizes": lambda: g.matmul(a, b),
        "a dim beyond the last": lambda: g.reduction(a, 2),
        "shapes that do not broadcast": lambda: g.add(a, b),
        "two dtypes": lambda: g.matmul(a, f),
        "another graph's tensor": lambda: g.exp(stranger),
        "an empty shape": lambda: g.new_input(dims=()),
        "a size of zero": lambda: g.new_input(dims=(0, 3)),
        "five dims": lambda: g.new_input(dims=(1, 2, 3, 4, 5)),
        "strides with gaps": lambda: g.new_input(dims=(4, 8), strides=(16, 1)),
        "strides that overlap": lambda: g.new_input(dims=(4, 8), strides=(1, 1)),
        "an output of other strides": lambda: g.mark_output(a, strides=(6, 2)),
        "a norm over other dims": lambda: g.rms_norm(a, (2,)),
        "a clamp upside down": lambda: g.clamp(a, 1.0, 0.0),
        "no operator": lambda: other.source(),
        "not found by a search": lambda: g.generate_triton_program("x.py"),
        "two inputs for three": lambda: attention()[0](inputs=[torch.zeros(1), torch.zeros(1)]),
        "an input of another shape": lambda: attention()[0](inputs=[torch.zeros(1)] * 3),
        "the size of a dim beyond the last": lambda: a.dim(2),
        "dims that are a number": lambda: g.new_input(dims=16),
        "dims that are texts": lambda: g.new_input(dims="16"),
        "dims with a truth value": lambda: g.new_input(dims=(True, 4)),
        "a size beyond any memory": lambda: g.new_input(dims=(1 << 41, 4)),
        "a dtype of PyTorch": lambda: g.new_input(dims=(4, 4), dtype=torch.float16),
        "strides that are a number": lambda: g.new_input(dims=(4, 4), strides=4),
        "strides without a value": lambda: g.new_input(dims=(4, 4), strides=(None, 1)),
        "a number for a tensor": lambda: g.mul(a, 0.5),
        "a tensor of PyTorch": lambda: g.matmul(a, torch.zeros(3, 4)),
        "nothing for a tensor": lambda: g.exp(None),
        "nothing to mark": lambda: g.mark_output(None),
        "a norm over a number": lambda: g.rms_norm(a, 3),
        "a clamp without a bound": lambda: g.clamp(a, None, 1.0),
        "a clamp without an end": lambda: g.clamp(a, 0.0, float("inf")),
        "a clamp at a text": lambda: g.clamp(a, "0", 1.0),
        "customized without a list": lambda: g.customized(None, None),
        "inputs that are a tensor": lambda: run(torch.zeros(2, 3)),
        "inputs without a tensor": lambda: run([None]),
        "no inputs": lambda: run(None),
        "inputs of numpy": lambda: run([torch.zeros(2, 3).half().numpy()]),
        "inputs of another dtype": lambda: run([torch.zeros(2, 3)]),
        "too many outputs": lambda: run([torch.zeros(2, 3).half()], [torch.zeros(2, 3).half()] * 2),
        "outputs of another shape": lambda: run([torch.zeros(2, 3).half()], [torch.zeros(1, 3).half()]),
        "outputs without a tensor": lambda: run([torch.zeros(2, 3).half()], [None]),
        "an output without a list": lambda: run([torch.zeros(2, 3).half()], torch.zeros(2, 3).half()),
        "a picture without a name": lambda: small().visualize(None),
        "a file without a name": lambda: small().to_json(None),
        "a graph's place that is a text": lambda: small().from_json("x.json", "0"),
        "verified against a number": lambda: small().verify(3),
        "the code of nothing": lambda: mi.generate_triton_program(None),
        "the dtype of nothing": lambda: mi.convert_dtype_to_torch_type(None),
    }


@pytest.mark.parametrize("what", mistakes())
def test_mistakes_have_a_code(what):
    with pytest.raises(GraphMistake) as caught:
        mistakes()[what]()
    assert caught.value.code == "MIR309" and caught.value.next_step


def test_outputs_are_left_alone_by_a_call_that_is_refused():
    given = [torch.full((2, 3), 7.0).half()]
    with pytest.raises(GraphMistake):
        small()(inputs=[torch.zeros(3, 2).half()], outputs=given)
    assert bool((given[0] == 7).all())
    assert torch.equal(run([torch.zeros(2, 3).half()], [])[0], torch.ones(2, 3).half())


def test_sizes_of_any_kind_are_taken():
    import numpy

    g = mi.new_graph()
    assert g.new_input(dims=torch.Size((4, 8))).shape == g.new_input(dims=[numpy.int64(4), 8]).shape == (4, 8)


def test_what_cannot_be_written_has_a_code(tmp_path):
    g = mi.new_graph()
    x = g.new_input(dims=(4, 8))
    b = mi.new_threadblock_graph((2, 1, 1), (128, 1, 1), 1, 8)
    b.new_output(b.exp(b.new_input(x, (0, -1, -1), -1)), (0, -1, -1))
    g.customized([x], b)
    g.visualize(tmp_path / "picture")
    g.generate_triton_program(tmp_path / "module.py")
    assert (tmp_path / "picture.svg").exists() and "triton" in (tmp_path / "module.py").read_text()
    for call in (g.visualize, g.generate_triton_program, g.to_json):
        for path in (str(tmp_path / "none" / "x.svg"), "a\0b"):
            with pytest.raises(CannotWrite):
                call(path)


def test_row_major_strides_are_taken():
    g = mi.new_graph()
    assert g.new_input(dims=(4, 8), strides=(8, 1)).shape == (4, 8)


def test_a_parameter_that_no_version_has():
    with pytest.raises(TypeError, match="grid_dims"):
        mi.superoptimize(attention()[0], grid_dims=[(2, 1, 1)])


def test_the_calls_beside_graphs(capsys):
    for _ in range(2):
        mi.set_gpu_device_id(0)
        mi.bypass_compile_errors()
    assert capsys.readouterr().err.count("no meaning here") == 2
    for kind in (mi.float16, mi.bfloat16, mi.float32, mi.float8_e4m3, mi.int32):
        assert mi.convert_torch_type_to_dtype(mi.convert_dtype_to_torch_type(kind)) is kind
    g, _ = attention()
    for refused in (mi.generate_cuda_program, mi.generate_nki_program, mi.generate_triton_program):
        with pytest.raises(GraphMistake) as caught:
            refused(g.cygraph, target_cc=80)
        assert caught.value.path == __file__
    with pytest.raises(GraphMistake):
        mi.convert_torch_type_to_dtype(torch.complex64)
    with pytest.raises(TypeError):
        g.superoptimize(None, imaps=[(0, -1, -1)])
