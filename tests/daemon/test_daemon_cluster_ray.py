"""A real Ray cluster of this machine's processes: searches run on its nodes, are cancelled there, and outlive a node."""

import logging
import threading
import time
from pathlib import Path

import pytest
from waiting import wait_until

from mirage.errors import Cancelled
from mirage.results.progress import CancelToken
from mirage_daemon.cluster import Cluster

ray = pytest.importorskip("ray", reason="Ray is not installed")
pytestmark = pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are looked at in /proc")

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


@pytest.fixture(scope="module")
def nodes():
    """A head without processors, where the daemon is, and a way to add nodes with one each."""
    from ray.cluster_utils import Cluster as LocalCluster

    logging.disable(logging.INFO)
    small = {"object_store_memory": 100 << 20}
    local = LocalCluster(initialize_head=True, head_node_args={**small, "num_cpus": 0, "include_dashboard": False})
    yield local, lambda: local.add_node(num_cpus=1, **small)
    local.shutdown()
    logging.disable(logging.NOTSET)


def workers_of(node):
    """The processes below a node that are workers of ours."""
    raylet = node.all_processes["raylet"][0].process.pid
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    found, more = set(), {raylet}
    while more:
        found |= more
        more = {pid for pid, parent in parents.items() if parent in more} - found
    return {pid for pid in found if b"mirage" in command(pid)}


def command(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


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
    local, add = nodes
    first, cluster, cancel = add(), Cluster(local.address), CancelToken()
    cluster.connect()
    try:
        assert cluster.processors == 1
        parts, ended, thread = begun(cluster, cancel)
        wait_until(lambda: parts, "a part", 60)
        workers = workers_of(first)
        assert workers
        asked = time.monotonic()
        cancel.cancel()
        wait_until(lambda: not any(map(command, workers)), "the end of the workers", 10)
        assert time.monotonic() - asked < 2
        thread.join(5)
        assert isinstance(ended[0], Cancelled)

        parts, ended, thread = begun(cluster)
        wait_until(lambda: parts, "a part", 60)
        workers = workers_of(first)
        second = add()
        wait_until(lambda: cluster.processors == 2, "the second node", 30)
        local.remove_node(first, allow_graceful=False)
        thread.join(120)
        assert ended == [None] and len(parts) == len(set(parts)) > 1
        assert workers_of(second) and not any(map(command, workers))
    finally:
        cluster.close()
    wait_until(lambda: not workers_of(second), "the end of what runs for a daemon that is gone", 20)
