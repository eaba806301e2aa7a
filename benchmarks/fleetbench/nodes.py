"""A Ray cluster of this machine's processes: a head without processors, where the daemon is, and nodes with a few each."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import Any

SMALL = {"object_store_memory": 100 << 20}  # bytes; what goes over is smaller


class LocalNodes:
    """`with LocalNodes(2) as nodes:` has that many; `kill` ends one without a word and starts another one."""

    def __init__(self, count: int, processors: int = 1) -> None:
        self._count, self._processors = count, processors  # of each
        self.running: list[Any] = []

    def __enter__(self) -> LocalNodes:
        from ray.cluster_utils import Cluster

        self._cluster: Any = Cluster(
            initialize_head=True, head_node_args={**SMALL, "num_cpus": 0, "include_dashboard": False}
        )
        self.address = str(self._cluster.address)
        for _ in range(self._count):
            self.add()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self._cluster.shutdown()

    def add(self, **more: Any) -> Any:
        """One more node, with what Ray's `add_node` takes beside its processors."""
        self.running.append(self._cluster.add_node(num_cpus=self._processors, wait=False, **SMALL, **more))
        return self.running[-1]

    def kill(self, which: int = 0) -> set[int]:
        """The worker processes that it had."""
        node = self.running.pop(which)
        had = workers_of(node)
        self._cluster.remove_node(node, allow_graceful=False)
        return had

    def workers(self) -> set[int]:
        """Of all nodes."""
        return set().union(*map(workers_of, self.running))


def workers_of(node: Any) -> set[int]:
    """The processes of ours below a node's own."""
    return {pid for pid in below(node.all_processes["raylet"][0].process.pid) if runs(pid)}


def below(root: int) -> dict[int, float]:
    """A process and all below it, each with its processor seconds and those of its children that have ended."""
    parents, seconds = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                facts = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has ended meanwhile
                continue
            parents[int(entry.name)] = int(facts[1])
            seconds[int(entry.name)] = sum(map(int, facts[11:15])) / os.sysconf("SC_CLK_TCK")
    found: set[int] = set()
    more = {root}
    while more:
        found |= more
        more = {pid for pid, parent in parents.items() if parent in more} - found
    return {pid: seconds[pid] for pid in found if pid in seconds}


def runs(pid: int) -> bool:
    """Whether a worker of ours has that number."""
    try:
        return b"mirage" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
