"""A search's candidates in the order in which a GPU ran them, beside what the user would run instead."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mirage.errors import EmissionRefused
from mirage.mugraph.grammar import MuGraph
from mirage.plan import plan
from mirage.profile.roofline import ATTENTION
from mirage.profile.variants import Variant, variants
from mirage.program.ir import Program
from mirage.search.engine import Candidate

EQUAL = 0.97  # a kernel with so much of the best baseline's time or less is faster; the rest is noise
Call = Callable[[dict[str, Any]], dict[str, Any]]


def gpu_here() -> bool:
    """Whether this machine has an NVIDIA driver: asking torch would take seconds."""
    return Path("/dev/nvidiactl").exists()


@dataclass(frozen=True)
class Measured:
    """`candidates` fastest first, `us` what was measured; the median cold `peers` in µs, `read` a plain read of the inputs;
    how many variants ran, and why others did not."""

    candidates: tuple[Candidate, ...]
    peers: dict[str, float]
    read: float
    device: str
    tried: int
    dropped: tuple[str, ...]

    @property
    def peer(self) -> str:
        """The best baseline."""
        return min(self.peers, key=self.peers.__getitem__)

    def to_dict(self) -> dict[str, Any]:
        """For the result: the times, without the candidates."""
        return {"peers": dict(self.peers), "read": self.read, "variants": self.tried, "dropped": list(self.dropped[:8])}


def measured(
    best: Sequence[Candidate], program: Program, function: str, emit: Callable[[MuGraph], str], call: Call, target: str,
    *, most: int = 64, as_they_are: bool = False,
) -> Measured | None:  # fmt: skip
    """Tunes a search's candidates on this machine's GPU (`call` asks the worker's task "tune"), or times them
    `as_they_are`. None where there is no GPU of that target. A variant that is wrong on the GPU never comes back; nor does
    one without a time."""
    wanted = variants(best, plan)
    if as_they_are:
        wanted = [Variant(i, plan(c.mugraph), c.us, c.structure, c.label, 0, 0) for i, c in enumerate(best)]
    found = []
    for v in wanted[:most]:
        try:
            found.append((v, emit(v.mugraph)))
        except EmissionRefused:
            continue
    answer = call(
        {
            "texts": [text for _, text in found],
            "function": function,
            "target": target,
            "processes": max(1, (os.cpu_count() or 2) - 1),
            "bytes": sum(i.type.bytes for i in program.inputs),
            "compiled": True,
            "attention": any(n.op == ATTENTION for n in program.nodes),
        }
    )
    if not answer["device"]:
        return None
    rows, times = answer["rows"], answer["times"]
    timed = [
        (times[str(i)]["cold"] if str(i) in times else row["cold"], str(i) not in times, i)
        for i, row in enumerate(rows) if "cold" in row
    ]  # fmt: skip
    candidates = []
    for us, _, i in sorted(timed, key=lambda t: (t[1], t[0], t[2])):  # the last round's times are the best known
        v = found[i][0]
        candidates.append(replace(best[v.rank], mugraph=v.mugraph, us=us, label=v.label if as_they_are else v.name))
    return Measured(
        tuple(candidates),
        {k: t["cold"] for k, t in times.items() if not k.isdigit() and k != "read"},
        times["read"]["cold"] if "read" in times else 0.0,
        str(answer["device"]),
        len(timed),
        tuple(f"{found[i][0].name}: {why(row)}" for i, row in enumerate(rows) if "cold" not in row),
    )


def why(row: dict[str, Any]) -> str:
    """Why a variant has no time."""
    return str(row["failed"]) if "failed" in row else f"wrong by {row['error']:.2g} of the largest value"
