"""The float opinion whose runs begin before it is asked: the same words and figures, and runs that nobody waits for end."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest
from workloads.hand import small
from workloads.hand_modules import emitted, program_of

from mirage.cli.float_worker import FloatWorker
from mirage.isolate.runner import Worker
from mirage.verify.floats.opinion import float_opinion, float_opinion_ahead
from mirage.verify.judge import Case, judge

NORM = small()["rmsnorm_linear"]


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
    case = Case(e.t, e.targets, e.mugraph, e.module, program_of(NORM.mugraph), e.text, e.function)
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
        assert time.monotonic() - start < 30
        assert second.pid is None
