"""The daemon under mixed work for a long time: nothing of it may grow, and nothing that it told may be lost.

    python benchmarks/soak.py [--seconds 600] [--json]

A real daemon with real workers, searches and verdicts. All at once: new functions, known ones, questions taken back, files
saved in a watched project, calls seen at run time, mistakes, clients that vanish or never speak, workers killed.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import json
import os
import platform
import random
import signal
import socket
import sqlite3
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "core"), str(ROOT), str(ROOT / "benchmarks")]

from daemonbench.rows import Daemon, Row, at_least, at_most, row  # noqa: E402

from mirage.errors import MirageError  # noqa: E402
from mirage.link import paths  # noqa: E402

HEAD = "import torch\nimport mirage\n\n\n"
BODIES = (
    "torch.softmax(x * {k}.0, dim=-1)", "torch.relu(x) * {k}.0 + 1", "x * torch.sigmoid(x * {k}.0)",
    "x * torch.rsqrt((x * x).mean(-1, keepdim=True) + {k}.0)", "(x - x.mean(-1, keepdim=True)) * {k}.0",
)  # fmt: skip
WARM, DRAIN_S, SAMPLE_S = 2, 300.0, 1.0


def text(name: str, number: int) -> str:
    """A file with one function that no other number has."""
    body = BODIES[number % len(BODIES)].format(k=number + 2)
    return f'{HEAD}@mirage.optimize(inputs=[((8, 64), "fp16")])\ndef {name}(x):\n    return {body}\n'


class Soak:
    """What the clients were told, and the work that they do until `until`."""

    def __init__(self, daemon: Daemon, until: float) -> None:
        self.daemon, self.until = daemon, until
        self.told: dict[tuple[str, str], str] = {}  # (text, function) -> the result's module
        self.did: Counter[str] = Counter()
        self.wrong: list[str] = []
        self._lock, self._number = threading.Lock(), 0

    def number(self) -> int:
        with self._lock:
            self._number += 1
            return self._number

    def repeat(self, work: Callable[[random.Random], None], seed: int, pause_s: float) -> None:
        """One kind of work, until the time is over. What the daemon refuses is counted; anything else ends the bench."""
        chance = random.Random(seed)
        while time.monotonic() < self.until:
            try:
                work(chance)
                self.did[work.__name__] += 1
            except MirageError as e:
                self.did[f"{work.__name__}: {e.code}"] += 1
            time.sleep(chance.uniform(0, 2 * pause_s))

    def new(self, chance: random.Random) -> None:
        number = self.number()
        source, name = text(f"f{number}", number), f"f{number}"
        with self.daemon.client() as client:
            outcome = client.subscribe(client.submit(source, f"/p{number % 3}/a.py", name)["job"], deadline_s=300.0)
        if outcome["result"] is not None:
            self.told[source, name] = outcome["result"]["source"]
        else:
            self.did[f"new: ended as {outcome['error']['code']}"] += 1

    def known(self, chance: random.Random) -> None:
        if not self.told:
            return
        (source, name), module = chance.choice(list(self.told.items()))
        with self.daemon.client() as client:
            outcome = client.subscribe(client.submit(source, "/other/b.py", name)["job"])
        if outcome["result"] is None or outcome["result"]["source"] != module:
            self.wrong.append(name)

    def taken_back(self, chance: random.Random) -> None:
        number = self.number()
        with self.daemon.client() as client:
            job = client.submit(text(f"c{number}", number), "/p/a.py", f"c{number}")["job"]
            time.sleep(chance.uniform(0, 2))
            client.cancel(job)

    def mistakes(self, chance: random.Random) -> None:
        wrong = chance.choice(
            [HEAD, HEAD + "@mirage.optimize\ndef f(x):\n    return x\n", text("f", 1).replace("torch.", "os.")]
        )
        with self.daemon.client() as client:
            client.submit(wrong, "/p/a.py", "f")

    def vanishing(self, chance: random.Random) -> None:
        client = self.daemon.client()
        with contextlib.suppress(MirageError):
            client.submit(text("v", 10_000 + chance.randrange(5)), "/p/a.py", "v")
        client._socket.close()  # in the middle of everything

    def silent(self, chance: random.Random) -> None:
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as mute:
            mute.connect(os.fspath(paths.socket_path()))
            mute.send(chance.randbytes(chance.randrange(40)))
            time.sleep(chance.uniform(0, 3))

    def seen(self, chance: random.Random) -> None:
        with self.daemon.client() as client:
            client.seen(f"/p/{chance.randrange(20)}.py", "f", [("x", [chance.randrange(1, 20), 64], "fp16")])
            client.shapes("/p/1.py")
            client.status()

    def saves(self, chance: random.Random) -> None:
        file = self.daemon.home / "project" / f"m{chance.randrange(10)}.py"
        number = 20_000 + chance.randrange(40)
        file.write_text(text(f"w{number}", number) + "# " + "x" * chance.randrange(50) + "\n")
        if chance.random() < 0.2:
            file.rename(file.with_name("moved.py"))

    def killing(self, chance: random.Random) -> None:
        workers = self.daemon.workers()
        if workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(chance.choice(workers), signal.SIGKILL)


# work -> (threads, mean pause in seconds)
WORK: dict[str, tuple[int, float]] = {
    "new": (2, 0.1), "known": (2, 0.05), "taken_back": (1, 5.0), "mistakes": (1, 0.5), "vanishing": (1, 3.0),
    "silent": (2, 0.5), "seen": (1, 0.3), "saves": (1, 4.0), "killing": (1, 20.0),
}  # fmt: skip


def drain(daemon: Daemon) -> int:
    """Jobs that are left once nothing more is asked for: 0 within DRAIN_S."""
    deadline, left = time.monotonic() + DRAIN_S, 1
    with daemon.client() as client:  # what nobody waits for: saved files, clients that vanished
        client.unwatch(str(daemon.home / "project"))
        for job in client.status()["jobs"]:
            with contextlib.suppress(MirageError):
                client.cancel(job["job"])
    while left and time.monotonic() < deadline:
        with daemon.client() as client:
            left = len(client.status()["jobs"])
        time.sleep(0.2)
    time.sleep(4.0)  # as long as a silent client stays
    return left


def rows(seconds: float) -> list[Row]:
    with Daemon("") as daemon:
        daemon.start()
        (daemon.home / "project").mkdir()
        soak = Soak(daemon, time.monotonic() + seconds)
        for _ in range(WARM):
            soak.new(random.Random(0))
        drain(daemon)
        with daemon.client() as client:
            client.watch(str(daemon.home / "project"), trusted=True)
        before = daemon.memory(), daemon.descriptors(), len(daemon.workers())
        began, soak.until = time.monotonic(), time.monotonic() + seconds
        threads = [
            threading.Thread(target=soak.repeat, args=(getattr(soak, name), i, pause))
            for name, (count, pause) in WORK.items()
            for i in range(count)
        ]
        for t in threads:
            t.start()
        peak, most = 0.0, 0
        while any(t.is_alive() for t in threads):
            peak, most = max(peak, daemon.memory()), max(most, daemon.descriptors())
            time.sleep(SAMPLE_S)
        took = time.monotonic() - began
        with daemon.client() as client:
            project = client.status()["projects"][0]
        left = drain(daemon)
        after = daemon.memory(), daemon.descriptors(), len(daemon.workers())
        lost = 0
        with daemon.client() as client:
            for (source, name), module in soak.told.items():
                found = client.lookup(source, "/q/c.py", name)
                lost += found is None
                if found is not None and found["source"] != module:
                    soak.wrong.append(name)
        process = daemon.process
        ended = process is None or process.poll() is not None
    counts = [row(f"soak: {what}", n, "times") for what, n in sorted(soak.did.items())]
    return [
        row("soak: time", took, "s"),
        *counts,
        row("soak: functions submitted by saves", project["submitted"]),
        at_least("soak: results told", len(soak.told), "", 1),
        at_most("soak: of them lost", lost, "", 0),
        at_most("soak: wrong answers", len(soak.wrong), "", 0),
        at_most("soak: the daemon ended", int(ended), "", 0),
        at_most("soak: jobs that do not end", left, "", 0),
        row("soak: memory at the beginning", before[0], "MiB"),
        row("soak: memory at its highest", peak, "MiB"),
        at_most("soak: memory grown at the end", after[0] - before[0], "MiB", 50.0),
        row("soak: descriptors at their most", most),
        at_most("soak: descriptors more at the end", after[1] - before[1], "", 0),
        at_most("soak: processes more at the end", after[2] - before[2], "", 0),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    found = rows(args.seconds)
    report: dict[str, Any] = {
        "bench": "soak", "date": datetime.date.today().isoformat(), "device": platform.processor() or platform.machine(),
        "versions": {"python": platform.python_version(), "sqlite": sqlite3.sqlite_version}, "rows": found,
    }  # fmt: skip
    if args.json:
        print(json.dumps(report, ensure_ascii=False))
    else:
        print("| row | value | bound |\n|---|---|---|")
        for r in found:
            missed = "" if r["ok"] else " **missed**"
            print(f"| {r['name']} | {r['value']:g} {r['unit']} | {r['bound'] or ''}{missed} |")
    return 0 if all(r["ok"] for r in found) else 1


if __name__ == "__main__":
    sys.exit(main())
