"""One search for one function, whoever asks; and what many projects ask for at once goes on in all of them."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator

from daemonbench.rows import Daemon, Row, at_most, row, text
from daemonbench.served import WORKERS

FUNCTIONS, CLIENTS = 20, 8
PROJECTS, EACH = 5, 10


def rows(_: int) -> Iterator[Row]:
    yield from shared()
    yield from fair()


def together(count: int, work: object) -> None:
    """`work(i)` in as many threads, begun at the same time."""
    gate = threading.Barrier(count)

    def run(i: int) -> None:
        gate.wait()
        work(i)  # type: ignore[operator]

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def shared() -> Iterator[Row]:
    answers: list[str] = []
    with Daemon("short") as daemon:
        daemon.start()
        clients = [daemon.client() for _ in range(CLIENTS)]

        def ask(i: int) -> None:
            names = [f"s{n}" for n in range(FUNCTIONS)]
            for name in names:
                job = clients[i].submit(text(name), f"/project{i}/a.py", name)["job"]
                answers.append(clients[i].subscribe(job)["result"]["source"])

        together(CLIENTS, ask)
        for c in clients:
            c.close()
        ran = Counter(words[1] for words in daemon.lines())
    yield row("shared: searches for 20 functions of 8 projects", sum(ran.values()), "", f"== {FUNCTIONS}",
              set(ran.values()) == {1} and len(ran) == FUNCTIONS)  # fmt: skip
    yield row("shared: answers", len(answers), "", f"== {FUNCTIONS * CLIENTS}", len(answers) == FUNCTIONS * CLIENTS)


def fair() -> Iterator[Row]:
    with Daemon("short") as daemon:
        daemon.start()
        clients = [daemon.client() for _ in range(PROJECTS)]
        jobs: list[list[str]] = [[] for _ in clients]

        def submit(i: int) -> None:
            for n in range(EACH):
                jobs[i].append(clients[i].submit(text(f"p{i}_{n}"), f"/project{i}/a.py", f"p{i}_{n}")["job"])

        for i in range(PROJECTS):  # one after the other, the worst order for the last
            submit(i)
        waiting = [words[1] for words in daemon.lines()]  # began before everything was asked for
        states = [clients[i].subscribe(job)["state"] for i in range(PROJECTS) for job in jobs[i]]
        order = [words[1][:2] for words in daemon.lines()]
        for c in clients:
            c.close()
    begun, spread = Counter({f"p{i}": 0 for i in range(PROJECTS)}), 0
    for place, project in enumerate(order):
        begun[project] += 1
        if place >= len(waiting) and max(begun.values()) < EACH:
            early = Counter(w[:2] for w in waiting)
            level = [begun[p] - early[p] for p in begun]
            spread = max(spread, max(level) - min(level))
    done = states.count("done")
    yield row("fair: functions of 5 projects finished", done, "", f"== {PROJECTS * EACH}", done == PROJECTS * EACH)
    yield at_most("fair: projects apart at any time, jobs", spread, "", 1 + WORKERS)
