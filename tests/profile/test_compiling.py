"""Modules compiled side by side: what is left in the cache is what a launch finds; what cannot be compiled says why."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator

import pytest
from workloads import hand

from mirage.codegen.emit import emit_module
from mirage.ir.program import Program
from mirage.ir.tensor_spec import TensorSpec
from mirage.profile import parallel_compile

REFUSED = "raise RuntimeError('no module')"


@pytest.fixture(scope="module")
def pool(tmp_path_factory) -> Iterator[None]:
    saved = os.environ.get("TRITON_CACHE_DIR"), os.environ.pop("TRITON_INTERPRET", None)
    os.environ["TRITON_CACHE_DIR"] = str(tmp_path_factory.mktemp("cache"))
    yield
    parallel_compile.close()
    for name, value in zip(("TRITON_CACHE_DIR", "TRITON_INTERPRET"), saved, strict=True):
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value


def text() -> str:
    case = hand.gated_mlp(m=16, k=256, n=256, tk=64, tn=64)
    graph = case.mugraph
    inputs = tuple(TensorSpec(t.name, graph.shape(t), t.dtype) for t in graph.inputs)
    source = "\n".join(x for x in case.source.splitlines() if not x.startswith("@mirage") and x != "import mirage")
    return emit_module(Program(case.name, inputs, (), (0,)), graph, source, function=case.name, header={})


def dies(text: str, target: str) -> dict[str, object]:
    if text == REFUSED:
        os._exit(3)
    return {"shared": len(text)}


def test_a_second_time_it_is_found_and_what_fails_says_why(pool):
    until = time.monotonic() + 300
    first = dict(parallel_compile.compiled([text(), REFUSED], "sm_90", 1, until))
    assert first[0]["shared"] > 0 and first[1] == {"failed": "RuntimeError: no module"}
    again = dict(parallel_compile.compiled([text()], "sm_90", 1, math.inf))
    assert again[0]["compile_s"] < first[0]["compile_s"] / 4
    assert again[0]["shared"] == first[0]["shared"]


def test_what_does_not_fit_is_never_launched(pool):
    until = time.monotonic() + 300
    (row,) = dict(
        parallel_compile.compiled([text().replace("num_stages=3", "num_stages=40")], "sm_90", 1, until)
    ).values()
    assert "bytes of shared memory" in row["failed"]


def test_nothing_begins_after_the_time(pool):
    rows = dict(parallel_compile.compiled([text()] * 3, "sm_90", 1, time.monotonic()))
    assert {i for i, r in rows.items() if r == {"failed": parallel_compile.LATE}} == {0, 1, 2}


def test_the_death_of_one_process_is_not_that_of_the_others(pool):
    rows = dict(parallel_compile.compiled(["a", REFUSED, "ccc"], "sm_90", 1, time.monotonic() + 300, dies))
    assert rows == {0: {"shared": 1}, 1: {"failed": parallel_compile.DIED}, 2: {"shared": 3}}
