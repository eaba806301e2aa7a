"""A graph on a GPU takes those kernels with which it is faster as a whole, by a clock that the test makes up, and else none."""

import pytest
import torch

import mirage
from mirage.dynamo import region_kernels, swapped_graph, whole_timing
from mirage.dynamo.whole_timing import SetTried, best, choose


def picks(costs):
    """What is chosen of kinds that each cost the whole something: below 0 it is faster with that kind."""
    asked = []

    def time_with(kinds):
        asked.append(kinds)
        return 1.0 + sum(costs[k] for k in kinds), 1.0

    chosen = best(choose(list(costs), time_with))
    return chosen and set(chosen.kinds), len(asked)


@pytest.mark.parametrize(
    ("costs", "kinds", "compiled"),
    [
        ({"a": -0.1, "b": -0.2}, {"a", "b"}, 2),  # without a it is slower: no further set is tried
        ({"a": 0.3, "b": -0.2}, {"b"}, 2),  # the worst one is dropped
        ({"a": 0.1, "b": 0.1, "c": -0.1}, {"c"}, 3),
        ({"a": 0.1, "b": 0.1}, None, 2),
        ({"a": -0.004}, None, 1),  # no faster than by noise
        ({"a": 0.1, "b": 0.1, "c": 0.1, "d": -0.9}, {"c", "d"}, 3),
        ({"a": 1.0, "b": 1.0, "c": 1.0, "d": -0.9}, None, whole_timing.MOST_TRIES),
    ],
)
def test_the_kernel_that_gains_least_is_dropped_while_that_helps(costs, kinds, compiled):
    assert picks(costs) == (kinds, compiled)


def test_of_the_faster_sets_the_fastest_stays():
    tried = [
        SetTried(frozenset("ab"), 0.9, 1.0),
        SetTried(frozenset("b"), 0.8, 1.1),
        SetTried(frozenset("c"), 0.999, 1.0),
    ]
    assert best(tried) is tried[1] and best(tried[2:]) is None and best([]) is None


@pytest.fixture
def model(monkeypatch, take, compiled):
    """`build(costs)`: a model of two regions that writes to a buffer, and it compiled; a kind of kernel costs a call so much."""
    monkeypatch.setattr(whole_timing, "on_gpu", lambda args: True)
    monkeypatch.setattr(whole_timing, "is_recorded", lambda: False)

    class Two(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("calls", torch.zeros(3))

        def forward(self, x):
            self.calls.add_(x.sort().values)
            return torch.sigmoid((torch.relu(x) * 2 + 1).sort().values * 3 - 1)

    called = []

    def counted(function):
        def call(*inputs):
            called.append(function.__name__)
            return function(*inputs)

        return call

    def build(costs):
        def seconds(runs, args, written):
            found = []
            with whole_timing._left_as_found(args, written):
                for run in runs:
                    called.clear()
                    run(*args)
                    found.append(1.0 + sum(costs[list(region_kernels._known).index(name)] for name in called))
            return found

        monkeypatch.setattr(whole_timing, "seconds", seconds)
        made = Two()
        run = compiled(made)
        return made, run

    return build, lambda: take(counted), called


@torch.no_grad()
@pytest.mark.parametrize(
    ("costs", "kept"), [((-0.2, -0.3), 2), ((0.5, -0.3), 1), ((-0.3, 0.5), 1), ((0.2, 0.1), 0)]
)  # fmt: skip
def test_a_graph_keeps_what_makes_it_faster_as_a_whole(model, monkeypatch, costs, kept):
    build, take, called = model
    made, run = build(costs)
    x = torch.tensor([3.0, -1.0, 2.0])
    run(x)
    assert take() == 2
    for cost, kernel in zip(costs, region_kernels._known.values(), strict=True):
        kernel.gain = 2.0 - cost  # what is dropped first
    before = made.calls.clone()
    called.clear()
    run(x)
    torch.testing.assert_close(made.calls, before + x.sort().values)  # timing wrote nothing
    called.clear()
    run(x)
    assert len(called) == kept
    report = mirage.explain(run, x)
    reasons = [r.reason for r in report.graphs[0].regions if not r.taken]
    assert len(reasons) == 2 - kept and all("its graph takes" in r for r in reasons)


@torch.no_grad()
def test_nothing_is_swapped_in_before_all_is_decided_or_patience_ends(model, monkeypatch):
    build, take, called = model
    _, run = build((-0.2, -0.2))
    x = torch.tensor([3.0, -1.0, 2.0])
    run(x)
    take()
    first, second = region_kernels._known.values()
    monkeypatch.setattr(second, "poll", lambda: None)
    second.kernel, second.done = None, False
    called.clear()
    run(x)
    assert called == []
    monkeypatch.setattr(swapped_graph, "PATIENCE_S", 0.0)
    run(x)
    called.clear()
    run(x)
    assert called == [first.function.__name__]


@torch.no_grad()
def test_a_graph_that_cannot_be_timed_keeps_no_kernel(model, monkeypatch, caplog):
    build, take, called = model
    _, run = build((-0.2, -0.2))

    def fails(*_):
        raise torch.OutOfMemoryError("no memory for what is put back")

    monkeypatch.setattr(whole_timing, "seconds", fails)
    x = torch.tensor([3.0, -1.0, 2.0])
    run(x)
    take()
    called.clear()
    run(x), run(x)
    assert called == [] and "no memory" in caplog.text


def test_written_inputs_are_those_that_the_graph_copies_to_and_all_that_is_no_parameter():
    graph = torch.fx.Graph()
    a, b, c = (graph.placeholder(n) for n in "abc")
    graph.call_function(torch.ops.aten.copy_.default, (a, c))
    graph.output((b,))
    weight = torch.nn.Parameter(torch.ones(2), requires_grad=False)
    assert whole_timing.written_by(graph, [weight, weight, torch.ones(2)]) == [0, 2]
    assert whole_timing.written_by(graph, [weight, torch.ones(2)]) == [0, 1]
