"""Four clients start the daemon at the same moment, again and again: one owner each time."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from daemonbench.process import Home, Row, row
from mirage.link import Client

STARTERS, RACES = 4, 200


def starter(home: str, barrier: Any, results: Any) -> None:
    """Connects when all are ready, as often as there are races; None in the barrier's place ends it."""
    os.environ["MIRAGE_HOME"] = home
    while True:
        barrier.wait()
        began = time.monotonic()
        try:
            with Client.connect() as client:
                results.put((client.status()["pid"], time.monotonic() - began, ""))
        except Exception as e:
            results.put((0, time.monotonic() - began, f"{type(e).__name__}: {e}"))


def living(home: Path) -> list[int]:
    """Daemon processes of that home."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                mark = f"MIRAGE_HOME={home}".encode() in (entry / "environ").read_bytes().split(b"\0")
                if mark and b"mirage_daemon" in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
    return found


def rows(races: int = RACES) -> Iterator[Row]:
    two, failed, slowest, left_alone = 0, 0, 0.0, 0
    context = get_context("spawn")
    with Home() as home:
        barrier, results = context.Barrier(STARTERS + 1), context.Queue()
        processes = [
            context.Process(target=starter, args=(str(home.folder), barrier, results), daemon=True)
            for _ in range(STARTERS)
        ]
        for p in processes:
            p.start()
        for _ in range(races):
            barrier.wait()
            said = [results.get(timeout=60) for _ in range(STARTERS)]
            for _, _, why in said:
                if why:
                    print(why)
            failed += sum(bool(why) for _, _, why in said)
            owners = {pid for pid, _, _ in said if pid}
            two += len(owners) != 1
            slowest = max(slowest, *(seconds for _, seconds, _ in said))
            until = time.monotonic() + 10
            while len(living(home.folder)) > 1 and time.monotonic() < until:
                time.sleep(0.01)
            left_alone += set(living(home.folder)) == owners
            for pid in living(home.folder):
                os.kill(pid, signal.SIGKILL)  # its socket stays behind, for the next race
            while living(home.folder):
                time.sleep(0.005)
        for p in processes:
            p.terminate()
            p.join()
    yield row("races: 4 starters", races, "races")
    yield row("races: more or less than one owner", two, "races", "== 0")
    yield row("races: clients without an answer", failed, "clients", "== 0")
    yield row("races: the owner is the only daemon left", left_alone, "races", f"== {races}")
    yield row("races: the slowest client", slowest, "s")
