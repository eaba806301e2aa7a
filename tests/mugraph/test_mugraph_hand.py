"""The six hand-written µGraphs are valid and compute what their references say; a changed one does not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from workloads.evaluate import evaluate
from workloads.hand import BUILDERS, real, small

from mirage.mugraph.check import check
from mirage.mugraph.grammar import Accumulate, CustomKernel, Loop, MuGraph

NAMES = sorted(BUILDERS)


@pytest.mark.parametrize("name", NAMES)
def test_small_and_real_are_valid(name: str) -> None:
    check(small()[name].mugraph)
    check(real(name).mugraph)


@pytest.mark.parametrize("name", NAMES)
def test_tiles_compute_the_reference(name: str) -> None:
    case = small()[name]
    inputs = case.inputs(seed=3)
    want = case.reference(*inputs)
    np.testing.assert_allclose(evaluate(case.mugraph, *inputs), want, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_the_users_source_computes_the_reference(name: str) -> None:
    torch = pytest.importorskip("torch")
    case = small()[name]
    lines = [x for x in case.source.splitlines() if not x.startswith(("import mirage", "@mirage"))]
    scope: dict[str, Any] = {}
    exec("\n".join(lines), scope)
    inputs = case.inputs(seed=4)
    got = scope[name](*(torch.tensor(x) for x in inputs)).numpy()
    np.testing.assert_allclose(got, case.reference(*inputs), rtol=1e-5, atol=1e-6)


def _without_rescale(m: MuGraph) -> MuGraph:
    """The output accumulator forgets the shift's factor: valid in form, wrong in value."""
    k = m.kernels[0]
    assert isinstance(k, CustomKernel)
    body = tuple(
        Loop(i.dim, tuple(replace(s, update=()) if isinstance(s, Accumulate) and s.out == "o" else s for s in i.body))
        if isinstance(i, Loop)
        else i
        for i in k.block.body
    )
    return replace(m, kernels=(replace(k, block=replace(k.block, body=body)), *m.kernels[1:]))


def test_a_forgotten_rescale_changes_the_value() -> None:
    case = small()["attention_split"]
    inputs = case.inputs()
    got = evaluate(_without_rescale(case.mugraph), *inputs)
    assert not np.allclose(got, case.reference(*inputs), rtol=1e-3)
