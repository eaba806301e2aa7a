"""The float opinion whose runs begin before it is asked: the same words and figures, and runs that nobody waits for end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from workloads.hand import Case, small
from workloads.hand_targets import targets

from mirage.cli.float_worker import FloatWorker
from mirage.codegen.emit import emit_module
from mirage.ir.program import Program
from mirage.ir.tensor_spec import TensorSpec
from mirage.isolate.runner import Worker
from mirage.verify.emitted_module import EmittedModule
from mirage.verify.floats.opinion import float_opinion, float_opinion_ahead
from mirage.verify.judge import Case as Judged
from mirage.verify.judge import judge

NORM = small()["rmsnorm_linear"]


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker(env={"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}) as made:
        yield made


def program_of(case: Case) -> Program:
    inputs = tuple(TensorSpec(x.name, case.mugraph.shape(x), x.dtype) for x in case.mugraph.inputs)
    return Program(case.mugraph.name, inputs, (), tuple(range(len(case.mugraph.outputs))))


def source_of(case: Case) -> str:
    return "\n".join(x for x in case.source.splitlines() if not x.startswith("@mirage") and x != "import mirage")


def emitted(case: Case, old: str = "", new: str = "") -> EmittedModule:
    module = emit_module(program_of(case), case.mugraph, source_of(case), function=case.name, header={})
    assert old in module
    names = [x.name for x in case.mugraph.inputs]
    t, outputs = targets(case.mugraph)
    return EmittedModule(t, outputs, case.mugraph, module.replace(old, new), names, source_of(case), case.name)


@pytest.mark.parametrize(("new", "word"), [("1e-06", "TESTED"), ("0.5", "REJECTED")])
def test_runs_that_begin_before_give_the_same_opinion(new: str, word: str, worker: Worker) -> None:
    def run(task: str, payload: dict[str, Any]) -> dict[str, Any]:
        return worker.call(task, payload, timeout_s=120)

    module = emitted(NORM, "1e-06", new)
    with FloatWorker(worker, 120) as ahead:
        begun = float_opinion_ahead(module, run, ahead)()
    one_by_one = float_opinion(module, run)
    assert begun.word == word
    assert replace(begun, seconds=0.0) == replace(one_by_one, seconds=0.0)


def test_the_runs_begin_before_the_other_opinions(worker: Worker) -> None:
    asked: list[str] = []

    def run(task: str, payload: dict[str, Any]) -> dict[str, Any]:
        asked.append(task)
        return worker.call(task, payload, timeout_s=120)

    e = emitted(NORM)
    case = Judged(e.t, e.targets, e.mugraph, e.module, program_of(NORM), e.text, e.function)
    with Worker(env={"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}) as second, FloatWorker(second, 120) as ahead:
        verdict = judge(case, run, ahead=ahead)
    assert verdict.accepted and any(x.opinion == "float" for x in verdict.evidence)
    assert set(asked) == {"field_text"}


def test_runs_that_nobody_waits_for_end_at_once() -> None:
    def never(task: str, payload: dict[str, Any]) -> dict[str, Any]:
        raise AssertionError(f"{task} is asked of the first worker")

    with Worker(env={"TRITON_INTERPRET": "1"}) as second:
        second.warm()
        with FloatWorker(second, 120) as ahead:
            float_opinion_ahead(emitted(NORM), never, ahead)
            start = time.monotonic()
        assert time.monotonic() - start < 5
        assert second.pid is None
