"""A job's worker may do anything to itself: its own job fails with the right error, the daemon and others go on."""

import sys
import threading

import pytest
from waiting import LIMIT_S

from mirage.errors import FileUnreadable
from mirage.isolate import Worker, process_tree
from mirage_daemon import worker_pool

FAULTS = {
    "crash": ({"action": "crash"}, "MIR400"),
    "leave": ({"action": "leave"}, "MIR400"),
    "hang": ({"action": "sleep", "seconds": 60, "ignore_terminate": True}, "MIR401"),
    "memory": ({"action": "allocate", "bytes": 3 << 30}, "MIR405"),
    "raise": ({"action": "raise"}, "MIR405"),
    "pickle": ({"action": "forge", "bytes": b"\x00\x00\x00\x04\x80\x04]."}, "MIR501"),
    "not a result": ({"action": "print", "bytes": 1 << 24}, "MIR501"),
    "children": ({"action": "fork", "count": 5}, "MIR501"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_fails_its_job_alone(house, text, answer, fault):
    body, code = FAULTS[fault]

    def run_job(payload, progress, cancel):
        if payload["function"] == "g":
            return answer(payload)
        with Worker(memory_bytes=1 << 30) as worker:
            return worker.call("selftest", body, timeout_s=2.0, cancel=cancel, on_event=progress)

    with house(run_job) as h:
        client, other = h.client(), h.client()
        job = client.submit(text, "a.py", "f")["job"]
        assert other.subscribe(other.submit(text, "a.py", "g")["job"])["state"] == "done"
        outcome = client.subscribe(job)
        assert (outcome["state"], outcome["error"]["code"]) == ("failed", code)
        assert client.lookup(text, "a.py", "f") is None


def test_cancelling_a_job_ends_its_process(house, text):
    started, pids = threading.Event(), []

    def run_job(payload, progress, cancel):
        def seen(event):
            pids.extend(p.pid for p in process_tree.below(worker.pid))
            started.set()

        body = {"action": "fork", "count": 2, "then_sleep": True}
        with Worker() as worker:
            return worker.call("selftest", body, timeout_s=60, cancel=cancel, on_event=seen)

    with house(run_job) as h:
        client = h.client()
        job = client.submit(text, "a.py", "f")["job"]
        assert started.wait(LIMIT_S)
        assert client.cancel(job) is True
        assert client.subscribe(job)["state"] == "cancelled"
        assert len(pids) >= 3
        for pid in pids:
            try:
                with open(f"/proc/{pid}/stat") as stat:
                    assert stat.read().rpartition(")")[2].split()[0] in "ZX"
            except FileNotFoundError:
                continue


def test_an_interpreter_is_a_full_path_to_an_executable(tmp_path):
    assert worker_pool.check_interpreter("") == worker_pool.check_interpreter(sys.executable) == sys.executable
    (tmp_path / "python").write_text("")
    for wrong in ("python", "./python", str(tmp_path), str(tmp_path / "python"), str(tmp_path / "none")):
        with pytest.raises(FileUnreadable):
            worker_pool.check_interpreter(wrong)
