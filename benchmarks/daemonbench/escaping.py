"""The corpus of escape attempts (tests/escapes) in real workers of each kind, and where a wall is missing: what got out, and what was
held, or refused to start and said why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from escapes.attempt import KINDS, Kind
from escapes.confined import LIMITS, Confined
from escapes.corpus import CORPUS
from escapes.harness import Settings, judge

from daemonbench.rows import Row, at_most, row
from mirage.errors import NotConfined
from mirage.isolate import Worker, confinement
from mirage.isolate.launch_order import NAMESPACES, WALLS
from mirage.isolate.system import OperatingSystem

WITHOUT_A_WALL = 60  # attempts for each wall that is missing
# families of what docs/security.md says is open where there are no user namespaces
OPEN_WITHOUT_A_VIEW = ("names and attributes", "reading processes")


def rows(most: int) -> Iterator[Row]:
    """At most so many attempts of each kind of worker, spread over the corpus."""
    for kind in KINDS:
        yield from tried(kind, kind, Confined(), most)


def tried(name: str, kind: Kind, run: Confined, most: int, told: tuple[str, ...] = ()) -> Iterator[Row]:
    """What became of the attempts; an escape of a family that is `told` of is counted by itself."""
    chosen = [attempt for attempt in CORPUS if kind in attempt.kinds]
    counts = Counter[str]()
    for attempt in chosen[:: max(1, -(-len(chosen) // most))]:
        result = judge(attempt, run, kind, Settings(LIMITS))
        if result.verdict == "escaped" and attempt.family in told:
            counts["told"] += 1
            continue
        counts[result.verdict] += 1
        if result.verdict in ("escaped", "not run"):
            yield row(f"{name}: {attempt.name}: {result.reason}"[:120], 1.0, result.verdict)
    for verdict in ("held", "not applicable"):
        yield row(f"{name}: {verdict}", counts[verdict])
    if told:
        yield row(f"{name}: open, as docs/security.md says", counts["told"])
    yield at_most(f"{name}: escaped", counts["escaped"], "", 0)
    yield at_most(f"{name}: not run", counts["not run"], "", 0)


def walls(most: int) -> Iterator[Row]:
    """Each wall left out: no worker starts and the error names what is missing, or what is left holds the attempts; and what
    `mirage doctor` then says does not hold, if anything."""
    everything = {name for name, holds in confinement.tried(WALLS).holds.items() if holds}
    for missing in WALLS:
        left = tuple(wall for wall in WALLS if wall != missing)
        unheld = everything - {name for name, holds in confinement.tried(left).holds.items() if holds}
        yield row(f"without {missing}, doctor says: no {', '.join(sorted(unheld)) or 'wall less'}", len(unheld))
        refusal = refused(left)
        yield row(f"without {missing}: {refusal or 'workers start'}"[:120], float(bool(refusal)))
        if not refusal:
            told = OPEN_WITHOUT_A_VIEW if missing == NAMESPACES else ()
            yield from tried(f"without {missing}", "traced", Confined(left), min(most, WITHOUT_A_WALL), told)


def refused(left: tuple[str, ...]) -> str:
    """What a worker that may have these walls alone says instead of starting; "" where it starts."""
    with Worker(system=OperatingSystem(walls=left)) as worker:
        try:
            worker.call("selftest", {"action": "echo", "value": 1}, timeout_s=LIMITS.seconds)
        except NotConfined as e:
            return str(e)
    return ""
