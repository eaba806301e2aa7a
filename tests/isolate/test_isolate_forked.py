"""A task in a child of the worker: the same values and errors, and nothing of what it does stays in the worker."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator

import pytest

from mirage.errors import MirageError, ProtocolError, TraceFailed, WorkerDied, WorkerRaised, WorkerTimeout
from mirage.isolate.forked_task import InChildren
from mirage.isolate.runner import Worker


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker() as made:
        yield made


def selftest(worker: Worker | InChildren, action: str, timeout_s: float = 30.0, **payload: object) -> dict[str, object]:
    return worker.call("selftest", {"action": action, **payload}, timeout_s=timeout_s)


@pytest.mark.parametrize("value", [None, "µ", b"\x00\xff", [1, [2]], {"a": {"b": []}}])
def test_a_value_comes_back_as_it_went(worker: Worker, value: object) -> None:
    assert selftest(InChildren(worker), "echo", value=value) == {"value": value}


def test_a_large_value_passes(worker: Worker) -> None:
    value = os.urandom(4 << 20)
    assert selftest(InChildren(worker), "echo", value=value)["value"] == value


def test_each_call_has_a_process_of_its_own_in_the_same_sandbox(worker: Worker) -> None:
    outer = selftest(worker, "facts")
    first, second = (selftest(InChildren(worker), "facts") for _ in range(2))
    assert len({outer["pid"], first["pid"], second["pid"]}) == 3
    for name in ("cwd", "environment", "no_new_privileges", "seccomp", "data_limit", "file_limit"):
        assert first[name] == outer[name]


def test_what_a_task_changes_ends_with_it(worker: Worker) -> None:
    before = selftest(worker, "change")
    assert selftest(InChildren(worker), "change") == {"changes": before["changes"] + 1}
    assert selftest(InChildren(worker), "change") == {"changes": before["changes"] + 1}
    assert selftest(worker, "change") == {"changes": before["changes"] + 1}, "in the worker itself it stays"
    assert selftest(InChildren(worker), "change") == {"changes": before["changes"] + 2}


def test_errors_are_what_the_task_raised(worker: Worker) -> None:
    with pytest.raises(TraceFailed, match="asked for") as error:
        selftest(InChildren(worker), "error")
    assert error.value.line == 7
    with pytest.raises(WorkerRaised, match="RuntimeError: on purpose"):
        selftest(InChildren(worker), "raise", message="on purpose")
    with pytest.raises(ProtocolError):
        InChildren(worker).call("no such task", {}, timeout_s=30)


@pytest.mark.parametrize(
    ("action", "payload", "said"),
    [
        ("crash", {"signal": int(signal.SIGSEGV)}, "-11"),
        ("leave", {"status": 3}, "status 3"),
        ("leave", {}, "status 0"),
    ],
)
def test_a_death_is_the_child_s_alone(worker: Worker, action: str, payload: dict[str, int], said: str) -> None:
    pid = worker.pid
    with pytest.raises(WorkerDied, match=said):
        selftest(InChildren(worker), action, **payload)
    assert worker.pid == pid
    assert selftest(InChildren(worker), "echo", value=1) == {"value": 1}


def test_a_child_does_not_have_the_pipe_of_the_worker(worker: Worker) -> None:
    with pytest.raises(MirageError):  # its own answer alone is spoilt
        selftest(InChildren(worker), "forge", bytes=b"\x00\x00\x00\x01\xc0")
    assert selftest(worker, "echo", value=2) == {"value": 2}
    outer, inner = (selftest(x, "facts")["descriptors"] for x in (worker, InChildren(worker)))
    assert isinstance(outer, list) and isinstance(inner, list)
    assert len(inner) < len(outer)


def test_a_task_that_sends_events_is_refused(worker: Worker) -> None:
    with pytest.raises(ProtocolError, match="more than an answer"):
        selftest(InChildren(worker), "events", count=2)


def test_a_child_ends_with_a_call_that_takes_too_long() -> None:
    with Worker() as worker:
        selftest(worker, "echo", value=1)
        with pytest.raises(WorkerTimeout):
            selftest(InChildren(worker), "fork", timeout_s=1.5, count=1, then_sleep=True)
        assert worker.pid is None


def test_a_child_ends_with_its_worker() -> None:
    with Worker() as worker:
        selftest(worker, "echo", value=1)
        began = time.monotonic()
        with pytest.raises(WorkerTimeout):
            selftest(InChildren(worker), "sleep", timeout_s=1.0, seconds=60, ignore_terminate=True)
        assert time.monotonic() - began < 6


def begun(worker: Worker, action: str, **payload: object) -> dict[str, object]:
    asked = {"task": "selftest", "payload": {"action": action, **payload}}
    return worker.call("begin_forked", asked, timeout_s=30)


def test_a_task_that_has_begun_runs_beside_what_the_worker_is_asked_next(worker: Worker) -> None:
    start = time.monotonic()
    children = [begun(worker, "sleep", seconds=2) for _ in range(2)]
    assert selftest(worker, "echo", value=1) == {"value": 1}
    assert time.monotonic() - start < 2, "the worker did not wait for them"
    assert [worker.call("collect_forked", x, timeout_s=30) for x in children] == [{}, {}]


def test_what_has_begun_is_answered_once_and_in_its_own_words(worker: Worker) -> None:
    failing, fine = begun(worker, "error"), begun(worker, "echo", value=3)
    assert worker.call("collect_forked", fine, timeout_s=30) == {"value": 3}
    with pytest.raises(TraceFailed, match="asked for"):
        worker.call("collect_forked", failing, timeout_s=30)
    for child in (fine, {"child": 1}):
        with pytest.raises(ProtocolError, match="no task has begun"):
            worker.call("collect_forked", child, timeout_s=30)
