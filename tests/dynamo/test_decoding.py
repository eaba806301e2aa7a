"""What generates tokens: a cache written in place at one address, attention as one call, layers cut at their residual sums."""

import copy
import math
from itertools import pairwise

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import mirage
from mirage.dynamo import swapped_graph
from mirage.dynamo.functional_part import _ordered
from mirage.dynamo.graph_regions import MOST, PRODUCTS, is_view

WIDTH = 16


class Step(nn.Module):
    """Writes a row of a cache that the caller holds, and reads what was in it and what is."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(WIDTH, WIDTH)

    def forward(self, x, cache, at):
        before = torch.sigmoid(cache) * 2 + 1
        cache.index_copy_(0, at, torch.tanh(self.linear(x)) + x)
        return torch.cumsum(before, 0) * cache + before


class MLP(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate, self.up, self.down = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(3))

    def forward(self, x):
        y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Attention(nn.Module):
    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = dropout

    def forward(self, q, k, v, mask):
        made = F.scaled_dot_product_attention(q * 2, k, v, attn_mask=mask, dropout_p=self.dropout)
        return torch.sigmoid(made) + q


@pytest.fixture
def parts(monkeypatch):
    made = []
    own = swapped_graph.FunctionalPart

    def part(*given):
        made.append(own(*given))
        return made[-1]

    monkeypatch.setattr(swapped_graph, "FunctionalPart", part)
    return made


def targets(parts):
    return {str(node.target) for part in parts for region, _ in part.regions for node in region.nodes}


def attention_inputs(**more):
    q, k, v = torch.randn(1, 2, 3, 8, **more), torch.randn(1, 2, 5, 8, **more), torch.randn(1, 2, 5, 8, **more)
    return q, k, v, torch.rand(3, 5) < 0.7


@torch.no_grad()
@pytest.mark.parametrize("kernels", [False, True])
def test_what_a_graph_writes_is_written_after_all_that_reads_it(compiled, take, kernels):
    model, x, at = Step(), torch.randn(2, WIDTH), torch.tensor([3, 1])
    run = compiled(model)
    mine, wanted = (torch.linspace(-1, 1, 4 * WIDTH).reshape(4, WIDTH) for _ in range(2))
    run(x, mine.clone(), at)
    assert not kernels or take() >= 2
    for _ in range(3):
        torch.testing.assert_close(run(x, mine, at), model(x, wanted, at))
        torch.testing.assert_close(mine, wanted)


class Count(nn.Module):
    """Writes buffers that its output does not read, one early and one late, and draws random numbers between."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))
        self.register_buffer("largest", torch.zeros(WIDTH))

    def forward(self, x):
        self.calls.add_(1)
        deep = torch.cumsum(torch.tanh(x) * 2 + self.calls, 0) + torch.rand(WIDTH)
        self.largest.copy_(torch.maximum(self.largest, x.amax(0)))
        return torch.sigmoid(torch.sort(deep, 0).values) * 2 + torch.rand(WIDTH) * self.largest


@torch.no_grad()
def test_what_no_output_reads_is_written_and_random_numbers_come_in_their_order(compiled, take):
    model, twin, x = Count(), Count(), torch.randn(3, WIDTH)
    run = compiled(model)
    for call in range(4):
        made, wanted = (torch.manual_seed(call) and m(x + call) for m in (run, twin))
        torch.testing.assert_close(made, wanted)
        torch.testing.assert_close(model.state_dict(), twin.state_dict())
        assert call or take() >= 2


@torch.no_grad()
def test_a_batch_norm_that_counts_has_regions(compiled, take):
    model, x = (
        nn.Sequential(nn.BatchNorm1d(WIDTH), nn.Tanh(), nn.BatchNorm1d(WIDTH), nn.Sigmoid()),
        torch.randn(3, WIDTH),
    )
    twin = copy.deepcopy(model)
    run = compiled(model)
    for call in range(4):
        torch.testing.assert_close(run(x + call), twin(x + call))
        torch.testing.assert_close(model.state_dict(), twin.state_dict())
        assert call or take() >= 1
    take(lambda function: lambda *given: [torch.zeros_like(t) for t in function(*given)])  # the kernels do run
    assert not torch.allclose(run(x), twin(x))


@torch.no_grad()
def test_no_order_of_a_circle_is_made_up():
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    a, b = graph.call_function(torch.add, (x, x)), graph.call_function(torch.mul, (x, x))
    graph.output(b)
    b.args = (a, x)
    assert [n.name for n in _ordered(graph).nodes] == ["x", "add", "mul", "output"]
    a.args = (b, x)
    with pytest.raises(ValueError, match="circle"):
        _ordered(graph)


@torch.no_grad()
@pytest.mark.parametrize("marked", [False, True])
def test_inductor_is_told_of_the_inputs_that_stay_at_one_address(monkeypatch, parts, take, marked):
    told = []

    def inner(graph, inputs, **more):
        told.append((len(inputs), sorted(more["static_input_idxs"]), "copy_" in str(graph.graph)))
        raise RuntimeError("what Inductor would do with it takes long")

    monkeypatch.setattr("torch._inductor.compile_fx.compile_fx_inner", inner)
    model, cache = Step(), torch.zeros(4, WIDTH)
    if marked:
        torch._dynamo.mark_static_address(cache)
    run = torch.compile(model, backend="mirage", options={"fx_graph_cache": False})
    given = torch.randn(2, WIDTH), cache, torch.tensor([3, 1])
    run(*given)
    own = told[-1][1]
    assert take()
    run(*given)
    assert len(told) >= 2
    (part,) = parts
    inputs, static, writes = told[-1]
    # Two parameters, and the cache if it is marked; x and the positions never. AOTAutograd's inputs are Dynamo's here.
    assert inputs == 5 and writes and len(static) == 2 + marked and static == own == sorted(part.static)


@torch.no_grad()
def test_attention_is_part_of_a_region(compiled, take, parts):
    model, given = Attention(), attention_inputs()
    run = compiled(model)
    torch.testing.assert_close(run(*given), model(*given))
    assert "aten.scaled_dot_product_attention.default" in targets(parts)
    assert take() == 1
    torch.testing.assert_close(run(*given), model(*given))


@pytest.mark.parametrize("case", ["gradient", "gradient inside", "dropout", "autocast"])
def test_attention_with_more_than_a_value_is_pytorchs(compiled, parts, case):
    model, given = Attention(0.3 if case == "dropout" else 0.0), attention_inputs(requires_grad=case == "gradient")

    def inside(*xs):
        with torch.enable_grad():
            return model(*xs)

    run = compiled(inside if case == "gradient inside" else model)
    with torch.set_grad_enabled(case == "gradient"), torch.autocast("cpu", enabled=case == "autocast"):
        made = run(*given)
        if case != "dropout":
            torch.testing.assert_close(made, model(*given))
    assert "aten.scaled_dot_product_attention.default" not in targets(parts)


@torch.no_grad()
def test_attention_alone_is_a_region(parts, compiled):
    compiled(lambda q, k, v: F.scaled_dot_product_attention(q, k, v))(*attention_inputs()[:3])
    assert targets(parts) == {"aten.scaled_dot_product_attention.default"}


@torch.no_grad()
def test_layers_are_cut_at_their_residual_sums(compiled, take):
    model, x = nn.Sequential(*(MLP() for _ in range(4))), torch.randn(2, WIDTH)
    run = compiled(model)
    wanted = run(x)
    (graph,) = mirage.explain(model, x).graphs
    assert len(graph.regions) == 4 and len({r.name for r in graph.regions}) == 1
    assert take() == 1
    torch.testing.assert_close(run(x), wanted)


@torch.no_grad()
@pytest.mark.parametrize("layers", [1, 3, 9])
def test_no_piece_is_too_large_and_a_parameter_is_taken_whole(parts, compiled, layers):
    widths = [WIDTH + 8 * (i % 3) for i in range(layers * 2 + 1)]
    model = nn.Sequential(*(nn.Sequential(nn.Linear(a, b), nn.GELU()) for a, b in pairwise(widths)))
    compiled(model)(torch.randn(2, WIDTH))
    (part,) = parts
    regions = [region for region, _ in part.regions]
    held = [node for region in regions for node in region.nodes]
    assert len(held) == len(set(held))
    assert {n for n in part.module.graph.nodes if n.op == "call_function"} == set(held)
    for region in regions:
        products = sum(str(n.target).startswith(("aten.mm", "aten.addmm")) for n in region.nodes)
        assert 1 <= products <= PRODUCTS and sum(not is_view(n) for n in region.nodes) <= MOST
        assert all(x.op == "placeholder" or not is_view(x) for x in region.inputs)
    assert len(regions) == math.ceil(2 * layers / PRODUCTS)


@torch.no_grad()
@pytest.mark.parametrize(
    "part", [lambda x: x.chunk(2, -1), lambda x: torch.var_mean(x, -1, keepdim=True)], ids=["views", "results"]
)
def test_the_parts_of_a_call_stay_with_it(compiled, take, parts, part):
    """A part of a tensor is a view, and stands with what reads it; a part of what a call gave stands with the call."""

    def model(x):
        for _ in range(4):
            a, b = part(torch.tanh(x @ x))
            x = torch.cat([-b, a], -1) * 0.5 + x.mean() if a.shape[-1] > 1 else (x - b) * torch.rsqrt(a + 1)
        return x

    run, x = compiled(model), torch.randn(WIDTH, WIDTH)
    torch.testing.assert_close(run(x), model(x))
    held = [n for region, _ in parts[0].regions for n in region.nodes]
    assert {n for n in parts[0].module.graph.nodes if n.op == "call_function"} == set(held) and len(held) == len(
        set(held)
    )
    assert take() >= 2
    torch.testing.assert_close(run(x), model(x))


@torch.no_grad()
def test_explain_again_and_again_compiles_once_and_disturbs_nothing(compiled):
    torch._dynamo.utils.counters.clear()
    model, x = nn.Sequential(MLP(), MLP()), torch.randn(2, WIDTH)
    run = compiled(model)
    run(x)
    reports = [mirage.explain(model, x) for _ in range(12)]
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 2
    assert all(r == reports[0] and len(r.graphs[0].regions) == 2 for r in reports)
    run(torch.randn(5, WIDTH))  # another shape is compiled as ever
    assert len(mirage.explain(model, torch.randn(5, WIDTH)).graphs) == 1
