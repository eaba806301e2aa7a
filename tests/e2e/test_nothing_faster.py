"""Where no candidate is estimated to be faster than the function as written, none is verified, unless a kernel is asked for anyway."""

from __future__ import annotations

from mirage.pipeline.optimize import optimize
from mirage.pipeline.processes import Tools
from mirage.pipeline.request import Request
from mirage.results.progress import CancelToken
from mirage.results.result import Result

TEXT = """import torch

import mirage


@mirage.optimize(inputs=[((256, 512), "fp16"), ((512, 256), "fp16")])
def product(x, w):
    return x @ w
"""


def run(tools: Tools, *, anyway: bool) -> tuple[Result, list[str]]:
    states: list[str] = []
    request = Request(TEXT, "<text>", "product", anyway=anyway, measure=False)
    return optimize(request, lambda p: states.append(p.state), CancelToken(), tools), states


def test_what_could_not_be_the_answer_is_not_verified(tools):
    result, states = run(tools, anyway=False)
    assert (
        result.answer == "keep"
        and result.reason.startswith("keep yours: ")
        and "at best by the estimate" in result.reason
    )
    assert result.estimate is not None and result.estimate.us >= result.estimate.baseline_us
    assert "verifying" not in states and result.verdict is None and not result.mugraphs
    assert "not-faster" in {r.code for r in result.remarks}
    assert result.seconds.verdict == 0 and result.seconds.first_kernel == 0


def test_what_is_asked_for_anyway_is_verified(tools):
    result, states = run(tools, anyway=True)
    assert result.answer == "kernel" and "verifying" in states
    assert result.verdict is not None and result.verdict.accepted and result.seconds.first_kernel > 0
