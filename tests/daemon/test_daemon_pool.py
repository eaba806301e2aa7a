"""Workers wait for the next job of their interpreter, a dead one is replaced once, and none outlives its use."""

import os
import signal
import sys
import time
from typing import ClassVar

import pytest
from waiting import wait_until

from mirage.errors import Cancelled, DaemonBusy, WorkerDied, WorkerRaised
from mirage.isolate import Worker, confinement
from mirage.isolate.confinement import most_of_memory
from mirage.isolate.launch_order import LANDLOCK, SECCOMP, WALLS
from mirage.isolate.system import OperatingSystem
from mirage.isolate.worker_messages import MAX_MESSAGE
from mirage.results.progress import CancelToken
from mirage_daemon.handler import MAX_TEXT
from mirage_daemon.journal import MAX_PARTS
from mirage_daemon.worker_pool import MOST_CALLS, WorkerPool


class Fake:
    """A worker that plays a script: an exception is raised (and ends the process), a dict is the answer."""

    made: ClassVar[list] = []

    def __init__(self, interpreter):
        self.pid, self.interpreter, self.calls = None, interpreter, []
        Fake.made.append(self)

    def call(self, task, payload, *, timeout_s, cancel, on_event):
        self.calls.append((task, payload))
        self.pid = id(self)
        step = Fake.script.pop(0)
        for event in step.get("events", ()):
            on_event(event)
        if "raises" in step:
            self.pid = None if step.get("dies", True) else self.pid
            raise step["raises"]
        return step["value"]

    def close(self):
        self.pid = None


@pytest.fixture
def play():
    def start(*script, **options):
        Fake.made, Fake.script = [], list(script)
        return WorkerPool(make=Fake, **options)

    return start


def run(pool, interpreter="/a", cancel=None, **more):
    return pool.run_job(
        {"text": "t", "interpreter": interpreter, "project": "/p", **more}, events.append, cancel or CancelToken()
    )


events: list = []
OK, DIES = {"value": {"result": {}}}, {"raises": WorkerDied("gone")}
PART = {"search": "s", "name": "out()", "line": "abc"}


def test_the_payload_reaches_the_task_in_the_named_interpreter(play):
    with play(OK) as pool:
        assert run(pool, "/opt/python") == {"result": {}}
        assert Fake.made[0].interpreter == "/opt/python"
        assert Fake.made[0].calls == [("optimize", {"text": "t", "checkpoint": {}, "warm": True})]


def test_a_worker_waits_for_the_next_job_of_its_own_interpreter(play):
    with play(OK, OK, OK) as pool:
        run(pool, "/a"), run(pool, "/b"), run(pool, "/a")
        assert [w.interpreter for w in Fake.made] == ["/a", "/b"] and len(Fake.made[0].calls) == 2
        assert [i for i, _ in pool.idle] == ["/b", "/a"]
    assert pool.idle == [] and all(w.pid is None for w in Fake.made)


def test_only_so_many_wait_the_last_used_ones(play):
    with play(OK, OK, OK, most=2) as pool:
        for interpreter in "abc":
            run(pool, interpreter)
        assert [i for i, _ in pool.idle] == ["b", "c"] and Fake.made[0].pid is None


def test_one_that_nobody_needs_is_ended(play):
    with play(OK, idle_s=0.1) as pool:
        run(pool)
        wait_until(lambda: pool.idle == [])
        assert Fake.made[0].pid is None


def test_a_worn_out_worker_is_replaced(play):
    with play(*[OK] * (MOST_CALLS + 1)) as pool:
        for _ in range(MOST_CALLS + 1):
            run(pool)
        assert [len(w.calls) for w in Fake.made] == [MOST_CALLS, 1]
        assert Fake.made[0].calls[-1][1]["warm"] is False  # nothing is made ready for a process that ends


def test_a_death_is_tried_again_once_in_a_fresh_process_from_the_finished_parts(play):
    events.clear()
    with play({**DIES, "events": [{"part": PART}]}, OK) as pool:
        assert run(pool, checkpoint={"s": {"b()": "x"}}) == {"result": {}}
    assert len(Fake.made) == 2
    assert Fake.made[1].calls[0][1]["checkpoint"] == {"s": {"b()": "x", "out()": "abc"}}
    assert events == [{"part": PART}, {"counts": {"retries": 1}}]


def test_what_a_second_try_is_given_fits_into_one_message(play, monkeypatch):
    monkeypatch.setattr("mirage_daemon.worker_pool.MAX_PARTS", 50)
    parts = [{"part": {**PART, "name": f"out({n})", "line": "x" * 10}} for n in range(5)]  # 17 bytes each
    with play({**DIES, "events": parts}, OK) as pool:
        assert run(pool) == {"result": {}}
    assert list(Fake.made[1].calls[0][1]["checkpoint"]["s"]) == ["out(0)", "out(1)"]
    assert MAX_PARTS + MAX_TEXT * 4 <= MAX_MESSAGE  # beside the longest text, each of its characters four bytes


def test_the_second_death_is_the_answer(play):
    with play(DIES, DIES, OK) as pool, pytest.raises(WorkerDied):
        run(pool)
    assert len(Fake.made) == 2 and pool.idle == []


@pytest.mark.parametrize("error", [WorkerRaised("no"), Cancelled("no")])
def test_nothing_else_is_tried_again(play, error):
    with play({"raises": error}, OK) as pool, pytest.raises(type(error)):
        run(pool)
    assert len(Fake.made) == 1


def test_a_job_that_nobody_wants_is_not_tried_again(play):
    token = CancelToken()
    token.cancel()
    with play(DIES, OK) as pool, pytest.raises(WorkerDied):
        run(pool, cancel=token)


def test_a_mistake_of_the_user_leaves_the_worker_for_the_next_job(play):
    with play({"raises": WorkerRaised("no"), "dies": False}, OK) as pool:
        with pytest.raises(WorkerRaised):
            run(pool)
        run(pool)
    assert len(Fake.made) == 1


def test_real_processes_are_kept_replaced_and_ended():
    with WorkerPool("selftest", make=Worker, timeout_s=20.0) as pool:
        payload = {"action": "facts", "interpreter": sys.executable, "project": ""}
        pool.run_job(payload, print, CancelToken())
        ((_, first),) = pool.idle
        pool.run_job(payload, print, CancelToken())
        assert pool.idle == [(sys.executable, first)]
        os.kill(first, signal.SIGKILL)  # while it waits: that is no fault of the next job
        os.waitid(os.P_PID, first, os.WEXITED | os.WNOWAIT)
        deadline = time.monotonic() + 5
        pool.run_job(payload, print, CancelToken())
        ((_, second),) = pool.idle
        assert second != first and time.monotonic() < deadline
        with pytest.raises(WorkerDied):
            pool.run_job({**payload, "action": "crash"}, lambda e: None, CancelToken())
        assert pool.idle == []


def held_below(worker, memory):
    """Bytes that a worker of this worker may take when it was made to take `memory`."""
    seen = []
    with worker:
        asked = {"action": "nested", "seconds": 0, "memory": memory}
        worker.call("selftest", asked, timeout_s=60, on_event=seen.append)
    return seen[0]["data_limit"]


def test_what_a_job_starts_gets_the_memory_that_it_asks_for():
    """A GPU's worker needs more than any other: below a process with a smaller limit its driver may not start."""
    with WorkerPool() as pool:
        assert held_below(pool._make(sys.executable), most_of_memory()) == most_of_memory()
    assert held_below(Worker(memory_bytes=2 << 30), most_of_memory()) == 2 << 30  # a limit above it holds


NAMES_A_THREAD = """
import os, threading
def named():
    try:
        with open(f"/proc/self/task/{threading.get_native_id()}/comm", "w") as file: file.write("x")
        return True
    except OSError: return False
found = []
thread = threading.Thread(target=lambda: found.append(named()))
thread.start(), thread.join()
values = [named(), *found]
"""
STARTS_COMPILERS = """
from mirage.profile import parallel_compile
values = all(future.result() is None for future in parallel_compile.start(1, "sm_90"))
"""
OF_ITS_WORKER = """
from mirage.isolate.runner import Worker
with Worker(unix=True) as worker:
    values = worker.call("selftest", {{"action": "run", "text": {text!r}}}, timeout_s=60)["values"]
"""


@pytest.mark.skipif(not confinement.holds()["namespaces"], reason="no namespaces can be made here")
def test_a_gpu_worker_of_a_job_may_name_its_threads():
    """CUDA does, and does not start where it may not: without it a daemon measures nothing."""
    asked = {"action": "run", "text": OF_ITS_WORKER.format(text=NAMES_A_THREAD)}
    with WorkerPool() as pool, pool._make(sys.executable) as worker:
        assert worker.call("selftest", asked, timeout_s=60) == {"values": [True, True]}
    with Worker(unix=True) as worker:  # whatever runs a user's function is not of that kind
        assert worker.call("selftest", asked, timeout_s=60) == {"values": [False, False]}


@pytest.mark.parametrize("walls", [WALLS, (LANDLOCK, SECCOMP)], ids=["all", "no namespaces"])
def test_a_gpu_worker_of_a_job_starts_its_compilers(walls):
    """They listen at a socket in its folder, whose path the system bounds."""
    asked = {"action": "run", "text": OF_ITS_WORKER.format(text=STARTS_COMPILERS)}
    with Worker(unix=True, unix_below=True, system=OperatingSystem(walls=walls)) as worker:
        assert worker.call("selftest", asked, timeout_s=60) == {"values": True}


def test_whoever_asks_for_a_verdict_is_sent_away_where_no_worker_waits_and_one_is_made_ready(play):
    with play({"value": {}}, {"value": {"rows": [1]}}, prepare_after_s=0.01) as pool:
        for _ in range(3):  # asked again before one is ready: no second one is made
            with pytest.raises(DaemonBusy):
                pool.judge({"a": 1}, "/a", CancelToken())
        wait_until(lambda: pool.idle != [], "a worker waits")
        assert pool.judge({"a": 1}, "/a", CancelToken()) == {"rows": [1]}
        assert [w.calls for w in Fake.made] == [
            [("prepare_verify", {"warm": True}), ("verify", {"a": 1, "warm": True})]
        ]
        with pytest.raises(DaemonBusy):  # of another interpreter none waits
            pool.judge({"a": 1}, "/b", CancelToken())


def test_a_worker_that_did_a_job_judges_next_and_one_that_cannot_be_made_ready_is_left(play):
    with play(OK, {"value": {"rows": []}}) as pool:
        run(pool, "/a")
        assert pool.judge({}, "/a", CancelToken()) == {"rows": []} and len(Fake.made) == 1
    with play(DIES, prepare_after_s=0.01) as pool:
        with pytest.raises(DaemonBusy):
            pool.judge({}, "/a", CancelToken())
        wait_until(lambda: Fake.made != [] and Fake.script == [] and not pool._prepared, "it is given up")
        assert pool.idle == []
