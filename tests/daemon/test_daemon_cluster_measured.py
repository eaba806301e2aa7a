"""A machine without a GPU lets a cluster's node choose that has the target's: the µGraph is verified here, the times are the node's
word. No Ray and no GPU: the process that uses Ray is played, and says what was measured."""

import json
import logging
import sys
from dataclasses import replace

import pytest
from waiting import wait_until

from mirage.errors import NotVerified
from mirage.results.codec import read_result, unstructure
from mirage.results.progress import CancelToken
from mirage.results.result import Estimate, MeasuredElsewhere, Measurement, Result
from mirage_daemon import cluster as cluster_module
from mirage_daemon.cluster import Cluster, is_of, nodes_of
from mirage_daemon.proposal import Proposal
from mirage_daemon.remote_entry import mugraph_text
from mirage_daemon.worker_pool import WorkerPool

PLAYED = """
import json, os, sys
from mirage.errors import ClusterFault
from mirage.isolate import worker_messages as m

said = json.loads(open(sys.argv[1]).read())
say = lambda message: os.write(1, m.encode(message))
say(m.event(0, {"nodes": said["nodes"]}))
say(m.event(0, {"processors": 2}))
frames = m.Frames()
while data := os.read(0, 1 << 16):
    for asked in frames.feed(data):
        with open(sys.argv[1] + ".log", "a") as log:
            shown = {n: asked["payload"].get(n) for n in ("gpu", "timed", "job", "checkpoint")}
            print(json.dumps([asked["task"], shown]), file=log)
        ident = asked["id"]
        say(m.event(ident, {"node": "gpu-host"}))
        say(m.event(ident, {"part": {"search": asked["task"], "name": "out()", "line": "abc"}}))
        answer = said["measured"] if asked["task"] == "measure" else {"parts": 1}
        error = None if answer is not None else ClusterFault("a node failed").to_dict()
        say(m.answer(ident, answer, error))
"""
GRAPH, OTHER = ({"version": 1, "mugraph": {"name": name}} for name in ("chosen", "searched"))
THERE = Estimate(7.0, 5.0, 11.0, "NVIDIA H200 (sm_90)", True)
HERE = Estimate(9.0, 5.0, 20.0, "H200 (sm_90)")
TIMES = Measurement({"eager": 31.0, "compile": 11.0}, 4.0, 9)
CHOSEN = Result("f", "kernel", "", (), "p" * 64, estimate=THERE, measured=TIMES, mugraphs=(GRAPH,))
WORD = MeasuredElsewhere("NVIDIA H200 (sm_90)", 7.0, 11.0, "compile", "auto")
NODES = [
    {"name": "cpu-host", "processors": 8, "gpus": []},
    {"name": "gpu-host", "processors": 16, "gpus": ["H200", "H200"]},
]
BODY = {"text": "t", "function": "f", "target": "sm_90", "checkpoint": {"s": {"a()": "x"}}, "job": "j1"}


@pytest.fixture
def played(tmp_path, monkeypatch):
    """A cluster whose nodes and whose measured answer are said; `asked()` is what came to it."""
    monkeypatch.setattr(cluster_module, "gpu_here", lambda: False)
    made = []

    def start(measured=CHOSEN, nodes=NODES):
        said = tmp_path / f"said{len(made)}"
        answer = measured if not isinstance(measured, Result) else {"result": unstructure(measured)}
        said.write_text(json.dumps({"nodes": nodes, "measured": answer}))
        code = f"import sys; sys.path[:] = {sys.path!r}; sys.argv[1:] = [{str(said)!r}]\n{PLAYED}"
        cluster = Cluster("auto", command=[sys.executable, "-c", code])
        cluster.asked = lambda: [json.loads(x) for x in (tmp_path / f"{said.name}.log").read_text().splitlines()]
        made.append(cluster)
        cluster.connect()
        return cluster

    yield start
    for cluster in made:
        cluster.close()


def work(cluster, **more):
    events = []
    return cluster.work({**BODY, **more}, events.append, CancelToken()), events


def test_a_node_with_the_targets_gpu_chooses(played, caplog):
    caplog.set_level(logging.INFO, "mirage.daemon.cluster")
    cluster = played()
    found, events = work(cluster)
    assert found == Proposal(mugraph_text(CHOSEN), WORD)
    assert events == []  # its parts are those of another search than this machine's
    assert cluster.asked() == [["measure", {"gpu": "H200", "timed": None, "job": "j1", "checkpoint": {}}]]
    assert "job j1: measure at gpu-host" in caplog.text
    of_all, *each = cluster.nodes
    assert (of_all["role"], of_all["gpus"], of_all["jobs"]) == ("cluster", ["H200", "H200"], 1)
    assert [(n["name"], n["role"], n["jobs"]) for n in each] == [("cpu-host", "node", 0), ("gpu-host", "node", 1)]


@pytest.mark.parametrize("target", ["sm_80", "sm_100", "sm_9"])
def test_for_another_target_the_nodes_search(played, target):
    cluster = played()
    found, events = work(cluster, target=target)
    assert found is None and [e["part"]["search"] for e in events] == ["search"]
    assert cluster.asked() == [["search", {"gpu": None, "timed": False, "job": "j1", "checkpoint": BODY["checkpoint"]}]]


def test_a_machine_with_a_gpu_measures_itself(played, monkeypatch):
    cluster = played()
    monkeypatch.setattr(cluster_module, "gpu_here", lambda: True)
    assert work(cluster)[0] is None and [task for task, _ in cluster.asked()] == ["search"]
    assert cluster.asked()[0][1]["timed"] is True


NO_ANSWERS = {
    "estimated": replace(CHOSEN, estimate=replace(THERE, measured=False)),
    "without peers": replace(CHOSEN, measured=None),
    "no kernel": replace(CHOSEN, answer="compile", baseline="compile", mugraphs=()),
    "two µGraphs": replace(CHOSEN, mugraphs=(GRAPH, OTHER)),
    "less than no time": replace(CHOSEN, estimate=replace(THERE, us=-7.0)),
    "markup for a device": replace(CHOSEN, estimate=replace(THERE, device="H200 [free](x)")),
    "no result": {"result": {"answer": "kernel"}},
    "another thing": {"parts": 1},
    "a fault": None,
}


@pytest.mark.parametrize("name", NO_ANSWERS)
def test_what_is_no_measured_kernel_is_searched_for(played, name):
    cluster = played(NO_ANSWERS[name])
    found, events = work(cluster)
    assert found is None and [e["part"]["search"] for e in events] == ["search"]
    assert [task for task, _ in cluster.asked()] == ["measure", "search"]


class Judge:
    """A worker that takes GRAPH for right, and finds OTHER itself."""

    def __init__(self, interpreter):
        self.pid, self.interpreter = 1, interpreter

    def call(self, task, payload, **_):
        assert "job" not in payload
        if task == "recheck" and json.loads(payload["mugraph"]) != GRAPH:
            raise NotVerified("it computes another function")
        graph = GRAPH if task == "recheck" else OTHER
        made = Result("f", "kernel", "", (), "p" * 64, estimate=HERE, mugraphs=(graph,), notes=(task, self.interpreter))
        return {"result": unstructure(made)}

    def close(self):
        self.pid = None


def answer(proposed):
    with WorkerPool(make=Judge, elsewhere=lambda *_: proposed) as pool:
        asked = {"text": "t", "interpreter": "/the/asker's", "job": "j1"}
        return read_result(pool.run_job(asked, lambda event: None, CancelToken())["result"])


def test_what_a_node_chose_is_verified_here_and_its_times_are_its_word():
    found = answer(Proposal(json.dumps(GRAPH, separators=(",", ":"), sort_keys=True), WORD))
    assert found.mugraphs == (GRAPH,) and found.estimate == HERE and found.elsewhere == WORD
    assert found.notes == ("recheck", "/the/asker's")  # by the packages of who asks


def test_what_is_not_verified_here_brings_neither_kernel_nor_times():
    found = answer(Proposal(json.dumps(OTHER | {"version": 2}), WORD))
    assert found.mugraphs == (OTHER,) and found.elsewhere is None and found.notes[0] == "optimize"
    assert answer(None).elsewhere is None


@pytest.mark.parametrize(
    ("gpu", "target", "yes"),
    [("H200", "sm_90", True), ("H100", "sm_90a", True), ("A100-40G", "sm_80", True), ("A10G", "sm_86", True),
     ("H200", "sm_80", False), ("A100", "sm_86", False), ("GPU", "sm_90", False), ("sm_9", "sm_90", False)],
)  # fmt: skip
def test_which_gpus_are_a_targets(gpu, target, yes):
    assert is_of(gpu, target) is yes


@pytest.mark.parametrize(
    "said",
    ["nodes", [3], [{"name": "a"}], [{**NODES[0], "name": "a\nb"}], [{**NODES[0], "processors": True}],
     [{**NODES[0], "processors": -1}], [{**NODES[1], "gpus": "H200"}], [{**NODES[1], "gpus": ["H200\x1b[2J"]}],
     [{**NODES[1], "gpus": ["H200"] * 65}]],
)  # fmt: skip
def test_what_is_no_node_is_not_shown(said):
    assert nodes_of(said) == []
    assert [n["name"] for n in nodes_of(NODES)] == ["cpu-host", "gpu-host"]


def test_a_cluster_that_is_gone_has_no_nodes(played):
    cluster = played()
    assert len(cluster.nodes) == 3
    cluster._driver._process.kill()
    wait_until(lambda: cluster.processors == 0)
    assert [n["role"] for n in cluster.nodes] == ["cluster"] and cluster.nodes[0]["gpus"] == []
