"""The same functions by the workers of this machine alone and with a cluster's nodes; what both took, and whether the answers are one."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from daemonbench.process import TEXT

from fleetbench.functions import AskedFunction
from fleetbench.nodes import below
from mirage.errors import MirageError
from mirage.results.progress import CancelToken
from mirage_daemon.cluster import Cluster
from mirage_daemon.worker_pool import WorkerPool

HERE = 2  # workers of this machine
KEPT_S = 3600.0
SETTLE_S = 6.0  # what a batch made ready for the next one is not the other way's
BATCH = 8
SMALL = AskedFunction("", TEXT, "/fleet/small.py", "f")
SECONDS = re.compile(r"\b[0-9.]+ s\b")  # in words
CUT = re.compile(r"^[0-9.]+ s$|of memory$")
Row = dict[str, Any]
Job = Callable[[AskedFunction], Row]


class Kept:
    """Rows in a file, a line each, so that a run goes on where another one was ended."""

    def __init__(self, path: Path | None) -> None:
        self._path, self.rows = path, list[Row]()
        if path is not None and path.exists():
            self.rows = [json.loads(line) for line in path.read_text().splitlines()]

    def find(self, **said: object) -> list[Row]:
        return [r for r in self.rows if all(r.get(k) == v for k, v in said.items())]

    def add(self, row: Row) -> None:
        self.rows.append(row)
        if self._path is not None:
            with self._path.open("a") as f:
                f.write(json.dumps(row) + "\n")


def digest(result: Mapping[str, Any]) -> str:
    """Of all of an answer but how long it took and how much of its search was taken up."""
    return hashlib.sha256(json.dumps(_timeless(result), sort_keys=True, default=str).encode()).hexdigest()[:16]


def _timeless(said: Any) -> Any:
    if isinstance(said, Mapping):
        return {n: _timeless(value) for n, value in said.items() if n not in ("seconds", "total_seconds", "resumed")}
    if isinstance(said, list | tuple):
        return [_timeless(value) for value in said]
    return SECONDS.sub("", said) if isinstance(said, str) else said


def cut(result: Mapping[str, Any]) -> bool:
    """Whether a clock or the memory ended its search: then two runs of one machine differ as well."""
    return any(CUT.search(limit) for limit in result["search"].get("limits", ()))


@contextmanager
def pools(address: str) -> Iterator[dict[str, tuple[Job, int]]]:
    """way -> (who does a function, how many at once)"""
    searching = threading.local()
    cluster = Cluster(address)
    cluster.connect()

    def elsewhere(*asked: Any) -> None:
        began = time.monotonic()
        cluster.search(*asked)
        searching.s = time.monotonic() - began

    def job(pool: WorkerPool, asked: AskedFunction) -> Row:
        searching.s, parts, began = 0.0, 0, time.monotonic()

        def report(event: Mapping[str, object]) -> None:
            nonlocal parts
            if "part" in event:
                parts += len(event["part"]["line"])  # type: ignore[call-overload,index]

        try:
            result: Any = pool.run_job(asked.payload(sys.executable), report, CancelToken())["result"]  # type: ignore[arg-type]
            phases = result["seconds"]
            row = {"answer": result["answer"], "digest": digest(result), "phases": phases, "cut": cut(result)}
            row["parts"] = {name: digest({name: value})[:8] for name, value in result.items()}
        except MirageError as e:
            row = {"answer": e.code, "digest": e.message, "phases": {}, "cut": False}
        wall = time.monotonic() - began
        return {
            **row,
            "name": asked.name,
            "wall_s": round(wall, 3),
            "at_nodes_s": round(searching.s, 3),
            "bytes": parts,
        }

    with ExitStack() as stack:
        stack.callback(cluster.close)
        alone = stack.enter_context(WorkerPool(most=HERE, idle_s=KEPT_S))
        both = stack.enter_context(WorkerPool(most=HERE, idle_s=KEPT_S, elsewhere=elsewhere))
        yield {
            "here": (lambda asked: job(alone, asked), HERE),
            "cluster": (lambda asked: job(both, asked), HERE + cluster.processors),
        }


def compare(functions: list[AskedFunction], address: str, kept: Kept, most: int) -> None:
    """Each batch both ways, one after the other and each way first in turn, at most so many batches. What is kept is
    not done again. A function whose answers differ is done once more both ways: on a busy machine an opinion of the
    verifier may run out of time."""
    batches = [functions[i : i + BATCH] for i in range(0, len(functions), BATCH)]
    todo = [(i, batch) for i, batch in enumerate(batches) if len(kept.find(batch=i)) < 2][:most]
    again = [] if todo else [f for f in functions if f.name in unequal(kept) and len(kept.find(name=f.name)) < 4]
    if not todo and not again:
        return
    with pools(address) as ways:
        for job, _ in ways.values():  # processes are there, and modules imported, before anything is timed
            with ThreadPoolExecutor(HERE) as threads:
                list(threads.map(job, [SMALL] * HERE))
        for i, batch in todo:
            for way in sorted(ways, reverse=i % 2 == 0):
                if not kept.find(batch=i, way=way):
                    time.sleep(SETTLE_S)
                    _batch(i, way, ways[way], batch, kept)
        for asked in again:
            for way, (job, _) in ways.items():
                kept.add({**job(asked), "way": way})


def _batch(number: int, way: str, how: tuple[Job, int], batch: list[AskedFunction], kept: Kept) -> None:
    job, at_once = how
    began, before = time.monotonic(), sum(below(os.getpid()).values())
    with ThreadPoolExecutor(at_once) as threads:
        rows = list(threads.map(job, batch))
    wall, processor = time.monotonic() - began, sum(below(os.getpid()).values()) - before
    for row in rows:
        kept.add({**row, "way": way})
    kept.add({"batch": number, "way": way, "wall_s": round(wall, 3), "processor_s": round(processor, 2)})
    print(f"{way:8} batch {number}: {wall:.1f} s", file=sys.stderr, flush=True)


def unequal(kept: Kept) -> dict[str, list[str]]:
    """The functions of which no answer with the nodes is one without, and in which parts those differ; none whose search a clock
    ended."""
    found = {}
    for name in {r["name"] for r in kept.find(way="cluster") if "name" in r}:
        here, cluster = kept.find(way="here", name=name), kept.find(way="cluster", name=name)
        clock = any(r["cut"] for r in (*here, *cluster))
        if here and not clock and not {r["digest"] for r in here} & {r["digest"] for r in cluster}:
            parts = [r.get("parts", {}) for r in (here[-1], cluster[-1])]
            found[name] = sorted(p for p in parts[0] if parts[0][p] != parts[1].get(p))
    return found
