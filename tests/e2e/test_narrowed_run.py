"""What the decorator asks of every kernel holds in the answer; a grid that nothing has leaves the function as written."""

from __future__ import annotations

import pytest

from mirage.errors import FunctionNotFound, MirageError
from mirage.pipeline.optimize import optimize
from mirage.pipeline.processes import Tools
from mirage.pipeline.request import Request, read
from mirage.results.progress import CancelToken

TEXT = """import mirage
import torch


@mirage.optimize(inputs=[((16, 64), "fp16"), ((64, 64), "fp16")], griddims=[GRID])
def product(X, W):
    return torch.matmul(torch.relu(X), W)
"""


def run(grid: str, tools: Tools):
    text = TEXT.replace("GRID", grid)
    return optimize(Request(text, "<text>", "product", anyway=True), lambda _: None, CancelToken(), tools)


def test_the_answer_has_the_grid_that_is_asked_for(tools: Tools):
    result = run("(4, 1, 1)", tools)
    assert result.answer == "kernel"
    assert [tuple(n for n in k.grid if n > 1) for k in result.kernels] == [(4,)]


def test_a_grid_that_no_kernel_has_keeps_the_function(tools: Tools):
    result = run("(7, 1, 1)", tools)
    assert result.answer == "keep" and "nothing found that fits" in result.reason and "griddims" in result.reason
    assert any("griddims" in x for x in result.search.limits)


def test_nonsense_is_an_error_before_anything_runs():
    with pytest.raises(MirageError) as caught:
        read(Request(TEXT.replace("GRID", "(4, 1)"), "<text>", "product"))
    assert caught.value.code == "MIR110" and caught.value.line == 5 and not isinstance(caught.value, FunctionNotFound)
