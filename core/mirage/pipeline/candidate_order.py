"""The order in which a search's candidates are verified, and the wider form of one that was too inaccurate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from mirage.mugraph.grammar import CustomKernel
from mirage.results.verdict import Verdict
from mirage.search.engine import Candidate

TRIES = 8  # candidates that are verified before the answer is "keep yours"


def widened(candidate: Candidate) -> Candidate | None:
    """The candidate with computed operands, and what goes from kernel to kernel, in float32's range; None if they have
    it already."""
    kernels = tuple(
        replace(k, operands="wide") if isinstance(k, CustomKernel) else k for k in candidate.mugraph.kernels
    )
    made = {k.out for k in kernels if not isinstance(k, CustomKernel)}  # a library gives its operands' dtype
    read = {a for k in kernels if not isinstance(k, CustomKernel) for a in k.args}
    tensors = tuple(
        replace(t, dtype="fp32")
        if t.kind == "temp" and t.dtype in ("fp16", "bf16") and t.name not in made | read
        else t
        for t in candidate.mugraph.tensors
    )
    if (kernels, tensors) == (candidate.mugraph.kernels, candidate.mugraph.tensors):
        return None
    wide = replace(candidate.mugraph, kernels=kernels, tensors=tensors)
    return replace(candidate, mugraph=wide, label=f"{candidate.label} wide")


def inaccurate(verdict: Verdict) -> bool:
    """Was it rejected for a number (an overflow, an error) that the float opinion met, or for a bound on its
    rounding? A wider dtype may mend that."""
    return any(
        e.opinion == "rounding" or (e.opinion == "float" and e.counterexample is not None) for e in verdict.rejections
    )


class Tries:
    """The candidates to verify, at most TRIES: best first, but where one was refused, those that share nothing of what may
    be wrong with it (its structure, its library calls) come before those that do. Of candidates with one label and
    one time, which differ in the order of their operations at most, the first comes before the others."""

    def __init__(self, best: Sequence[Candidate]) -> None:
        self.left, self.tried = list(best), 0
        self.met: set[object] = set()
        self.alike: set[tuple[str, float]] = set()

    def best_beyond(self, below: float) -> Candidate | None:
        """The best one, where all take so many µs or more."""
        best = min(self.left, key=lambda c: c.us, default=None)
        return best if best is not None and best.us >= below else None

    def next(self, below: float = math.inf) -> Candidate | None:
        """The next one, of those that take less than so many µs; asking for it says that the one before was refused."""
        left = [c for c in self.left if c.us < below]
        if not left or self.tried == TRIES:
            return None
        chosen = min(left, key=lambda c: ((c.label, c.us) in self.alike, not self.met.isdisjoint(suspects(c))))
        self.left = [c for c in self.left if c is not chosen]
        self.tried += 1
        self.met |= suspects(chosen)
        self.alike.add((chosen.label, chosen.us))
        return chosen


def suspects(candidate: Candidate) -> set[object]:
    """What of a candidate others may have in common with it, and a fault with that."""
    calls = {(k.op, k.args, k.out) for k in candidate.mugraph.kernels if not isinstance(k, CustomKernel)}
    padded = {axis for axis, size in candidate.mugraph.axes if size == 1}  # one row on the matrix instruction
    return {candidate.structure, *calls, *padded}
