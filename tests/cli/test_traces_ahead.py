"""Traces that begin before they are asked for: the same answers, each in a process of its own, and the errors of whoever asks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mirage.cli.traces_ahead import TracesAhead
from mirage.cli.worker_queue import WorkerQueue
from mirage.errors import MirageError, WorkerDied, WorkerTimeout
from mirage.isolate.runner import Worker
from mirage.isolate.task_table import Payload

INPUTS = [{"name": "x", "shape": [4, 8], "dtype": "fp32", "names": []}]


def payload(line: str, head: str = "") -> Payload:
    return {
        "text": f"import torch\n{head}\n\ndef f(x):\n    {line}\n    return x + 1\n",
        "function": "f",
        "inputs": INPUTS,
    }


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker(env={"OMP_NUM_THREADS": "1"}) as made:
        made.warm("sympy", "torch", "mirage.program.trace_task", "mirage.isolate.forked_task")
        yield made


def test_a_trace_that_has_begun_is_not_made_again_and_gives_the_same(worker: Worker) -> None:
    asked: list[str] = []
    with WorkerQueue(worker, 120) as queue:
        ahead = TracesAhead(queue)
        ahead.begin(payload("x = x * 2"), 60)
        first = queue._call

        def counted(task: str, given: dict[str, object], timeout_s: float = 0.0) -> dict[str, object]:
            asked.append(task)
            return first(task, given, timeout_s)

        begun = ahead.call("trace", payload("x = x * 2"), timeout_s=60)
        queue._call = counted  # type: ignore[method-assign]
        again = ahead.call("trace", payload("x = x * 2"), timeout_s=60)
        other = ahead.call("trace", payload("x = x * 3"), timeout_s=60)
    assert begun == again == worker.call("trace", payload("x = x * 2"), timeout_s=60) != other
    assert asked == ["begin_forked", "collect_forked"] * 2


def test_a_refusal_reaches_whoever_asks(worker: Worker) -> None:
    with WorkerQueue(worker, 120) as queue:
        ahead = TracesAhead(queue)
        ahead.begin(payload("print(x)"), 60)
        with pytest.raises(MirageError, match="calls print"):
            ahead.call("trace", payload("print(x)"), timeout_s=60)
        with pytest.raises(MirageError, match="calls print"):
            ahead.call("trace", payload("print(x)"), timeout_s=60)


def test_a_trace_that_does_not_end_ends_alone() -> None:
    with Worker(env={"OMP_NUM_THREADS": "1"}) as made, WorkerQueue(made, 120) as queue:
        made.warm("torch", "mirage.program.trace_task", "mirage.isolate.forked_task")
        ahead = TracesAhead(queue)
        ahead.begin(payload("", head="while True: pass"), 2)
        ahead.begin(payload("x = x * 2"), 60)
        assert ahead.call("trace", payload("x = x * 2"), timeout_s=60)["program"]["outputs"]
        with pytest.raises((WorkerTimeout, WorkerDied)):
            ahead.call("trace", payload("", head="while True: pass"), timeout_s=2)
