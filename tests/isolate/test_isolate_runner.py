"""What a worker does to itself stays in the worker, and the caller always gets an answer."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from mirage.errors import (
    Cancelled,
    MissingPackage,
    ProtocolError,
    TraceFailed,
    WorkerDied,
    WorkerRaised,
    WorkerTimeout,
)
from mirage.isolate import Worker, process_tree, system, worker_messages
from mirage.isolate.launch_order import LANDLOCK, SECCOMP, WALLS
from mirage.isolate.runner import OUTPUT_KEPT
from mirage.isolate.system import OperatingSystem, sweep
from mirage.results.progress import CancelToken


def selftest(action, worker=None, timeout_s=20.0, **payload):
    options = {k: payload.pop(k) for k in ("cancel", "on_event") if k in payload}
    made = {k: payload.pop(k) for k in ("memory_bytes", "env", "interpreter", "cpu_seconds") if k in payload}
    body = {"action": action, **payload}
    if worker is not None:
        return worker.call("selftest", body, timeout_s=timeout_s, **options)
    with Worker(**made) as fresh:
        return fresh.call("selftest", body, timeout_s=timeout_s, **options)


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def gone(pid, seconds=2.0):
    """Whether the process ends soon: one that was killed may still be on its way out."""
    deadline = time.monotonic() + seconds
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not alive(pid)


@pytest.fixture
def worker():
    with Worker() as worker:
        yield worker


@pytest.mark.parametrize("value", [None, True, -(2**63), 2**64 - 1, 1.5, "µ", b"\x00\xff", [1, [2]], {"a": {"b": []}}])
def test_a_value_comes_back_as_it_went(worker, value):
    assert selftest("echo", worker, value=value) == {"value": value}


def test_a_large_value_passes_both_pipes(worker):
    value = os.urandom(8 << 20)
    assert selftest("echo", worker, value=value)["value"] == value


def test_events_come_in_their_order_before_the_value(worker):
    seen = []
    assert selftest("events", worker, count=200, on_event=seen.append) == {"count": 200}
    assert [e["step"] for e in seen] == list(range(200))


def test_a_worker_keeps_its_process_and_a_fresh_run_does_not(worker):
    first, pid = selftest("facts", worker), worker.pid
    assert selftest("facts", worker) == first and worker.pid == pid
    assert selftest("facts")["cwd"] != selftest("facts")["cwd"]


def test_a_worker_that_warms_up_answers_the_call_and_not_the_warming(worker):
    worker.warm()
    pid = worker.pid
    assert pid is not None
    assert [selftest("echo", worker, value=n) for n in (1, 2)] == [{"value": 1}, {"value": 2}]
    assert worker.pid == pid
    worker.warm()  # it is warm: nothing is asked
    assert selftest("echo", worker, value=1) == {"value": 1} and worker.pid == pid


def test_a_worker_that_dies_while_it_warms_up_is_started_again(worker):
    worker.warm()
    pid = worker.pid
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert selftest("echo", worker, value=1) == {"value": 1}
    assert worker.pid != pid


@pytest.mark.parametrize(
    ("number", "name"), [(signal.SIGSEGV, "SIGSEGV"), (signal.SIGKILL, "SIGKILL"), (signal.SIGABRT, "SIGABRT")]
)
def test_a_death_names_its_signal_and_last_words_and_the_next_call_works(worker, number, name):
    with pytest.raises(WorkerDied, match=name) as error:
        selftest("crash", worker, signal=int(number))
    assert "last words" in error.value.message
    assert worker.pid is None
    assert selftest("echo", worker, value=1) == {"value": 1}


def test_leaving_without_an_answer_is_a_death(worker):
    with pytest.raises(WorkerDied, match="status 0"):
        selftest("leave", worker)


def test_a_hang_that_ignores_terminate_is_ended_at_its_time(worker):
    began = time.monotonic()
    with pytest.raises(WorkerTimeout):
        selftest("sleep", worker, timeout_s=1.0, seconds=60, ignore_terminate=True)
    assert time.monotonic() - began < 30


def test_time_is_asked_of_the_system_object():
    ticks = iter([0.0, *[100.0] * 1000])
    with (
        Worker(system=OperatingSystem(monotonic=lambda: next(ticks))) as worker,
        pytest.raises(WorkerTimeout, match="50 s"),
    ):
        selftest("echo", worker, value=1, timeout_s=50.0)


def test_a_cancelled_call_ends_its_process(worker):
    selftest("echo", worker, value=1)
    pid, cancel, began = worker.pid, CancelToken(), time.monotonic()
    cancel_at = began + 0.2
    cancel = CancelToken(ask=lambda: time.monotonic() > cancel_at)
    with pytest.raises(Cancelled):
        selftest("sleep", worker, seconds=60, cancel=cancel)
    assert time.monotonic() - began < 30
    assert gone(pid)


def test_a_token_that_is_not_set_cancels_nothing(worker):
    assert selftest("echo", worker, value=1, cancel=CancelToken()) == {"value": 1}


def test_prints_do_not_reach_the_answer_and_are_bounded(worker):
    selftest("print", worker, bytes=32 << 20)
    assert len(worker.stdout) == len(worker.stderr) == OUTPUT_KEPT
    for _ in range(20):  # what was written before the answer is there when the answer is
        selftest("print", worker, bytes=10)
        assert worker.stdout == worker.stderr == b"x" * 10


def test_memory_over_the_limit_is_an_error_and_under_it_is_not():
    with pytest.raises(WorkerRaised, match="MemoryError") as error:
        selftest("allocate", bytes=2 << 30, memory_bytes=1 << 30)
    assert "bytearray" in error.value.traceback
    assert selftest("allocate", bytes=2 << 20, memory_bytes=1 << 30) == {"size": 2 << 20}


def below(worker):
    """The worker's processes, as this process knows them: they have other numbers among themselves."""
    return [p.pid for p in process_tree.below(worker.pid)]


@pytest.mark.parametrize("walls", [WALLS, (LANDLOCK, SECCOMP)])
@pytest.mark.parametrize("action", ["fork", "fork_bare"])
def test_children_in_sessions_of_their_own_end_with_the_worker(walls, action):
    """Also those that keep nothing of the worker's environment."""
    with Worker(system=OperatingSystem(walls=walls)) as worker:
        selftest(action, worker, count=10)
        pids = below(worker)
        assert len(pids) >= 11 and all(alive(p) for p in pids)
    assert all(gone(p) for p in pids)


@pytest.mark.parametrize("walls", [WALLS, (LANDLOCK, SECCOMP)])
def test_children_end_at_a_timeout_too(walls):
    seen = []
    with Worker(system=OperatingSystem(walls=walls)) as worker:
        with pytest.raises(WorkerTimeout):
            selftest(
                "fork", worker, timeout_s=4.0, count=5, then_sleep=True, on_event=lambda e: seen.extend(below(worker))
            )
        assert worker.pid is None
    assert len(seen) >= 6 and all(gone(p) for p in seen)


def test_children_end_with_a_worker_that_leaves_them():
    seen = []
    with Worker() as worker:
        selftest("fork_bare", worker, count=3)
        seen = below(worker)
        with pytest.raises(WorkerDied):
            selftest("leave", worker)
    assert len(seen) >= 4 and all(gone(p) for p in seen)


def test_a_workers_worker_is_limited_by_it_and_ends_with_it():
    seen = []
    assert selftest("nested", seconds=0, memory_bytes=2 << 30, on_event=seen.append) == {}
    assert seen[0]["data_limit"] == 2 << 30
    pids, cancel = [], CancelToken(ask=lambda: len(pids) > 0)
    with Worker() as worker, pytest.raises(Cancelled):
        selftest(
            "nested", worker, seconds=600, timeout_s=60, on_event=lambda e: pids.extend(below(worker)), cancel=cancel
        )
    assert len(pids) >= 4 and all(gone(p) for p in pids)


def test_a_mirage_error_comes_back_as_itself(worker):
    with pytest.raises(TraceFailed) as error:
        selftest("error", worker)
    assert error.value.to_dict() == {
        "code": "MIR205", "message": "asked for", "next_step": "nothing to do", "path": "selftest.py", "line": 7,
        "column": None,
    }  # fmt: skip
    assert selftest("echo", worker, value=1) == {"value": 1}


def test_any_other_exception_comes_back_with_a_bounded_traceback(worker):
    with pytest.raises(WorkerRaised, match="RuntimeError: aaaa") as error:
        selftest("raise", worker, message="a" * 100_000)
    assert len(error.value.message) < 400 and len(error.value.traceback) == worker_messages.MAX_TRACEBACK


def test_a_value_that_is_not_plain_data_is_refused(worker):
    with pytest.raises(ProtocolError, match="plain data"):
        selftest("not_data", worker)
    with pytest.raises(ProtocolError, match="plain data"):
        selftest("echo", worker, value=object())


def test_an_unknown_task_is_refused(worker):
    with pytest.raises(ProtocolError, match="unknown worker task"):
        worker.call("os.system", {}, timeout_s=20)


@pytest.mark.parametrize(
    "forged",
    [
        b"\xff\xff\xff\xff",
        b"\x00\x00\x00\x04oops",
        worker_messages.encode(worker_messages.answer(999, {})),
        worker_messages.encode({"type": "answer", "id": 1, "value": {}}),
        worker_messages.encode(worker_messages.answer(1, None)),
        worker_messages.encode({"type": "ready", "package": "x", "pid": 1}),
        b"\x00\x00\x00\x14\x80\x04\x95" + b"c" * 17,
    ],
)
def test_forged_bytes_on_the_answer_pipe_are_refused_and_end_the_worker(worker, forged):
    with pytest.raises(ProtocolError):
        selftest("forge", worker, bytes=forged)
    assert worker.pid is None


def test_what_was_printed_before_a_forged_answer_is_kept(worker):
    text = """
import os
os.write(1, b"said before")
for name in os.listdir("/proc/self/fd"):
    try:
        if int(name) > 2 and os.readlink("/proc/self/fd/" + name).startswith("socket:"):
            os.write(int(name), b"\\xff\\xff\\xff\\xff")
    except OSError:
        continue
"""
    for _ in range(5):
        with pytest.raises(ProtocolError):
            selftest("run", worker, text=text)
        assert worker.stdout == b"said before"


def test_the_environment_folder_and_limits_are_the_workers_own(worker, monkeypatch):
    for name in ("LD_PRELOAD_X", "PYTHONSTARTUP", "TRITON_CACHE_MANAGER", "MY_SECRET", "LD_LIBRARY_PATH"):
        monkeypatch.setenv(name, "planted")
    facts = selftest("facts", worker)
    assert "planted" not in facts["environment"].values()
    assert facts["environment"]["TMPDIR"] == facts["environment"]["TRITON_CACHE_DIR"] == facts["cwd"]
    assert Path(facts["cwd"]).is_dir() and not os.listdir(facts["cwd"])
    assert facts["no_new_privileges"]
    assert facts["data_limit"] == 12 << 30
    worker.close()
    assert not Path(facts["cwd"]).exists()


def test_a_variable_that_is_handed_over_arrives():
    assert selftest("facts", env={"TRITON_INTERPRET": "1"})["environment"]["TRITON_INTERPRET"] == "1"


def test_a_worker_has_no_descriptors_of_its_parent(worker):
    with open(os.devnull) as kept:
        os.set_inheritable(kept.fileno(), True)
        assert len(selftest("facts", worker)["descriptors"]) <= 6  # 0 1 2, two pipes, the listing itself


def test_the_parents_descriptors_do_not_grow():
    selftest("echo", value=1)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with pytest.raises(WorkerDied):
            selftest("crash")
    assert len(os.listdir("/proc/self/fd")) == before


def test_an_interpreter_without_mirage_says_so(tmp_path):
    import venv

    venv.create(tmp_path / "bare", with_pip=False, symlinks=True)
    with pytest.raises(MissingPackage, match="does not have mirage"):
        selftest("echo", value=1, interpreter=str(tmp_path / "bare" / "bin" / "python"))


def test_an_interpreter_that_does_not_exist_says_so(tmp_path):
    with pytest.raises(WorkerDied, match="cannot be started"):
        selftest("echo", value=1, interpreter=str(tmp_path / "python"))
    assert not [n for n in os.listdir(tmp_path)]


def test_folders_of_dead_parents_are_swept_and_others_are_not(worker, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    over, here = int(gone.stdout), system.numbering()
    dead, mine = tmp_path / f"mirage-worker-{over}-{here}-abc", tmp_path / f"mirage-worker-{os.getpid()}-{here}-abc"
    for folder in (dead, mine, tmp_path / "mirage-worker-x-y", tmp_path / "other"):
        folder.mkdir()
    (dead / "file").write_text("left")
    (tmp_path / f"mirage-worker-{int(gone.stdout)}-link").symlink_to(mine)
    assert sweep() == 1
    assert not dead.exists() and len(list(tmp_path.iterdir())) == 4 and mine.is_dir()
    cwd = Path(selftest("facts", worker)["cwd"])
    assert sweep() == 0 and cwd.is_dir()


def test_the_folder_of_another_containers_worker_is_not_swept(tmp_path, monkeypatch):
    """A process that has this number there is none here, and lives; the temporary folder is one."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    gone = int(
        subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True).stdout
    )
    with monkeypatch.context() as there:
        there.setattr(system, "numbering", lambda: "0123456789ab")
        there.setattr(os, "getpid", lambda: gone)
        theirs = system.make_folder()
    assert sweep() == 0 and theirs.is_dir()
    ours = tmp_path / theirs.name.replace("0123456789ab", system.numbering())
    ours.mkdir()
    assert sweep() == 1 and not ours.exists() and theirs.is_dir()  # the twin: with the numbers of this one it is over
    long_ago = time.time() - system.ABANDONED_S - 60
    os.utime(theirs, (long_ago, long_ago))
    assert sweep() == 1 and not theirs.exists()


def test_a_worker_dies_with_its_parent(tmp_path):
    script = (
        "from mirage.isolate import Worker\n"
        "import os, threading\n"
        "w = Worker()\n"
        "def first(): w.call('selftest', {'action': 'echo', 'value': 1}, timeout_s=20)\n"
        "t = threading.Thread(target=first); t.start(); t.join()\n"
        "w.call('selftest', {'action': 'facts'}, timeout_s=20)\n"  # survived its thread
        "from mirage.isolate import process_tree\n"
        "print(*[p.pid for p in process_tree.below(os.getpid())], flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60)
    pids = [int(pid) for pid in done.stdout.split()]
    assert len(pids) >= 2 and all(gone(p) for p in pids)


def test_what_is_rehearsed_is_done_before_the_next_call(worker):
    before = selftest("change", worker)["changes"]
    worker.close()
    worker.warm("json", calls=[{"task": "selftest", "payload": {"action": "change"}}] * 3)
    assert before == 1 and selftest("change", worker) == {"changes": 4}


def test_a_rehearsal_that_fails_leaves_the_worker_usable(worker):
    worker.close()
    worker.warm("json", calls=[{"task": "selftest", "payload": {"action": "error"}}])
    assert selftest("echo", worker, value=5) == {"value": 5}


def test_a_call_may_hold_a_weight_and_an_answer_no_more_than_a_message(worker, monkeypatch):
    large = bytes(worker_messages.MAX_MESSAGE + 1)
    asked = {"action": "run", "text": "values = 1", "inputs": large}
    assert worker.call("selftest", asked, timeout_s=60) == {"values": 1}
    with pytest.raises(ProtocolError, match="over the limit"):
        worker.call("selftest", {"action": "echo", "value": large}, timeout_s=60)
    monkeypatch.setattr(worker_messages, "MAX_CALL", len(large))
    with pytest.raises(ProtocolError, match="over the limit"):
        worker.call("selftest", asked, timeout_s=60)
