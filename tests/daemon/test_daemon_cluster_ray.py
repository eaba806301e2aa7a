"""A real Ray cluster of this machine's processes: searches run on its nodes, are cancelled there, and outlive a node; a node that says to
have a GPU is asked to measure, by a scripted measurer."""

import json
import logging
import os
import threading
import time

import pytest
from fleetbench.nodes import LocalNodes, runs, workers_of
from waiting import wait_until

from mirage.errors import Cancelled
from mirage.results.progress import CancelToken
from mirage_daemon import cluster as cluster_module
from mirage_daemon.cluster import Cluster
from mirage_daemon.proposal import Proposal

pytest.importorskip("ray", reason="Ray is not installed")

TEXT = """\
import mirage
import torch


@mirage.optimize(inputs=[((16, 4096), "fp16"), ((4096, 4096), "fp16"), ((4096, 4096), "fp16"), ((4096, 4096), "fp16")])
def f(x, a, b, c):
    y = torch.nn.functional.silu(x @ a) * (x @ b)
    return torch.softmax(y * torch.rsqrt((y * y).mean(-1, keepdim=True)), -1) @ c
"""
BODY = {
    "text": TEXT,
    "path": "/x/a.py",
    "function": "f",
    "target": "sm_90",
    "trusted": True,
    "options": {},
    "checkpoint": {},
}


@pytest.fixture
def nodes():
    logging.disable(logging.INFO)
    with LocalNodes(1) as found:
        yield found
    logging.disable(logging.NOTSET)


def begun(cluster, cancel=None):
    """A search in a thread: its names of parts, and what ended it."""
    parts, ended = [], []

    def report(event):
        if "part" in event:
            parts.append(event["part"]["name"] + event["part"]["search"])

    def run():
        try:
            cluster.search(BODY, report, cancel or CancelToken())
            ended.append(None)
        except Cancelled as e:
            ended.append(e)

    thread = threading.Thread(target=run)
    thread.start()
    return parts, ended, thread


@pytest.mark.slow
def test_searches_run_on_nodes_are_cancelled_there_and_outlive_one(nodes):
    cluster, cancel = Cluster(nodes.address), CancelToken()
    try:
        cluster.connect()
        wait_until(lambda: cluster.processors == 1, "the first node", 30)
        parts, ended, thread = begun(cluster, cancel)
        wait_until(lambda: parts, "a part", 60)
        workers = nodes.workers()
        assert workers
        asked = time.monotonic()
        cancel.cancel()
        wait_until(lambda: not any(map(runs, workers)), "the end of the workers", 10)
        assert time.monotonic() - asked < 2
        thread.join(5)
        assert isinstance(ended[0], Cancelled)

        parts, ended, thread = begun(cluster)
        wait_until(lambda: parts, "a part", 60)
        second = nodes.add()
        wait_until(lambda: cluster.processors == 2, "the second node", 30)
        workers = nodes.kill(0)
        thread.join(120)
        assert ended == [None] and len(parts) == len(set(parts)) > 1
        assert workers_of(second) and not any(map(runs, workers))
    finally:
        cluster.close()
    wait_until(lambda: not workers_of(second), "the end of what runs for a daemon that is gone", 20)


# In the nodes' processes, in place of a worker with a GPU. It gives what it was asked, and where Ray let it run
SCRIPTED = """
import os
from mirage_daemon import cluster_node
from mirage.results.codec import unstructure
from mirage.results.result import Estimate, Measurement, Result

def measure(payload, report, cancel):
    there = Estimate(7.0, 5.0, 11.0, "NVIDIA H200 (%s)" % payload["target"], True)
    graph = {"version": 1, "mugraph": {"name": payload["function"], "gpu": os.environ.get("CUDA_VISIBLE_DEVICES")}}
    report({"counts": {"tried": 3}})
    times = Measurement({"eager": 31.0, "compile": 11.0}, 4.0, 9)
    return {"result": unstructure(Result("f", "kernel", "", (), "p", estimate=there, measured=times, mugraphs=(graph,)))}

cluster_node._measure_here = measure
"""


@pytest.fixture
def gpu_node(tmp_path, monkeypatch):
    """A node that says to have an H200, and another one without a GPU."""
    (tmp_path / "sitecustomize.py").write_text(SCRIPTED)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]))
    monkeypatch.setattr(cluster_module, "gpu_here", lambda: False)
    logging.disable(logging.INFO)
    with LocalNodes(1) as found:
        found.add(num_gpus=1, resources={"accelerator_type:H200": 1})
        yield found
    logging.disable(logging.NOTSET)


@pytest.mark.slow
def test_a_node_with_the_targets_gpu_is_asked_to_measure_and_the_others_are_not(gpu_node):
    cluster, events = Cluster(gpu_node.address), []
    try:
        cluster.connect()
        wait_until(lambda: [n["gpus"] for n in cluster.nodes[1:]].count(["H200"]) == 1, "the node with a GPU", 30)
        found = cluster.work({**BODY, "job": "j1"}, events.append, CancelToken())
        assert isinstance(found, Proposal) and found.measured.us == 7.0 and found.measured.by == gpu_node.address
        assert json.loads(found.mugraph)["mugraph"] == {"name": "f", "gpu": "0"}  # Ray gave it that GPU
        assert events == [{"counts": {"tried": 3}}]
        assert cluster.measured({**BODY, "target": "sm_80"}, events.append, CancelToken()) is None
        assert cluster.nodes[0]["jobs"] == 1
    finally:
        cluster.close()
