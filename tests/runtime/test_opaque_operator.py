"""An operator of PyTorch's own for a kernel: what compilers are told of it is what each call gives."""

import itertools

import pytest
import torch

from mirage.runtime.opaque_operator import OutputLayout, register

X = torch.arange(12.0).view(3, 4)
NUMBER = itertools.count()
OUT = OutputLayout((3, 4), torch.float32, (4, 1))


def operator(call, *outputs):
    return register(f"test_{next(NUMBER)}", ("x", "y"), outputs or (OUT,), call)


def test_opcheck_passes():
    op = operator(lambda x, y: (x + y, x * y), OUT, OUT)
    torch.library.opcheck(op, (X, X + 1), test_utils=("test_schema", "test_faketensor", "test_aot_dispatch_dynamic"))
    a, b = op(X, X)
    assert torch.equal(a, X + X) and torch.equal(b, X * X)


def test_another_layout_is_copied_into_the_one_that_was_promised():
    made = operator(lambda x, y: (x + y).t().contiguous().t())(X, X)
    assert made.stride() == (4, 1) and torch.equal(made, 2 * X)


def test_memory_of_an_input_or_another_output_is_not_shared():
    made = operator(lambda x, y: x)(X, X)
    assert torch.equal(made, X) and made.data_ptr() != X.data_ptr()

    def twice(x, y):
        z = x + y
        return z, z

    a, b = operator(twice, OUT, OUT)(X, X)
    assert torch.equal(a, b) and a.data_ptr() != b.data_ptr()


@pytest.mark.parametrize(
    "call", [lambda x, y: x[:2] + 1, lambda x, y: x.double(), lambda x, y: (x + 1, y + 1), lambda x, y: 3]
)
def test_another_shape_dtype_or_number_is_refused(call):
    with pytest.raises(RuntimeError):
        operator(call)(X, X)


def test_compilers_do_not_look_into_it():
    seen = []

    def call(x, y):
        return x + y

    op = operator(call)

    def look(module, inputs):
        seen.extend(str(node.target) for node in module.graph.nodes if node.op == "call_function")
        return module.forward

    torch._dynamo.reset()
    made = torch.compile(lambda x: op(x, x) * 2, backend=look)(X)
    assert torch.equal(made, 4 * X) and any("mirage" in name for name in seen) and len(seen) == 2
