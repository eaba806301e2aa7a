"""A real Ray cluster of this machine's processes: searches run on its nodes, are cancelled there, and outlive a node."""

import logging
import threading
import time

import pytest
from fleetbench.nodes import LocalNodes, runs, workers_of
from waiting import wait_until

from mirage.errors import Cancelled
from mirage.results.progress import CancelToken
from mirage_daemon.cluster import Cluster

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
