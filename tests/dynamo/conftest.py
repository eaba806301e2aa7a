"""Models compiled by the backend with PyTorch's own operators as the rest, and regions whose kernels are given by hand."""

import functools
import logging

import pytest
import torch

from mirage.dynamo import region_kernels, swapped_graph
from mirage.dynamo.backend import backend
from mirage.runtime import daemon_thread

logging.getLogger("torch._dynamo").setLevel(logging.ERROR)


@pytest.fixture(autouse=True)
def fresh(tmp_path, monkeypatch):
    """No region of another test has a kernel, no daemon is there, and each call looks for kernels, which run on a CPU."""
    monkeypatch.setenv("MIRAGE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(swapped_graph, "LOOK_S", 0.0)
    monkeypatch.setattr(region_kernels, "DEVICE", "cpu")
    monkeypatch.setattr(daemon_thread, "_background", daemon_thread.Background())
    torch._dynamo.reset()
    for kernel in region_kernels._known.values():
        kernel.kernel, kernel.done = None, False
    yield
    torch._dynamo.reset()


eager = functools.partial(backend, options={"rest": "eager"})


@pytest.fixture
def compiled():
    return lambda model, **more: torch.compile(model, backend=eager, **more)


@pytest.fixture
def take():
    """Give every region that is known a kernel: `make(function)`, by itself its function as written. How many there are."""

    def give(make=lambda function: function):
        for kernel in region_kernels._known.values():
            kernel._use(make(kernel.function))
        return len(region_kernels._known)

    monkeys = dict(region_kernels._known)
    region_kernels._known.clear()
    yield give
    region_kernels._known.update(monkeys)
