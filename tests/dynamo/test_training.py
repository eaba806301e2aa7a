"""Steps of training under the backend: gradients equal to eager's, with kernels in forward and backward and without."""

import copy
import functools

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd.gradcheck import GradcheckError
from torch.utils.checkpoint import checkpoint
from training_functions import CASES, attention, rms_norm

import mirage
from mirage.dynamo import region_kernels, swapped_graph
from mirage.dynamo.backend import backend
from mirage.dynamo.functional_graph import Role
from mirage.dynamo.graph_regions import is_view
from mirage.dynamo.swapped_graph import DRAWN_AGAIN


def step(run, inputs, tangents=None):
    """A forward and its backward: the outputs, and the gradients of the inputs that want one."""
    made = run(*inputs)
    made = made if isinstance(made, tuple) else (made,)
    tangents = tangents or [torch.ones_like(y) for y in made]
    wanted = [x for x in inputs if isinstance(x, torch.Tensor) and x.requires_grad]
    return *(y.detach() for y in made), *torch.autograd.grad(made, wanted, tangents)


def close(found, expected):
    for x, y in zip(found, expected, strict=True):
        torch.testing.assert_close(x, y)


def counted(calls):
    """Kernels that note their region's name and answer as it is written."""

    def make(function):
        def call(*inputs):
            calls.append(function.__name__)
            return function(*inputs)

        return call

    return make


def doubled(function):
    def call(*inputs):
        made = function(*inputs)
        return tuple(2 * x for x in made) if isinstance(made, tuple) else 2 * made

    return call


@pytest.fixture
def parts(monkeypatch):
    """The functional graphs of the test's models, in order."""
    made = []
    own = swapped_graph.FunctionalPart

    def part(module, role, static):
        made.append(own(module, role))
        return made[-1]

    monkeypatch.setattr(swapped_graph, "FunctionalPart", part)
    return made


def names(parts, role):
    return {kernel.written.name for part in parts if part.role is role for _, kernel in part.regions}


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_eagers_and_those_of_double_precision(name, compiled, take, parts):
    case = CASES[name]
    inputs, exact = case.inputs(torch.float32), step(case.function, case.inputs(torch.float64))
    expected = step(case.function, inputs)
    run, calls = compiled(case.function), []
    close(step(run, inputs), expected)
    take(counted(calls))
    found = step(run, inputs)
    close(found, expected)
    for x, y in zip(found, exact, strict=True):
        torch.testing.assert_close(x.double(), y, rtol=2e-5, atol=2e-5)
    for role in (Role.FORWARD, Role.BACKWARD):
        assert names(parts, role) and names(parts, role) <= set(calls)


@pytest.mark.parametrize("name", CASES)
def test_a_wrong_kernel_of_a_backward_gives_other_gradients(name, compiled, take, parts):
    """What the tests above compare would tell: their kernels are run, those of the backward too."""
    case = CASES[name]
    inputs = case.inputs(torch.float32)
    run, expected = compiled(case.function), step(case.function, inputs)
    step(run, inputs)
    take(lambda f: f if f.__name__ in names(parts, Role.FORWARD) else doubled(f))
    found, outputs = step(run, inputs), len(expected) - sum(x.requires_grad for x in inputs)
    close(found[:outputs], expected[:outputs])
    assert any(not torch.allclose(x, y, rtol=1e-2) for x, y in zip(found[outputs:], expected[outputs:], strict=True))


@pytest.mark.parametrize("name", CASES)
def test_gradcheck(name, compiled, take, parts):
    case = CASES[name]
    inputs, run = case.inputs(torch.float64), compiled(case.function)
    step(run, inputs)
    take()
    assert torch.autograd.gradcheck(run, inputs, fast_mode=True)
    take(lambda f: f if f.__name__ in names(parts, Role.FORWARD) else doubled(f))
    with pytest.raises(GradcheckError):
        torch.autograd.gradcheck(run, inputs, fast_mode=True)


LEAST = {"linear_cross_entropy": 0.4}  # of the operators that compute; a scatter stands in its midst


@pytest.mark.parametrize("name", CASES)
def test_how_much_of_a_backward_lies_in_regions(name, compiled, take, parts):
    """A table that loses an operator that gradients need is noticed."""
    case = CASES[name]
    step(compiled(case.function), case.inputs(torch.float32))
    (part,) = [part for part in parts if part.role is Role.BACKWARD]
    computing = [n for n in part.module.graph.nodes if n.op == "call_function" and not is_view(n)]
    inside = {n for region, _ in part.regions for n in region.nodes}
    assert sum(n in inside for n in computing) >= LEAST.get(name, 0.85) * len(computing)


class Step(nn.Module):
    """Two layers that share a weight, a norm, a buffer that is written in place, views in and out."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.a, self.b = nn.Linear(width, width), nn.Linear(width, width)
        self.b.weight = self.a.weight
        self.register_buffer("seen", torch.zeros(width))

    def forward(self, x):
        y = self.b(torch.relu(self.a(self.norm(x))) * 2)
        with torch.no_grad():
            self.seen.mul_(0.5).add_(y.mean(0))
            scale = torch.sigmoid(y) + 1
        z = y * scale + x
        z[1:3] = z[1:3] * 3
        return z.t(), z.view(-1)[:5]


def test_a_module_accumulates_and_writes_as_eager_does(compiled, take, parts):
    torch.manual_seed(0)
    written = Step()
    model = copy.deepcopy(written)
    run, x = compiled(model), torch.randn(4, 8)
    for kernels in (False, True, True):
        if kernels:
            take()
        for one, own in ((run, model), (written, written)):
            y, z = one(x)
            ((y * y).sum() + z.sum()).backward()  # no zero_grad: it accumulates
            del own
        close([p.grad for p in model.parameters()], [p.grad for p in written.parameters()])
        close([model.seen], [written.seen])
    assert names(parts, Role.BACKWARD) and len(list(model.parameters())) == 5


@pytest.mark.parametrize("lies", [lambda x: x.t().contiguous().t(), lambda x: x[:1].expand_as(x), torch.zeros_like])
def test_a_gradient_may_come_in_with_any_strides(compiled, take, lies):
    case = CASES["rms_norm"]
    inputs, tangent = case.inputs(torch.float32), lies(torch.randn(5, 8))
    run = compiled(case.function)
    for _ in range(2):
        close(step(run, inputs, [tangent]), step(case.function, inputs, [tangent]))
        take()


def test_a_swap_between_a_forward_and_its_backward_keeps_the_pair(compiled, take):
    case = CASES["gated_mlp"]
    inputs, run = case.inputs(torch.float32), compiled(case.function)
    (expected,) = torch.autograd.grad(case.function(*inputs).sum(), inputs[:1])
    first = run(*inputs)  # all of it the rest's
    take()
    second = run(*inputs)  # the kernels are in
    run(*inputs)
    (name, *_) = region_kernels._known
    region_kernels._known[name].kernel = None
    third = run(*inputs)  # other kernels
    take()
    run(*inputs)
    for made in (third, first, second):
        close(torch.autograd.grad(made.sum(), inputs[:1]), [expected])


def test_kernels_that_come_while_a_checkpoint_is_open_do_not_change_what_is_saved(compiled, take):
    case = CASES["gated_mlp"]
    inputs, run = case.inputs(torch.float32), compiled(case.function)
    expected = step(case.function, inputs)
    made = checkpoint(run, *inputs, use_reentrant=False)
    take()
    close(step(run, inputs), expected)  # without a checkpoint: swapped
    close([made, *torch.autograd.grad(made.sum(), inputs)], expected)
    take(doubled)
    assert not torch.allclose(run(*inputs), expected[0])


def test_a_checkpoint_inside_is_cut_unless_its_random_numbers_are_drawn_again(compiled, take, parts):
    def f(x, p):
        def inner(x):
            return nn.functional.dropout(torch.sigmoid(x) * x, p) * 2

        return checkpoint(inner, torch.relu(x) + 1, use_reentrant=False) * 3

    x = torch.rand(16, 16, requires_grad=True)
    run = compiled(f)
    for _ in range(2):
        close(step(run, (x, 0.0), None), step(f, (x, 0.0), None))
        assert take() > 0
    cut = len(parts)
    torch._dynamo.reset()
    (told,) = mirage.explain(f, x, 0.5).graphs
    assert told.reason == DRAWN_AGAIN and cut == 2
    compiled(f)(x, 0.5)
    assert parts[cut].role is not Role.INFERENCE and parts[-1].draws() and not parts[1].draws()


def test_what_is_dropped_has_no_gradient(compiled, take):
    def f(x):
        return nn.functional.dropout(torch.sigmoid(x) * x, 0.4) * 2

    x = torch.rand(32, 8, requires_grad=True)
    run = compiled(f)
    for _ in range(2):
        made = run(x)
        made.sum().backward()
        assert torch.equal(x.grad != 0, made != 0) and (made == 0).any()
        x.grad = None
        assert take() > 0


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast_rounds_where_eager_does(compiled, take, dtype):
    model, x = nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 8)), torch.randn(4, 8)
    run, expected = compiled(model), None

    def one(call):
        model.zero_grad()
        with torch.autocast("cpu", dtype):
            made = call(x)
        made.float().square().sum().backward()
        return made.dtype, [made.detach(), *(p.grad.clone() for p in model.parameters())]

    expected = one(model)
    for _ in range(2):
        found = one(run)
        assert found[0] == expected[0]
        for a, b in zip(found[1], expected[1], strict=True):
            assert a.dtype == b.dtype and float((a - b).abs().max()) <= 0.03 * float(b.abs().max())
        assert take() > 0


def test_casts_that_autocast_made_are_not_made_again(take):
    """Inductor compiles while autocast is on; what the model computes in float32 stays in float32."""

    def f(x, w):
        with torch.autocast("cpu", enabled=False):
            return torch.relu(x @ w) * 2

    x, w = torch.randn(16, 16), torch.randn(16, 16, requires_grad=True)
    run = torch.compile(f, backend=backend)
    with torch.autocast("cpu", torch.bfloat16):
        run(x, w)
        take(lambda function: function)
        made = run(x, w)
    assert made.dtype == torch.float32
    torch.testing.assert_close(made, f(x, w))


def test_inductor_runs_the_rest_of_both(take, parts):
    case = CASES["attention"]
    inputs = case.inputs(torch.float32)
    run, calls = torch.compile(case.function, backend=backend), []
    close(step(run, inputs), step(case.function, inputs))
    take(counted(calls))
    close(step(run, inputs), step(case.function, inputs))
    assert names(parts, Role.BACKWARD) & set(calls)


def test_a_second_derivative_is_refused(compiled, take):
    case = CASES["rms_norm"]
    inputs, run = case.inputs(torch.float32), compiled(case.function)
    run(*inputs)
    take()
    (first,) = torch.autograd.grad(run(*inputs).sum(), inputs[:1], create_graph=True)
    with pytest.raises(RuntimeError, match="double backward"):
        first.sum().backward()


def test_a_graph_may_be_kept_for_a_second_backward(compiled, take):
    case = CASES["layer_norm"]
    inputs, run = case.inputs(torch.float32), compiled(case.function)
    run(*inputs)
    take()
    made = run(*inputs).sum()
    close(torch.autograd.grad(made, inputs, retain_graph=True), torch.autograd.grad(made, inputs))


def test_a_backward_that_is_never_called_and_a_call_without_a_gradient(compiled, take):
    case = CASES["rms_norm"]
    inputs, run, calls = case.inputs(torch.float32), compiled(rms_norm), []
    run(*inputs)
    take(counted(calls))
    close([run(*inputs)], [rms_norm(*inputs)])
    assert len(calls) == 1
    with torch.no_grad():
        assert not run(*inputs).requires_grad
    assert run(*(x.detach() for x in inputs)).grad_fn is None


def test_explain_tells_forward_and_backward_apart(compiled, take):
    inputs = CASES["attention"].inputs(torch.float32)
    first, second = mirage.explain(attention, *inputs).graphs
    assert (first.part, second.part) == (Role.FORWARD, Role.BACKWARD) and first.regions and second.regions
    assert not any(r.taken for r in (*first.regions, *second.regions))
    take()
    told = mirage.explain(compiled(attention), *inputs)
    assert all(r.taken for graph in told.graphs for r in graph.regions)
    assert "graph 0, forward: " in str(told) and "graph 1, backward: " in str(told)
    with torch.no_grad():
        (only,) = mirage.explain(attention, *inputs).graphs
    assert only.part is Role.INFERENCE


def test_cuda_graphs_leave_a_gradient_to_inductor(take, parts):
    inputs = CASES["rms_norm"].inputs(torch.float32)
    run = torch.compile(rms_norm, backend=functools.partial(backend, options={"triton.cudagraphs": True}))
    close(step(run, inputs), step(rms_norm, inputs))
    assert parts == []
    with torch.no_grad():
        close([run(*inputs)], [rms_norm(*inputs)])
    assert [part.role for part in parts] == [Role.INFERENCE]


def test_a_checkpoint_inside_drops_the_same_again(compiled):
    """PyTorch's graph, called as it stands, draws other numbers in the backward."""

    def inner(x):
        return nn.functional.dropout(torch.sigmoid(x) + 1, 0.4)

    x = torch.rand(32, 8, requires_grad=True)
    run = compiled(lambda x: checkpoint(inner, x * 2, use_reentrant=False))
    for _ in range(2):
        made = run(x)
        made.sum().backward()
        assert torch.equal(x.grad != 0, made != 0) and (made == 0).any()
        x.grad = None


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_gradient_of_attention_as_one_call_is_eagers(compiled, take, causal, dtype):
    def model(q, k, v):
        return F.scaled_dot_product_attention(torch.tanh(q) * 2, k, v, is_causal=causal) + q

    first, weights = torch.linspace(-2, 3, 96, dtype=dtype).sin(), torch.linspace(-1, 2, 96, dtype=dtype)
    run, found = compiled(model), []
    for call in (run, model, run, model):
        given = [(first + i).reshape(2, 2, 6, 4).requires_grad_() for i in range(3)]
        (call(*given).flatten() * weights).sum().backward()
        found.append([x.grad for x in given])
        assert take() >= 1
    torch.testing.assert_close(found[::2], found[1::2])
