"""`mirage optimize --cluster`: the daemon that runs with that cluster, or a word why not; and functions asked for side by side."""

import os
import subprocess
import sys
import threading

import pytest
from command_here import mirage
from waiting import LIMIT_S, wait_until

from mirage.cli import daemon_question
from mirage.errors import ClusterFault, MirageError
from mirage.link.request_parameters import SearchOptions

FUNCTIONS = """\
import mirage
import torch


@mirage.optimize(inputs=[((24, 40), "fp16")])
def shifted(x):
    return torch.exp(x - 1)


@mirage.optimize(inputs=[((24, 40), "fp16")])
def doubled(x):
    return torch.tanh(x) * 2


@mirage.optimize(inputs=[((24, 40), "fp16")])
def squared(x):
    return x * x
"""
# What looks for Ray is written down; nothing else changes
RECORDED = """\
import sys
asked = []
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "ray":
            asked.append(name)
sys.meta_path.insert(0, Finder())
{code}
print(asked, "mirage_daemon.cluster" in sys.modules)
"""


def node(role, name):
    return {"name": name, "role": role, "processors": 2, "gpus": [], "jobs": 0}


@pytest.fixture
def file(home):
    path = home / "functions.py"
    path.write_text(FUNCTIONS)
    return path


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        ([node("daemon", "here")], "no cluster, not the one at 10.0.0.1:6379"),
        ([node("daemon", "here"), node("cluster", "10.0.0.2:6379")], "the cluster at 10.0.0.2:6379, not"),
        ([node("daemon", "10.0.0.1:6379")], "no cluster"),
    ],
)
def test_a_daemon_without_that_cluster_is_not_asked(house, file, answer, nodes, said):
    with house(lambda payload, progress, cancel: answer(payload)) as h:
        h.server.nodes = lambda: nodes
        done = mirage("optimize", str(file), "--cluster", "10.0.0.1:6379")
        assert done.returncode == 1 and done.stderr.startswith("MIR511") and done.stderr.count("\n") == 1
        assert said in done.stderr and not h.runs


def test_the_daemon_with_that_cluster_is_asked(house, file, answer):
    with house(lambda payload, progress, cancel: answer(payload)) as h:
        h.server.nodes = lambda: [node("daemon", "here"), node("cluster", "auto")]
        done = mirage("optimize", f"{file}::squared", "--cluster", "auto")
        assert done.returncode == 0, done.stderr
        assert [run["function"] for run in h.runs] == ["squared"]


def test_a_cluster_works_for_the_daemon_alone(file):
    done = mirage("optimize", str(file), "--cluster", "auto", "--no-daemon")
    assert done.returncode == 2 and "--no-daemon" in done.stderr


def test_a_cluster_that_nobody_reaches_is_an_end_and_no_reason_to_work_here(home, file):
    done = mirage("optimize", str(file), "--cluster", "127.0.0.1:1")
    assert done.returncode == 1 and "MIR511" in done.stderr and done.stderr.count("\n") == 1
    assert not list(home.glob("*_mirage.py"))


def test_the_functions_of_a_file_are_worked_on_side_by_side(house, file, answer):
    inside, all_there = [], threading.Event()

    def together(payload, progress, cancel):
        inside.append(payload["function"])
        if len(inside) == 3:
            all_there.set()
        assert all_there.wait(LIMIT_S), "each was asked for alone"
        return answer(payload)

    with house(together, workers=3) as h:
        done = mirage("optimize", str(file))
        assert done.returncode == 0 and "3 of 3 answered" in done.stdout, done.stdout + done.stderr
        assert len(h.runs) == 3


def test_how_far_the_functions_to_come_are_is_said_in_words(house, file, answer):
    let_go = {name: threading.Event() for name in ("shifted", "doubled", "squared")}

    def job(payload, progress, cancel):
        progress({"state": "verifying"})
        assert let_go[payload["function"]].wait(LIMIT_S)
        return answer(payload)

    with house(job) as h, daemon_question.Daemon() as daemon:  # two at once
        assert daemon.others() == ""
        for name in let_go:
            daemon.begin(FUNCTIONS, str(file), name, "sm_90", SearchOptions())
        wait_until(lambda: daemon.others() == "then 2 verifying, 1 queued")
        let_go["shifted"].set()
        wait_until(lambda: daemon.others() == "then 1 over, 2 verifying")
        daemon.optimize(FUNCTIONS, str(file), "shifted", "sm_90", SearchOptions(), lambda p: None)
        assert daemon.others() == "then 2 verifying"
        h.server.stop()  # whoever waits for an answer is told; this is no place for it
        wait_until(lambda: daemon.others() == "")
        for event in let_go.values():
            event.set()


def test_one_that_fails_is_asked_once_and_is_not_the_others_end(house, file, answer):
    def job(payload, progress, cancel):
        if payload["function"] == "doubled":
            raise MirageError("not this one")
        return answer(payload)

    with house(job) as h:
        done = mirage("optimize", str(file))
        assert done.returncode == 1 and "2 of 3 answered" in done.stdout and "not this one" in done.stderr
        assert sorted(run["function"] for run in h.runs) == ["doubled", "shifted", "squared"]


def test_what_was_begun_is_cancelled_by_an_end_before_its_turn(house, file, answer):
    cancelled, let_go = [], threading.Event()

    def job(payload, progress, cancel):
        wait_until(lambda: cancel.cancelled or let_go.is_set())
        cancelled.append((payload["function"], cancel.cancelled))
        cancel.check()
        return answer(payload)

    with house(job) as h:
        with pytest.raises(KeyboardInterrupt), daemon_question.Daemon() as daemon:
            daemon.begin(FUNCTIONS, str(file), "squared", "sm_90", SearchOptions())
            wait_until(lambda: len(h.runs) == 1)
            raise KeyboardInterrupt
        wait_until(lambda: cancelled)
        with daemon_question.Daemon() as daemon:  # one that ends well leaves what it began
            daemon.begin(FUNCTIONS, str(file), "doubled", "sm_90", SearchOptions())
            wait_until(lambda: len(h.runs) == 2)
        let_go.set()
        wait_until(lambda: len(cancelled) == 2)
        assert cancelled == [("squared", True), ("doubled", False)]


def test_a_daemon_that_is_begun_anew_gets_the_same_cluster(monkeypatch):
    asked = []

    def connect(**given):
        asked.append(given)
        raise ClusterFault("not there")

    monkeypatch.setattr(daemon_question.Client, "connect", connect)
    with pytest.raises(ClusterFault):
        daemon_question.Daemon("10.0.0.1:6379")
    assert asked == [{"cluster": "10.0.0.1:6379"}]


@pytest.mark.parametrize(
    ("code", "printed"),
    [
        ("from mirage_daemon.lifecycle import main; main()", "[] False"),
        ("from mirage_daemon.lifecycle import main; main(cluster_address='no place')", "[] True"),
        ("import contextlib; from mirage_daemon.cluster_driver import connected\n"
         "with contextlib.suppress(Exception): connected('127.0.0.1:1')", "['ray'"),
    ],
)  # fmt: skip
def test_ray_is_looked_for_by_the_process_of_a_cluster_alone(home, code, printed):
    env = {**os.environ, "MIRAGE_IDLE_S": "0.1", "MIRAGE_HOME": str(home)}
    code = RECORDED.format(code=code)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, timeout=60)
    assert done.stdout.startswith(printed), done.stdout + done.stderr
