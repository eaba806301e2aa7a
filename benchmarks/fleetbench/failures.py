"""A daemon with a cluster whose nodes are killed while they search, and whose jobs are cancelled."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from daemonbench.process import Daemon

from fleetbench.functions import LONG, OPTIONS, AskedFunction
from fleetbench.nodes import LocalNodes, runs
from fleetbench.ways import Kept, cut, digest
from mirage.link import Client
from mirage.link.request_parameters import SearchOptions

DAEMON = "import sys; from mirage_daemon.lifecycle import main; sys.exit(main(workers=2, cluster_address={address!r}))"
LONGEST_S = 6.0  # after which a node is killed
BEGIN_S = 60.0  # until the nodes have to work
PER_ROUND = 2  # functions
CANCELLED = 4  # jobs at once


@contextmanager
def served(nodes: LocalNodes) -> Iterator[Client]:
    with Daemon(DAEMON.format(address=nodes.address)), Client.connect(start_daemon=False) as client:
        yield client


def submit(client: Client, asked: AskedFunction, round: int = 0) -> str:
    """The job's name. Each round asks another question, with the same answer."""
    options = SearchOptions(seconds=OPTIONS["seconds"] + round)
    return client.submit(
        asked.text, asked.path, asked.function, trusted=True, interpreter=sys.executable, options=options
    )["job"]


def kills(functions: list[AskedFunction], rounds: int, nodes: LocalNodes, kept: Kept) -> None:
    """In each round some of the functions are asked for, and a node is killed in the middle. What the answers are, and how many
    results lie in the cache."""
    if kept.find(kills=rounds):
        return
    known = {r["name"] for r in kept.find(way="here") if "name" in r}
    functions = [f for f in functions if f.name in known] or functions
    chance, answers, had = random.Random(1), list[tuple[str, str, bool]](), list[int]()
    with served(nodes) as client:
        for i in range(rounds):
            batch = [functions[(i * PER_ROUND + n) % len(functions)] for n in range(PER_ROUND)]
            jobs = [submit(client, asked, i) for asked in batch]
            time.sleep(chance.uniform(0.5, LONGEST_S))
            had.append(len(nodes.kill(chance.randrange(len(nodes.running)))))
            nodes.add()
            for asked, job in zip(batch, jobs, strict=True):
                outcome = client.subscribe(job)
                result, error = outcome["result"], outcome["error"]
                said = digest(result) if result else str((error or {}).get("message", outcome["state"]))
                answers.append((asked.name, said, bool(result) and cut(result)))
            print(f"round {i}: a node with {had[-1]} processes of ours was killed", file=sys.stderr, flush=True)
        names = list(_cached(client))
    kept.add({"kills": rounds, "answers": answers, "results": len(names), "working": sum(map(bool, had))})


def cancels(rounds: int, nodes: LocalNodes, kept: Kept) -> None:
    """How long after the word to cancel the last process of a node that worked for it has ended."""
    if kept.find(cancels=rounds):
        return
    took: list[float] = []
    with served(nodes) as client:
        for i in range(rounds):
            rows_of_each = [16 * (1 + n + i * CANCELLED) for n in range(CANCELLED)]
            texts = [LONG.replace("(16,", f"({rows},") for rows in rows_of_each]
            jobs = [
                submit(client, AskedFunction(f"long/{n}", text, "/fleet/a.py", "f")) for n, text in enumerate(texts)
            ]
            until = time.monotonic() + BEGIN_S
            while not _searching(client, len(nodes.running)) and time.monotonic() < until:
                time.sleep(0.05)
            working, began = nodes.workers(), time.monotonic()
            for job in jobs:
                client.cancel(job)
            while any(map(runs, working)) and time.monotonic() - began < BEGIN_S:
                time.sleep(0.01)
            took.append(round(time.monotonic() - began, 3))
            print(f"cancelled: {len(working)} processes ended after {took[-1]} s", file=sys.stderr, flush=True)
    kept.add({"cancels": rounds, "took_s": took})


def _cached(client: Client) -> Iterator[str]:
    """The function of each result in the cache."""
    after = ""
    while rows := client.cache("list", after=after)["results"]:
        yield from (row["function"] for row in rows)
        after = rows[-1]["key"]


def _searching(client: Client, nodes: int) -> bool:
    """Whether so many jobs have found parts."""
    return (
        sum(job["state"] == "searching" and job["counts"].get("parts", 0) > 0 for job in client.status()["jobs"])
        >= nodes
    )
