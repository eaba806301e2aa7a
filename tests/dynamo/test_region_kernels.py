"""Regions are submitted to the daemon once, and a kernel that fits comes back between calls; the daemon is scripted."""

from dataclasses import replace

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

import mirage
from mirage.dynamo import region_kernels
from mirage.dynamo.graph_regions import cut
from mirage.dynamo.region_text import write
from mirage.ir.dtypes import dtype_of
from mirage.ir.tensor_spec import TensorSpec
from mirage.link.client import Client
from mirage.results.codec import unstructure
from mirage.results.result import Estimate, Result
from mirage.results.verdict import LINKS, Evidence, Verdict
from mirage.runtime import daemon_kernels, daemon_thread, installed_kernels, observed_calls

X = torch.ones(3, 5)
TESTED = Verdict(tuple(Evidence(link=x, opinion="field", word="TESTED", summary="", bound=1e-9) for x in LINKS))
MEASURED = Estimate(us=2.0, speed_of_light_us=1.0, baseline_us=3.0, device="a GPU", measured=True)
NOTE = "nothing was measured on this machine's GPU: it is lost"


def model(x):
    first = torch.relu(x) * 2 + 1
    return (torch.relu(first.sort(-1).values) * 2 + 1).sort(-1).values


def answer(name, rows, **more):
    """A kernel that gives nines, which the model never does."""
    found = Result(
        function=name, answer="kernel", reason="", program_key="p" * 64, verdict=TESTED,
        inputs=tuple(TensorSpec(n, tuple(shape), dtype_of(dtype)) for n, shape, dtype in rows),
        source=f"import torch\n\ndef {name}(x0):\n    return torch.zeros_like(x0) + 9.0\n",
        versions=daemon_kernels.versions(), estimate=MEASURED,
    )  # fmt: skip
    return unstructure(replace(found, **more))


@pytest.fixture
def daemon(monkeypatch):
    """Submissions, and what is said of them (`more` of a result)."""

    class Scripted:
        submitted, more = [], {}

        def submit(self, text, path, name, target, priority, *, interpreter, inputs):
            self.submitted.append((name, inputs))

        def lookup(self, text, path, name, *, target, interpreter, inputs):
            return answer(name, inputs, **self.more) if self.submitted else None

        def close(self):
            pass

    scripted = Scripted()
    monkeypatch.setattr(Client, "connect", lambda **_: scripted)
    monkeypatch.setattr(observed_calls, "AGAIN_S", 0.0)
    return scripted


def called_twice(run):
    """A call that asks, and one that may have the answer."""
    with torch.no_grad():
        run(X)
        daemon_thread.wait()
        return bool((run(X) == 9).all())


def test_equal_regions_are_submitted_once_and_the_kernel_is_taken(daemon, compiled, take):
    assert called_twice(compiled(model))
    (region,) = region_kernels._known.values()
    assert daemon.submitted == [(region.written.name, [("x0", [3, 5], "torch.float32")])]
    assert not installed_kernels.is_empty() and region.reason == ""


def test_a_later_process_finds_it_without_a_daemon(daemon, compiled, take, monkeypatch):
    assert called_twice(compiled(model))
    monkeypatch.setattr(region_kernels, "_known", {})
    monkeypatch.setattr(Client, "connect", None)
    torch._dynamo.reset()
    with torch.no_grad():
        assert bool((compiled(model)(X) == 9).all())


@pytest.mark.parametrize(
    "more",
    [
        {"answer": "keep", "reason": "yours is better"},
        {"answer": "compile", "baseline": "compile", "verdict": None},
        {"verdict": None},
        {"verdict": Verdict(())},
        {"inputs": (TensorSpec("x0", (3, 6), "fp32"),)},
        {"inputs": (TensorSpec("x0", (3, 5), "fp16"),)},
        {"versions": {}},
        {"source": "import os\n"},
    ],
)
def test_another_answer_leaves_the_region_as_written(daemon, compiled, take, more):
    daemon.more = more
    run = compiled(model)
    assert not called_twice(run)
    with torch.no_grad():
        assert torch.equal(run(X), model(X))
    (region,) = region_kernels._known.values()
    assert region.kernel is None and region.reason == more.get("reason", region.reason)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"estimate": replace(MEASURED, measured=False)}, ""),
        ({"estimate": replace(MEASURED, measured=False), "notes": ("another", NOTE)}, f": {NOTE}"),
        ({"estimate": None}, ""),
    ],
)
def test_an_estimate_alone_brings_no_kernel_in_and_explain_says_so(daemon, compiled, take, more, said):
    daemon.more = more
    assert not called_twice(compiled(model))
    with torch.no_grad():
        (graph,) = mirage.explain(model, X).graphs
    assert [(r.taken, r.reason, r.gain) for r in graph.regions] == [(False, region_kernels.ESTIMATED + said, 0.0)] * 2
    daemon.more = {}


def test_what_was_measured_is_taken_with_its_figure(daemon, compiled, take):
    assert called_twice(compiled(model))
    with torch.no_grad():
        (graph,) = mirage.explain(model, X).graphs
    assert [(r.taken, r.gain) for r in graph.regions] == [(True, 1.5)] * 2


def test_the_switch_leaves_regions_alone(daemon, compiled, take, monkeypatch):
    monkeypatch.setenv(daemon_thread.SWITCH, "off")
    assert not called_twice(compiled(model)) and daemon.submitted == []


def test_no_kernel_is_asked_for_where_none_runs(daemon, compiled, take, monkeypatch):
    monkeypatch.setattr(region_kernels, "DEVICE", "cuda")
    assert not called_twice(compiled(model)) and daemon.submitted == []
    (region,) = region_kernels._known.values()
    assert region.kernel is None and region.reason == region_kernels.NO_GPU


def test_a_kernel_in_the_registry_is_not_taken_where_it_does_not_run(daemon, compiled, take, monkeypatch):
    assert called_twice(compiled(model))
    monkeypatch.setattr(region_kernels, "_known", {})
    monkeypatch.setattr(region_kernels, "DEVICE", "cuda")
    torch._dynamo.reset()
    with torch.no_grad():
        assert torch.equal(compiled(model)(X), model(X))


@pytest.mark.parametrize(
    "devices, found",
    [(("cuda", "cuda"), "cuda"), (("cpu", "cpu"), "cpu"), (("cuda:0", "cpu"), ""), (("meta", "meta"), "meta")],
)
def test_a_region_is_on_the_device_of_all_its_inputs(devices, found):
    with FakeTensorMode():
        x, factor = torch.empty(3, 5, device=devices[0]), torch.empty((), device=devices[1])
        graph = make_fx(lambda x, factor: torch.relu(x) * factor)(x, factor).graph
    (region,) = cut(graph)
    assert write(region.nodes, region.inputs, region.outputs).device == found
