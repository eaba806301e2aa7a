"""Opinions on a text whose runs begin before they are asked: the same words and figures, and runs that nobody waits for end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, TypeVar

import pytest
from workloads.hand import small
from workloads.hand_modules import emitted, program_of

from mirage.cli.worker_queue import WorkerQueue
from mirage.errors import TraceFailed, WorkerDied
from mirage.isolate.runner import Worker
from mirage.verify.field.text_opinion import text_opinion, text_opinion_ahead
from mirage.verify.floats import opinion
from mirage.verify.floats.opinion import float_opinion, float_opinion_ahead
from mirage.verify.judge import Case, judge
from mirage.verify.worker_tasks import RunTask

P = TypeVar("P")
R = TypeVar("R")
NORM = small()["rmsnorm_linear"]


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker(env={"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}) as made:
        yield made


@pytest.mark.parametrize(("new", "word"), [("1e-06", "TESTED"), ("0.5", "REJECTED")])
def test_runs_that_begin_before_give_the_same_opinion(new: str, word: str, worker: Worker) -> None:
    def run(task: str, payload: dict[str, Any]) -> dict[str, Any]:
        return worker.call(task, payload, timeout_s=120)

    module = emitted(NORM, "1e-06", new)
    with WorkerQueue(worker, 120) as ahead:
        begun = float_opinion_ahead(module, run, ahead)()
    one_by_one = float_opinion(module, run)
    assert begun.word == word
    assert replace(begun, seconds=0.0) == replace(one_by_one, seconds=0.0)


class _Dying(WorkerQueue):
    """Whatever is to run beside the queue ends its process."""

    def beside(self, work: Callable[[RunTask, P], R], payload: P, timeout_s: float = 0.0) -> Future[R]:
        found: Future[R] = Future()
        found.set_exception(WorkerDied("it ended"))
        return found


@pytest.mark.parametrize("queue", [WorkerQueue, _Dying])
@pytest.mark.parametrize("most", [0, opinion.TOGETHER])
@pytest.mark.parametrize(("new", "word"), [("1e-06", "TESTED"), ("0.0", "REJECTED")])
def test_regimes_of_one_task_are_judged_as_by_themselves(
    new: str, word: str, most: int, queue: type[WorkerQueue], worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = emitted(NORM, "1e-06", new)
    monkeypatch.setattr(opinion, "TOGETHER", most)
    with queue(worker, 120) as ahead:
        begun = float_opinion_ahead(module, ahead.run, ahead)()
        one_by_one = float_opinion(module, ahead.run)
    assert begun.word == word
    assert word == "TESTED" or begun.summary.startswith("zeros")  # one of those that run beside the others
    assert replace(begun, seconds=0.0) == replace(one_by_one, seconds=0.0)


@pytest.mark.parametrize(("new", "word"), [("1e-06", "TESTED"), ("0.5", "REJECTED")])
def test_launches_in_the_field_that_begin_before_give_the_same_opinion(new: str, word: str, worker: Worker) -> None:
    module = emitted(NORM, "1e-06", new)
    with WorkerQueue(worker, 120) as queue:
        begun = text_opinion_ahead(module, queue.run, queue)()
        one_by_one = text_opinion(module, queue.run)
    assert begun.word == word
    assert replace(begun, seconds=0.0) == replace(one_by_one, seconds=0.0)


def test_a_text_that_does_not_load_is_rejected_in_the_same_words(worker: Worker) -> None:
    module = replace(emitted(NORM), module="import a_package_that_is_not_there")
    with WorkerQueue(worker, 120) as queue:
        begun, one_by_one = text_opinion_ahead(module, queue.run, queue)(), text_opinion(module, queue.run)
    assert begun.word == one_by_one.word == "REJECTED"
    assert "could not be run" in begun.summary and begun.summary == one_by_one.summary


def test_the_runs_begin_before_the_other_opinions(worker: Worker) -> None:
    e = emitted(NORM)
    case = Case(e.t, e.targets, e.mugraph, e.module, program_of(NORM.mugraph), e.text, e.function)

    def never(task: str, payload: dict[str, Any]) -> dict[str, Any]:
        raise AssertionError(f"{task} has not begun")

    with WorkerQueue(worker, 120) as queue:
        ahead = judge(case, never, ahead=queue)
        after = judge(case, queue.run)
    assert ahead.accepted
    assert [(x.link, x.opinion, x.word, x.summary) for x in ahead.evidence] == [
        (x.link, x.opinion, x.word, x.summary) for x in after.evidence
    ]


def test_what_is_forgotten_does_not_run(worker: Worker) -> None:
    done: list[int] = []

    def work(run_task: RunTask, number: int) -> None:
        run_task("selftest", {"action": "sleep", "seconds": 0.3})
        done.append(number)

    with WorkerQueue(worker, 120) as queue:
        for number in range(5):
            queue(work, number)
        queue.forget()
        assert queue.run("selftest", {"action": "echo", "value": 7}) == {"value": 7}
    assert len(done) <= 1


def test_runs_that_nobody_waits_for_end_at_once() -> None:
    def never(task: str, payload: dict[str, Any]) -> dict[str, Any]:
        raise AssertionError(f"{task} is asked of the first worker")

    with Worker(env={"TRITON_INTERPRET": "1"}) as second:
        second.warm()
        with WorkerQueue(second, 120) as ahead:
            float_opinion_ahead(emitted(NORM), never, ahead)
            start = time.monotonic()
        assert time.monotonic() - start < 5
        assert second.pid is None


def test_what_runs_beside_begins_before_the_queue_and_is_taken_after_it(worker: Worker) -> None:
    done: list[str] = []

    def work(run_task: RunTask, name: str) -> object:
        found = run_task("selftest", {"action": "facts"})["pid"]
        done.append(name)
        return found

    with WorkerQueue(worker, 120) as queue:
        first = queue(lambda run_task, seconds: run_task("selftest", {"action": "sleep", "seconds": seconds}), 1.0)
        waiting = [queue(work, "queue") for _ in range(3)]
        beside = queue.beside(work, "beside")
        own = {x.result() for x in waiting}
        assert beside.result() not in own and len(own) == 1
        assert first.result() == {}
    assert done == ["queue"] * 3 + ["beside"]


def test_what_fails_beside_says_so_and_an_ended_queue_leaves_nobody_waiting(worker: Worker) -> None:
    def fail(run_task: RunTask, action: str) -> object:
        return run_task("selftest", {"action": action})

    with WorkerQueue(worker, 120) as queue:
        with pytest.raises(TraceFailed, match="asked for"):
            queue.beside(fail, "error").result()
        with pytest.raises(WorkerDied, match="ended its process"):
            queue.beside(fail, "leave").result()
    with pytest.raises(RuntimeError):
        queue.beside(fail, "facts")
