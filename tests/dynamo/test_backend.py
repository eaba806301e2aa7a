"""Models under the backend: equal to the model as written with kernels in their regions and without, whatever it writes to."""

import copy

import pytest
import torch
from torch import nn

import mirage
from mirage.dynamo.backend import GRADIENT, GRAPHS, SYMBOLIC, why_whole
from mirage.dynamo.graph_regions import cut
from mirage.dynamo.rest_compiler import by_cuda_graphs, named_rest


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.linear = nn.LayerNorm(width), nn.Linear(width, width)

    def forward(self, x):
        return x + torch.sigmoid(self.linear(self.norm(x))) * x


class Cache(nn.Module):
    """Writes a buffer by index, returns views, and reads what it wrote."""

    def __init__(self, width: int = 12) -> None:
        super().__init__()
        self.block = Block(width)
        self.register_buffer("seen", torch.zeros(4, width))

    def forward(self, x):
        y = self.block(x)
        self.seen[1:3] = y[:2]
        self.seen.mul_(0.5)
        y += 1
        return y.t(), torch.softmax(self.seen, -1) * y, y.view(-1)[:5]


def same(a, b):
    for x, y in zip(a if isinstance(a, tuple) else [a], b if isinstance(b, tuple) else [b], strict=True):
        torch.testing.assert_close(x, y)
        assert x.stride() == y.stride()


def doubled(function):
    """A wrong kernel, which a test can tell from the function."""

    def call(*inputs):
        made = function(*inputs)
        return tuple(2 * x for x in made) if isinstance(made, tuple) else 2 * made

    return call


@torch.no_grad()
def test_a_model_that_writes_buffers_is_equal_with_kernels_and_without(compiled, take):
    torch.manual_seed(0)
    written = Cache()
    model = copy.deepcopy(written)
    run, x = compiled(model), torch.randn(4, 12)
    for kernels in (False, True):
        if kernels:
            assert take() >= 2
        same(run(x), written(x))
        same(model.seen, written.seen)


@torch.no_grad()
def test_a_kernel_is_swapped_in_between_calls(compiled, take):
    model, x = Block(10), torch.randn(3, 10)
    run = compiled(model)
    same(run(x), model(x))
    assert take(doubled) == 1
    same(run(x), 2 * model(x))


@torch.no_grad()
def test_equal_layers_are_one_region(compiled, take):
    """A product of another library's in between: what the table does not know parts the layers."""

    class Layers(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList(Block(8) for _ in range(5))

        def forward(self, x):
            for block in self.blocks:
                x = block(x).sort(-1).values
            return x

    model, x = Layers(), torch.randn(3, 8)
    run = compiled(model)
    same(run(x), model(x))
    assert take() == 1
    same(run(x), model(x))


@torch.no_grad()
def test_regions_on_both_sides_of_an_unknown_operator_make_no_cycle(compiled, take):
    def f(x, y):
        a = torch.relu(x) * 2
        b = a.sort(-1).values
        c = torch.relu(y) * 3
        d = c.sort(-1).values
        return torch.sigmoid(a * d) + 1, torch.sigmoid(c * b) + 1

    x, y = torch.randn(4, 6), torch.randn(4, 6)
    run = compiled(f)
    same(run(x, y), f(x, y))
    take()
    same(run(x, y), f(x, y))


@torch.no_grad()
def test_another_dtype_shape_or_layout_does_not_meet_the_kernel(compiled, take):
    def f(x):
        return torch.sigmoid(torch.relu(x)) * 3

    x = torch.randn(6, 6)
    run = compiled(f, dynamic=False)
    run(x)
    take(doubled)
    same(run(x), 2 * f(x))
    for other in (x.double(), x[:5], x.t(), torch.randn(6, 6, 6)):
        same(run(other), f(other))
    assert torch.equal(run(x), 2 * f(x))


@torch.no_grad()
def test_another_parameter_in_place_is_read_and_one_of_another_shape_is_guarded(compiled, take):
    model, x = Block(7), torch.randn(3, 7)
    run = compiled(model)
    run(x)
    take()
    model.linear.weight = nn.Parameter(torch.randn(7, 7))
    same(run(x), model(x))
    model.linear.weight.data = torch.randn(7, 7).t()
    same(run(x), model(x))
    model.linear.weight = model.norm.weight  # shared, and of another shape
    model.linear = nn.Linear(7, 7, bias=False)
    same(run(x), model(x))


@torch.no_grad()
def test_explain_tells_what_was_taken_and_why_not(compiled, take):
    model, x = Block(11), torch.randn(2, 11)
    first = mirage.explain(model, x)
    ((region,),) = [graph.regions for graph in first.graphs]
    assert not region.taken and region.reason and region.operators > 4 and region.name in str(first)
    take()
    ((region,),) = [graph.regions for graph in mirage.explain(compiled(model), x).graphs]
    assert region.taken and region.reason == ""
    odd = mirage.explain(lambda x: (torch.relu(x.sort(-1).values.t()) * 2).sort().values, x)
    assert odd.graphs[0].unknown == (("aten.sort.default", 2),)
    assert "not contiguous" not in str(first) and odd.graphs[0].regions[0].reason != ""


def test_a_gradient_under_cuda_graphs_or_a_symbolic_size_is_said():
    x = torch.ones(2, requires_grad=True)
    assert why_whole([x]) == why_whole([x.detach()], True) == "" and why_whole([x.detach(), 3]) == SYMBOLIC
    assert why_whole([x], by_cuda_graphs("reduce-overhead", {})) == GRAPHS
    assert not by_cuda_graphs("default", {}) and by_cuda_graphs(None, {"triton.cudagraphs": True})
    with torch.no_grad():
        assert why_whole([x], True) == ""


def test_one_operator_is_no_region_and_two_are():
    def regions(f):
        from torch.fx.experimental.proxy_tensor import make_fx

        return cut(make_fx(f, tracing_mode="fake")(torch.ones(3, 4)).graph)

    assert regions(lambda x: torch.relu(x).t()) == []
    (found,) = regions(lambda x: (torch.relu(x) * 2).t())
    assert len(found.nodes) == 2  # the view stays outside


def test_a_rest_that_is_none_is_refused():
    with pytest.raises(ValueError, match="inductor"):
        named_rest("fast", None, {})


def test_the_backend_has_its_entry_point():
    from importlib.metadata import entry_points

    (found,) = entry_points(group="torch_dynamo_backends", name="mirage")
    assert found.value == "mirage.dynamo.backend:backend"
    assert "mirage" in torch._dynamo.list_backends()


class Slope(nn.Module):
    """Switches gradients on and takes one, whatever the caller says."""

    def forward(self, x):
        with torch.enable_grad():
            y = x.detach().requires_grad_()
            (slope,) = torch.autograd.grad((torch.tanh(y) * y).sum(), y)
        return torch.softmax(x - slope, -1)


@torch.no_grad()
def test_a_gradient_taken_inside_without_gradients_is_eagers(compiled, take):
    model = Slope()
    run, x = compiled(model), torch.randn(4, 12)
    for _ in range(3):
        same(run(x), model(x))
        take()
    assert any(GRADIENT in graph.reason for graph in mirage.explain(model, x).graphs)
    assert not any(GRADIENT in graph.reason for graph in mirage.explain(Cache(), x).graphs)
