"""kill -9 at random points under load: what was acknowledged is there afterwards, right, and soon; searches go on."""

from __future__ import annotations

import hashlib
import random
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

from daemonbench.rows import Daemon, Row, at_least, at_most, row, text
from mirage.errors import DaemonUnavailable

CLIENTS, LONGEST_S, LOOKED_AT = 3, 2.5, 20
USUAL_S = 0.5  # a restart of the daemon on a machine that has nothing else to do
DRAIN_S = 120.0


class Load:
    """What clients were told. `promised`: submissions that had a reply; `told`: results, by function."""

    def __init__(self) -> None:
        self.promised: set[str] = set()
        self.told: dict[str, str] = {}
        self.wrong: set[str] = set()
        self.next, self.lock = 0, threading.Lock()

    def name(self) -> str:
        with self.lock:
            self.next += 1
            return f"f{self.next}"

    def right(self, name: str, source: str) -> bool:
        return source == f"# {hashlib.sha256(text(name).encode()).hexdigest()}"

    def work(self, daemon: Daemon) -> None:
        """One client, until the daemon is gone."""
        with suppress(DaemonUnavailable), daemon.client() as client:
            while True:
                name = self.name()
                job = client.submit(text(name), f"/p{len(name) % 3}/a.py", name)["job"]
                self.promised.add(name)
                result = client.subscribe(job)["result"]
                if result is not None:
                    self.told[name] = result["source"]


def look(client: object, load: Load, names: list[str]) -> tuple[int, int]:
    """(lost, wrong) of results that were told."""
    lost = wrong = 0
    for name in names:
        found = client.lookup(text(name), "/q/b.py", name)  # type: ignore[attr-defined]
        lost += found is None
        wrong += found is not None and not load.right(name, found["source"])
    return lost, wrong


def rows(rounds: int) -> Iterator[Row]:
    chance = random.Random(1)
    load, lost, wrong, slowest, busiest, searches = Load(), 0, 0, 0.0, 0.0, 0
    last = USUAL_S
    with Daemon("search") as daemon:
        daemon.start()
        for _ in range(rounds):
            with daemon.client() as client:
                ended = sum(words[0] == "ended" for words in daemon.lines())
                if ended >= searches:  # always one under way
                    searches += 1
                name = f"search_{searches}"
                client.submit(text(name), "/s/s.py", name)
                load.promised.add(name)
            threads = [threading.Thread(target=load.work, args=(daemon,)) for _ in range(CLIENTS)]
            for t in threads:
                t.start()
            time.sleep(chance.uniform(0.0, LONGEST_S * max(1.0, last / USUAL_S)))  # on a busy machine all takes longer
            told = list(load.told)
            daemon.kill()
            for t in threads:
                t.join()
            began = daemon.start()
            with daemon.client() as client:
                first = told[-1] if told else name
                client.lookup(text(first), "/q/b.py", first)
                last = time.monotonic() - began
                slowest, busiest = max(slowest, last), max(busiest, daemon.processor())
                a, b = look(client, load, told[-LOOKED_AT:])
                lost, wrong = lost + a, wrong + b
        with daemon.client() as client:
            deadline = time.monotonic() + DRAIN_S
            while client.status()["jobs"] and time.monotonic() < deadline:
                time.sleep(0.1)
            a, b = look(client, load, sorted(load.told))
            lost, wrong = lost + a, wrong + b
            never, b = look(client, load, sorted(load.promised))
            wrong += b + sum(not load.right(n, s) for n, s in load.told.items())
        lines, given_up = daemon.lines(), daemon.said("failed (MIR400)")
    yield row("kill -9: rounds", rounds)
    yield row("kill -9: results told", len(load.told))
    yield at_most("kill -9: told results lost", lost, "", 0)
    yield at_most("kill -9: promised jobs lost", never, "", 0)
    yield at_most("kill -9: wrong answers", wrong, "", 0)
    yield at_most("kill -9: restart to first answer, slowest", slowest, "s", 2.0)
    yield row("kill -9: processor time of the restart, most", busiest, "s")
    yield at_most("kill -9: searches given up, as too many deaths brought them no further", given_up, "", 0)
    yield from resumed(lines)


def resumed(lines: list[list[str]]) -> Iterator[Row]:
    """From the notes of the jobs: a part that was durable is not searched again."""
    kept: set[tuple[str, str]] = set()
    again = began = went_on = 0
    for words in lines:
        if words[0] == "kept":
            kept.add((words[1], words[2]))
        elif words[0] == "searched":
            again += (words[1], words[2]) in kept
        elif words[0] == "began":
            began += 1
            went_on += int(words[2]) > 0
    ends = [words for words in lines if words[0] == "ended"]
    yield row("kill -9: starts of searches", began)
    yield at_least("kill -9: of them from a checkpoint", went_on, "", 1)
    yield at_most("kill -9: finished parts searched again", again, "", 0)
    yield row("kill -9: searches that ended", len(ends))
    yield at_least("kill -9: parts that they took from checkpoints", sum(int(w[2]) for w in ends), "", 1)
