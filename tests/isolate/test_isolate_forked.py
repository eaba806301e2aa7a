"""A task in a child of the worker: the same values and errors, and nothing of what it does stays in the worker."""

from __future__ import annotations

import os
import signal
import textwrap
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


def test_a_child_does_not_have_the_channel_of_the_worker(worker: Worker) -> None:
    with pytest.raises(MirageError):  # its own answer alone is spoilt
        selftest(InChildren(worker), "forge", bytes=b"\x00\x00\x00\x01\xc0")
    assert selftest(worker, "echo", value=2) == {"value": 2}
    outer, inner = (selftest(x, "facts")["descriptors"] for x in (worker, InChildren(worker)))
    assert isinstance(outer, list) and isinstance(inner, list)
    assert len(inner) < len(outer)


# What hostile code in a child tries on the process above it: `values` says of each try 1.0 where it succeeded
ON_THE_WORKER = {
    "answer in its place": """
for name in os.listdir(f"/proc/{parent}/fd"):
    if int(name) > 2:
        os.write(os.open(f"/proc/{parent}/fd/{name}", os.O_WRONLY | os.O_NONBLOCK), b"forged")
        values = [1.0]
""",
    "read what it is asked": """
for name in os.listdir(f"/proc/{parent}/fd"):
    os.open(f"/proc/{parent}/fd/{name}", os.O_RDONLY | os.O_NONBLOCK)
values = [1.0]
""",
    "stop it": "os.kill(parent, 0); values = [1.0]",
    "read its memory": 'open(f"/proc/{parent}/mem", "rb"); values = [1.0]',
    "write its memory": 'open(f"/proc/{parent}/mem", "r+b"); values = [1.0]',
    "change what another one has in its folder": 'open("there", "a"); values = [1.0]',
    "leave a module in its folder": 'open("torch.py", "w"); values = [1.0]',
    "leave a file for all": 'open("/dev/shm/left", "w"); values = [1.0]',
    "exchange a folder": 'os.rename("there", "elsewhere"); values = [1.0]',
    "by a program of its own": """
code = "import os, sys; open('there', 'a'); os.kill(int(sys.argv[1]), 0)"
values = [float(subprocess.run([sys.executable, "-ISc", code, str(parent)], capture_output=True).returncode == 0)]
""",
}
SMALL = "import os, subprocess, sys\nvalues, parent = [0.0], os.getppid()\ntry:\n"


@pytest.mark.parametrize("way", ON_THE_WORKER)
def test_a_child_reaches_neither_its_worker_nor_its_files(worker: Worker, way: str) -> None:
    text = SMALL + textwrap.indent(ON_THE_WORKER[way], "    ") + "\nexcept OSError:\n    pass\n"
    selftest(worker, "run", text="open('there', 'w').write('as it was')")
    assert selftest(InChildren(worker), "run", text=text) == {"values": [0.0]}
    assert selftest(worker, "run", text="values = open('there').read()") == {"values": "as it was"}


def test_the_same_succeeds_where_no_wall_is_between(worker: Worker) -> None:
    """What a worker's own program is refused in a child, it may in the worker itself."""
    text = SMALL + textwrap.indent(ON_THE_WORKER["by a program of its own"], "    ") + "\nexcept OSError:\n    pass\n"
    text = text.replace("os.getppid()", "os.getpid()")
    assert selftest(worker, "run", text="open('there', 'w')") == {"values": None}
    assert selftest(worker, "run", text=text) == {"values": [1.0]}


def test_a_child_has_a_folder_of_its_own_which_goes_with_it(worker: Worker) -> None:
    text = "import tempfile; file = tempfile.mkdtemp(); open(file + '/mine', 'w').write('x'); values = file"
    (first,) = selftest(InChildren(worker), "run", text=text).values()
    assert "/task-" in str(first)
    assert selftest(worker, "run", text=f"import os; values = os.path.exists({str(first)!r})") == {"values": False}


def test_no_channel_of_a_worker_can_be_opened_anew_even_within_its_wall(worker: Worker) -> None:
    inner = """
import os, sys
for name in os.listdir("/proc/" + sys.argv[1] + "/fd"):
    try:
        if int(name) > 2:
            os.open("/proc/" + sys.argv[1] + "/fd/" + name, os.O_RDWR | os.O_NONBLOCK)
            print("opened", name)
    except OSError:
        print("refused", name)
"""
    command = f"[sys.executable, '-ISc', {inner!r}, str(os.getpid())]"
    text = f"import os, subprocess, sys; values = subprocess.run({command}, capture_output=True, text=True).stdout"
    said = str(selftest(worker, "run", text=text)["values"])
    assert said.count("refused") >= 2, said
    channels = selftest(worker, "run", text=SOCKETS)["values"]
    assert isinstance(channels, list) and len(channels) == 2
    assert not [name for name in channels if f"opened {name}\n" in said]


SOCKETS = """
import os
values = []
for name in os.listdir("/proc/self/fd"):
    try:
        values += [name] * os.readlink("/proc/self/fd/" + name).startswith("socket:")
    except OSError:
        continue
"""


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
