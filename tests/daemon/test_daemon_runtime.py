"""A running function tells the daemon what it is called with, and takes a finished kernel; neither costs a call anything."""

import importlib.util
import os
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace

import pytest
import torch
from waiting import LIMIT_S

from mirage.ir.tensor_spec import TensorSpec
from mirage.link import paths
from mirage.results.codec import unstructure
from mirage.results.result import SCHEMA, Result
from mirage.results.verdict import LINKS, Evidence, Verdict
from mirage.runtime import daemon_kernels, daemon_thread, installed_kernels
from mirage.runtime.observed_calls import FIRST, RAREST, Observer

USER = """\
import mirage
import torch


@mirage.optimize{options}
def f(x, k=2.0):
    return x * k
"""
ANNOTATED = '(inputs=[((2, 3), "fp32")])'
KERNEL = "import torch\n\ndef f(x, k=2.0):\n    return torch.zeros_like(x) + 7.0\n"  # never what the function gives
X = torch.ones(2, 3)
INPUTS = (("x", (2, 3), "torch.float32"),)


TESTED = Verdict(tuple(Evidence(link=x, opinion="field", word="TESTED", summary="", bound=1e-9) for x in LINKS))


def result(**more):
    found = Result(
        function="f", answer="kernel", reason="", inputs=(TensorSpec("x", (2, 3), "fp32"),), program_key="p" * 64,
        source=KERNEL, verdict=TESTED, versions=daemon_kernels.versions(),
    )  # fmt: skip
    return unstructure(replace(found, **more))


@pytest.fixture
def load(home, monkeypatch):
    monkeypatch.setattr(daemon_thread, "_background", daemon_thread.Background())

    def make(options=""):
        path = home / f"user_{time.monotonic_ns()}.py"
        path.write_text(USER.format(options=options))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, path.stem, module)
        spec.loader.exec_module(module)
        return module

    return make


def called(module, x=X):
    """One call, and all that it sets off."""
    out = module.f(x)
    daemon_thread.wait()
    return float(out.flatten()[0])


def test_shapes_reach_the_daemon_and_a_finished_kernel_comes_back(house, load):
    module = load()
    with house(lambda payload, *_: {"result": result()}) as h:
        client = h.client()
        assert called(module, torch.ones(4)) == 2.0
        assert client.shapes(module.__file__) == {"f": [[["x", [4], "torch.float32"]]]}
        assert called(module) == 2.0 and len(client.shapes(module.__file__)["f"]) == 2
        job = client.submit(USER.format(options=""), module.__file__, "f")  # at the inputs of the latest call
        assert client.subscribe(job["job"])["state"] == "done"
        other = load()
        assert called(other) == 2.0  # this call was the function's; the kernel comes while it runs
        assert called(other) == 7.0
    assert called(load()) == 7.0  # and a later run has it without a daemon
    assert called(load("(inputs=[])")) == 7.0  # the same slice


@pytest.mark.parametrize(
    "source", ["raise OSError('no')", "import os", "def f(x, k=2.0):\n    return x.numpy()\n", "def f(:"]
)
def test_a_module_with_what_no_emitter_writes_is_not_kept(house, load, source):
    module = load(ANNOTATED)
    with house(lambda payload, *_: {"result": result(source=source)}) as h:
        client = h.client()
        outcome = client.subscribe(client.submit(USER.format(options=ANNOTATED), module.__file__, "f")["job"])
        assert (outcome["state"], outcome["error"]["code"]) == ("failed", "MIR409")
        assert client.lookup(USER.format(options=ANNOTATED), "a.py", "f") is None
        assert called(module) == 2.0 and called(module) == 2.0


@pytest.mark.parametrize(
    "wrong",
    [
        {"answer": "keep"},
        {"answer": "keep", "baseline": "compile"},
        {"answer": "compile", "baseline": "compile", "source": "", "verdict": None},
        {"source": ""},
        {"function": "g"},
        {"verdict": Verdict(())},
        {"verdict": None},
        {"inputs": (TensorSpec("x", (2, 4), "fp32"),)},
        {"inputs": (TensorSpec("x", (2, 3), "fp16"),)},
        {"inputs": (TensorSpec("y", (2, 3), "fp32"),)},
        {"versions": {**daemon_kernels.versions(), "triton": "0.0"}},
        {"versions": {}},
        {"source": "def g(): pass"},
    ],
)
def test_a_kernel_of_another_function_shape_or_version_is_not_taken(house, load, wrong):
    module = load(ANNOTATED)
    with house(lambda payload, *_: {"result": result(**wrong)}) as h:
        client = h.client()
        client.subscribe(client.submit(USER.format(options=ANNOTATED), module.__file__, "f")["job"])
        assert client.lookup(USER.format(options=ANNOTATED), "a.py", "f") is not None
        assert called(module) == 2.0 and called(module) == 2.0


@pytest.mark.parametrize("more", [{}, {"answer": "compile", "baseline": "compile", "verdict": None}])
def test_the_twin_is_taken(house, load, more):
    module = load(ANNOTATED)
    with house(lambda payload, *_: {"result": result(**more)}) as h:
        client = h.client()
        client.subscribe(client.submit(USER.format(options=ANNOTATED), module.__file__, "f")["job"])
        assert called(module) == 2.0 and called(module) == 7.0
        assert called(module, torch.ones(5)) == 7.0  # its own guards decide from here on; this one has none


@pytest.mark.parametrize("changed", [{"schema": SCHEMA + 1}, {"says": 1}, {"reason": None}, {}])
def test_a_result_of_another_schema_is_not_taken(load, changed):
    taken = daemon_kernels.take(load(ANNOTATED).f.__wrapped__, INPUTS, {**result(), **changed})
    assert (taken is None) is bool(changed)


def test_a_file_that_says_something_else_than_what_runs_gets_no_kernel(house, load):
    module = load(ANNOTATED)
    edited = USER.format(options=ANNOTATED).replace("x * k", "x / k")
    with open(module.__file__, "w") as file:
        file.write(edited)
    with house(lambda payload, *_: {"result": result()}) as h:
        client = h.client()
        client.subscribe(client.submit(edited, module.__file__, "f")["job"])
        assert called(module) == 2.0 and called(module) == 2.0


def test_a_kernel_of_other_versions_is_not_found_later(house, load, monkeypatch):
    module = load(ANNOTATED)
    assert daemon_kernels.take(module.f.__wrapped__, INPUTS, result()) is not None
    assert called(load(ANNOTATED)) == 7.0
    monkeypatch.setattr(daemon_kernels, "versions", lambda: {"torch": "99"})
    assert called(load(ANNOTATED)) == 2.0
    assert not installed_kernels.is_empty()


def test_without_a_daemon_nothing_is_started_and_nothing_waits(load, home):
    module = load()
    assert called(module) == 2.0
    assert not (home / "run").exists() and daemon_thread._background.send(None, (), True) is False


def test_the_switch(house, load, monkeypatch):
    monkeypatch.setenv("MIRAGE_RUNTIME", "off")
    module = load()
    with house(lambda payload, *_: {"result": result()}) as h:
        assert called(module) == 2.0
        assert h.client().shapes(module.__file__) == {}


def test_a_program_that_ends_at_once_has_said_it(house, home, answer):
    path = home / "once.py"
    path.write_text(USER.format(options="") + "\n\nf(torch.ones(2, 3))\n")
    with house(lambda payload, *_: answer(payload)) as h:
        subprocess.run([sys.executable, str(path)], check=True, timeout=60)
        assert h.client().shapes(str(path)) == {"f": [[["x", [2, 3], "torch.float32"]]]}


def test_a_program_that_ends_waits_for_nobody(home, monkeypatch):
    """A daemon that takes connections and never answers."""
    silent = socket.socket(socket.AF_UNIX)
    paths.ensure_private(paths.runtime_dir())
    silent.bind(str(paths.socket_path()))
    silent.listen()
    path = home / "once.py"
    clock = "import atexit, time\natexit.register(lambda: print(time.time()))\n"  # the first to be registered is the last to be called
    path.write_text(clock + USER.format(options="") + "\n\nf(torch.ones(2, 3))\nprint(time.time(), flush=True)\n")
    done = subprocess.run([sys.executable, str(path)], check=True, capture_output=True, text=True, timeout=60)
    with silent:
        begun, ended = map(float, done.stdout.split())
        assert ended - begun < 2 * daemon_thread.EXIT_S + 3  # a machine that is busy


def test_a_full_queue_drops_and_never_waits(load, monkeypatch):
    class Stuck(daemon_thread.Background):
        def _run(self):
            assert emptied.wait(LIMIT_S)  # nobody empties the queue before all is sent

    emptied = threading.Event()
    monkeypatch.setattr(daemon_thread, "_background", Stuck())
    taken = [daemon_thread.send(None, (), True) for _ in range(1000)]
    emptied.set()
    assert taken.count(True) == daemon_thread.QUEUED


def test_calls_are_looked_at_ever_less(load):
    module = load()
    observer = Observer(module.f.__wrapped__, lambda kernel: None)
    skips = [observer((X,), {}) for _ in range(FIRST + 10)]
    assert skips[: FIRST - 1] == [1] * (FIRST - 1) and skips[-1] == RAREST == max(skips)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize(
    ("args", "kwargs", "seen"),
    [
        ((X,), {}, INPUTS),
        ((), {"x": X}, INPUTS),
        ((X, 3.0), {}, INPUTS),
        ((3.0,), {}, ()),
        ((torch.nn.Parameter(X),), {}, INPUTS),
        ((X.as_subclass(type("Mine", (torch.Tensor,), {})),), {}, ()),
        ((torch.nested.nested_tensor([X]),), {}, ()),
        ((X.to(torch.complex64),), {}, (("x", (2, 3), "torch.complex64"),)),
    ],
)
def test_what_is_seen_of_a_call(load, args, kwargs, seen):
    assert Observer(load().f.__wrapped__, lambda kernel: None)._inputs(args, kwargs) == seen


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_has_a_queue_of_its_own(home):
    code = (
        "import os, sys; sys.path.insert(0, sys.argv[1])\n"
        "from mirage.runtime import daemon_thread as b\n"
        "old = b._background; old._lock.acquire()\n"
        "pid = os.fork()\n"
        "if pid == 0: os._exit(0 if b._background is not old and b._background._lock.acquire(blocking=False) else 1)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
    )
    assert subprocess.run([sys.executable, "-c", code, "."], timeout=60).returncode == 0


FORKS = """\
import os, sys, threading, time
from mirage.runtime import daemon_thread
b, gate, begun = daemon_thread._background, threading.Event(), threading.Event()
b._deal = lambda *_: (begun.set(), gate.wait())
assert b.send(None, (), True) and begun.wait(10)
b._queue.mutex.acquire()  # as another thread may hold it just now
pid = os.fork()
if not pid:
    sys.exit(7)
b._queue.mutex.release()
deadline = time.monotonic() + 5
while not (ended := os.waitpid(pid, os.WNOHANG))[0] and time.monotonic() < deadline:
    time.sleep(0.01)
os.kill(pid, 9) if not ended[0] else None
threading.Timer(0.2, gate.set).start()  # within what an end waits for
began = time.monotonic()
b.wait(5.0)
print(os.waitstatus_to_exitcode(ended[1]) if ended[0] else "hangs", time.monotonic() - began > 0.1)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_the_end_of_a_forked_process_waits_for_nothing_and_its_parents_does(home):
    done = subprocess.run([sys.executable, "-c", FORKS], capture_output=True, text=True, timeout=30)
    assert done.stdout.split() == ["7", "True"], done.stderr


def test_a_call_that_cannot_be_told_of_does_not_keep_the_next_from_it(home, monkeypatch, capfd):
    b, told = daemon_thread.Background(), []

    def deal(observer, inputs, new):
        if not inputs:
            raise RuntimeError("a loader")
        told.append(inputs)

    monkeypatch.setattr(b, "_deal", deal)
    for inputs in ((), INPUTS):
        assert b.send(None, inputs, True)
        b.wait(5.0)
    assert told == [INPUTS] and "Traceback" not in capfd.readouterr().err
