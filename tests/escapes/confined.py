"""Runs attempts in real workers, and says which of them got out.

    python -m tests.escapes.confined [--kind KIND] [--family NAME] [--name TEXT] [--walls WALLS] [--every N]

The exit status is the number of escapes.
"""

from __future__ import annotations

import argparse
import collections
import sys
from dataclasses import dataclass

from mirage.errors import MirageError
from mirage.isolate import Worker, confinement
from mirage.isolate.launch_order import WALLS
from mirage.isolate.system import OperatingSystem

from .attempt import KINDS, Kind, Limits, Outcome
from .corpus import CORPUS
from .harness import Result, Settings, judge

_MEMORY = 384 << 20
_START_S = 15.0  # a worker's start on a machine that has more to do
LIMITS = Limits(
    memory=_MEMORY,
    disk=_MEMORY,
    processes=confinement.limits_of(_MEMORY, _MEMORY, 0).tasks,
    inodes=_MEMORY // 8192,
    seconds=_START_S + 3.0,
)


@dataclass(frozen=True)
class Confined:
    """A worker as the pipeline makes them: one that traces or runs a module, or the one beside the GPU."""

    walls: tuple[str, ...] = WALLS

    def __call__(self, source: str, kind: Kind) -> Outcome:
        with Worker(memory_bytes=_MEMORY, unix=kind == "gpu", system=OperatingSystem(walls=self.walls)) as worker:
            said = ""
            accepted = False
            try:
                values = worker.call("selftest", {"action": "run", "text": source}, timeout_s=LIMITS.seconds)["values"]
                accepted = values == [1.0]
            except MirageError as e:
                said = str(e)
            return Outcome((worker.stdout + worker.stderr).decode("latin-1") + said, accepted)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", choices=KINDS, default="traced")
    parser.add_argument("--family", action="append")
    parser.add_argument("--name", default="")
    parser.add_argument("--walls", default=",".join(WALLS), help="those that are built, with commas")
    parser.add_argument("--every", type=int, default=1, help="only every so many")
    options = parser.parse_args()
    run, counts = Confined(tuple(options.walls.split(","))), collections.Counter[str]()
    chosen = [a for a in CORPUS if (not options.family or a.family in options.family) and options.name in a.name]
    for attempt in chosen[:: options.every]:
        result: Result = judge(attempt, run, options.kind, Settings(LIMITS))
        counts[result.verdict] += 1
        if result.verdict in ("escaped", "not run"):
            print(f"{result.verdict:10} {attempt.name}: {result.reason[:200]}", flush=True)
    print(", ".join(f"{n} {verdict}" for verdict, n in sorted(counts.items())))
    return counts["escaped"]


if __name__ == "__main__":
    sys.exit(main())
