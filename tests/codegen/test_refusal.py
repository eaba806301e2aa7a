"""A launcher refuses what its kernels were not made for: other sizes left parts of its outputs unwritten, without a word."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from emission_cases import EXTRA, original_of, program_of
from workloads import hand

from mirage.codegen.emit import emit_module, emit_rows
from mirage.mugraph.grammar import CustomKernel, MuGraph

CASES = {**hand.small(), **{n: f() for n, f in EXTRA.items()}}


def emit(case: hand.Case) -> str:
    return emit_module(program_of(case.mugraph), case.mugraph, original_of(case), function=case.name, header={})


def tiles_of(mugraph: MuGraph) -> dict[str, dict[str, int]]:
    kernels = [k for k in mugraph.kernels if isinstance(k, CustomKernel)]
    return {k.name: {d.name: d.tile for d in k.block.dims} for k in kernels}


def changed_by_one(case: hand.Case) -> Iterator[tuple[str, MuGraph]]:
    """The case's µGraph with each axis one longer."""
    for axis, size in case.mugraph.axes:
        longer = tuple((a, n + 1 if a == axis else n) for a, n in case.mugraph.axes)
        yield f"{axis}={size + 1}", replace(case.mugraph, axes=longer)


def drawn(mugraph: MuGraph) -> list[Any]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(mugraph.shape(t)) for t in mugraph.inputs]


@pytest.mark.parametrize("name", sorted(CASES))
def test_each_dimension_changed_by_one_is_refused(name: str, interpret: Any) -> None:
    case = CASES[name]
    text = emit(case)
    dtypes = [{"fp16": "float16", "bf16": "bfloat16", "fp32": "float32"}[t.dtype] for t in case.mugraph.inputs]
    assert "error" not in interpret(text, case.inputs(), dtypes)
    for axis, other in changed_by_one(case):
        for tables in ({}, {"sizes": dict(other.axes)}, {"sizes": dict(other.axes), "tiles": tiles_of(case.mugraph)}):
            same = all(a.shape == b.shape for a, b in zip(drawn(other), case.inputs(), strict=True))
            if same and not tables:
                continue  # an axis of no input
            found = interpret(text, drawn(other), dtypes, **tables)
            assert "ValueError: these kernels were made for" in found.get("error", ""), (axis, tables)


def test_other_sizes_and_tiles_for_its_own_tensors_are_refused_too(interpret: Any) -> None:
    case = hand.rmsnorm_linear()
    for tables in ({"sizes": {"m": 19, "k": 64, "n": 37}}, {"tiles": {"fused": {"m": 16, "n": 16, "k": 16}}}):
        found = interpret(emit(case), case.inputs(), **tables)
        assert "ValueError: these kernels were made for" in found.get("error", ""), tables


def test_in_a_table_of_sizes_a_launcher_serves_its_own_rows_alone(interpret: Any) -> None:
    cases = [hand.rmsnorm_linear(m=19), hand.rmsnorm_linear(m=40, tn=32)]
    rows = [(program_of(c.mugraph), c.mugraph) for c in cases]
    text = emit_rows(rows, original_of(cases[0]), function=cases[0].name, header={})
    assert "Made for rows of _BY_SIZE: raises" in text
    second = {"sizes": dict(cases[1].mugraph.axes), "tiles": {"fused": {"m": 16, "n": 32, "k": 32}}}
    assert "error" not in interpret(text, cases[0].inputs())
    found = interpret(text, cases[1].inputs(), **second)
    assert np.abs(found["out"][0] - cases[1].reference(*cases[1].inputs())).max() < 0.1
    for arrays, tables in ((cases[1].inputs(), {}), (cases[0].inputs(), second)):
        assert "ValueError: these kernels were made for" in interpret(text, arrays, **tables).get("error", "")


def test_it_says_what_it_was_made_for() -> None:
    assert "Made for m=19, k=75, n=37: raises ValueError for all else." in emit(hand.rmsnorm_linear())
