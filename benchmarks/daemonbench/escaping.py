"""The corpus of escape attempts (tests/escapes) in real workers of each kind: what got out, and what was held."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from escapes.attempt import KINDS
from escapes.confined import LIMITS, Confined
from escapes.corpus import CORPUS
from escapes.harness import Settings, judge

from daemonbench.rows import Row, at_most, row


def rows(most: int) -> Iterator[Row]:
    """At most so many attempts of each kind of worker, spread over the corpus."""
    for kind in KINDS:
        chosen = [attempt for attempt in CORPUS if kind in attempt.kinds]
        counts, run = Counter[str](), Confined()
        for attempt in chosen[:: max(1, -(-len(chosen) // most))]:
            result = judge(attempt, run, kind, Settings(LIMITS))
            counts[result.verdict] += 1
            if result.verdict in ("escaped", "not run"):
                yield row(f"{kind}: {attempt.name}: {result.reason}"[:120], 1.0, result.verdict)
        for verdict in ("held", "not applicable"):
            yield row(f"{kind}: {verdict}", counts[verdict])
        yield at_most(f"{kind}: escaped", counts["escaped"], "", 0)
        yield at_most(f"{kind}: not run", counts["not run"], "", 0)
