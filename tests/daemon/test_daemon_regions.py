"""Regions of a model are submitted to a daemon once, and a verified kernel comes back between calls."""

import functools
import time
from dataclasses import replace

import pytest
import torch
from waiting import LIMIT_S

from mirage.dynamo import region_kernels, swapped_graph
from mirage.dynamo.backend import backend
from mirage.ir.dtypes import dtype_of
from mirage.ir.tensor_spec import TensorSpec
from mirage.results.codec import unstructure
from mirage.results.result import Result
from mirage.results.verdict import LINKS, Evidence, Verdict
from mirage.runtime import daemon_kernels, daemon_thread, observed_calls

X = torch.ones(3, 5)
TESTED = Verdict(tuple(Evidence(link=x, opinion="field", word="TESTED", summary="", bound=1e-9) for x in LINKS))


def model(x):
    first = torch.relu(x) * 2 + 1
    return (torch.relu(first.sort(-1).values) * 2 + 1).sort(-1).values


def answer(payload, wrong):
    """A kernel that gives sevens, or one for another shape."""
    (region,) = region_kernels._known.values()
    given = tuple(TensorSpec(name, (2, 2) if wrong else shape, dtype_of(dtype)) for name, shape, dtype in region.asked)
    source = f"import torch\n\ndef {payload['function']}(x0):\n    return torch.zeros_like(x0) + 7.0\n"
    found = Result(
        function=payload["function"], answer="kernel", reason="", inputs=given, program_key="p" * 64,
        source=source, verdict=TESTED, versions=daemon_kernels.versions(),
    )  # fmt: skip
    return {"result": unstructure(replace(found))}


@pytest.fixture
def run(home, monkeypatch):
    monkeypatch.setattr(daemon_thread, "_background", daemon_thread.Background())
    monkeypatch.setattr(swapped_graph, "LOOK_S", 0.0)
    monkeypatch.setattr(observed_calls, "AGAIN_S", 0.0)
    monkeypatch.setattr(region_kernels, "_known", {})
    torch._dynamo.reset()
    yield torch.compile(model, backend=functools.partial(backend, options={"rest": "eager"}))
    torch._dynamo.reset()


@torch.no_grad()
@pytest.mark.parametrize("wrong", [False, True])
def test_equal_regions_are_asked_once_and_a_fitting_kernel_is_taken(house, run, wrong):
    with house(lambda payload, *_: answer(payload, wrong)) as h:
        assert torch.equal(run(X), model(X))
        until = time.monotonic() + (LIMIT_S if not wrong else 3)
        while not (done := bool((run(X) == 7).all())) and time.monotonic() < until:
            daemon_thread.wait(1.0)
            time.sleep(0.05)
        assert done is not wrong and len(h.runs) == 1
        if wrong:
            assert torch.equal(run(X), model(X))
