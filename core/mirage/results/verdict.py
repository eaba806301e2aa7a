"""The three-link verdict: what was shown about a kernel, how, and with which bound (design: algebra, schedule, text)."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Word = Literal["PROVED", "TESTED", "REJECTED"]
LINKS = ("algebra", "schedule", "text")
OPINIONS = ("field", "proof", "float", "memory", "range")
EQUALITY = ("field", "proof", "float")  # the opinions on what the values are
TRUSTED = ("Triton and its compiler", "ptxas", "the GPU driver", "IEEE floating-point hardware", "PyTorch's tracer")
SAYS_NOTHING = 0.5  # a chance from here on is not called a bound
_STRENGTH = {"REJECTED": 0, "TESTED": 1, "PROVED": 2}


@dataclass(frozen=True)
class Concrete:
    """Floats on which two programs differ: inputs of a `kind` drawn from `seed` (written out in `values` when they are
    few), the output's index and both values as text, or what the second one raised. `script` is a Python file that
    shows it; without one, `note` says why."""

    inputs: tuple[dict[str, Any], ...] = ()
    kind: str = ""
    seed: int = 0
    sizes: dict[str, int] = field(default_factory=dict)
    tiles: dict[str, dict[str, int]] = field(default_factory=dict)
    output: int = 0
    index: tuple[int, ...] = ()
    expected: str = ""
    actual: str = ""
    error: str = ""
    values: tuple[Any, ...] = ()
    script: str = ""
    note: str = ""


@dataclass(frozen=True)
class Counterexample:
    """Where two programs differ: the seed that makes the inputs, the output's index, and both values as text.
    `concrete`: the same in floats, where that was looked for."""

    opinion: str
    output: int
    index: tuple[int, ...]
    expected: str
    actual: str
    sizes: dict[str, int] = field(default_factory=dict)
    seed: int = 0
    concrete: Concrete | None = None


@dataclass(frozen=True)
class Evidence:
    """What one opinion says of one link. `bound` is the probability that a wrong program passes (0 for a proof, None
    where no theorem gives one); `details` are figures for people (draws, sizes, errors)."""

    opinion: str
    word: Word
    bound: float | None
    seconds: float
    summary: str
    details: dict[str, Any] = field(default_factory=dict)
    counterexample: Counterexample | None = None


@dataclass(frozen=True)
class Link:
    """One link's verdict: as strong as its strongest opinion on equality, REJECTED as soon as any opinion rejects. Memory
    and range say nothing of what the values are: they can refuse a link, not make it stronger."""

    name: str
    evidence: tuple[Evidence, ...]

    @property
    def word(self) -> Word:
        if not self.evidence or any(e.word == "REJECTED" for e in self.evidence):
            return "REJECTED"
        return max(
            (e.word for e in self.evidence if e.opinion in EQUALITY), key=_STRENGTH.__getitem__, default="TESTED"
        )

    @property
    def bound(self) -> float | None:
        if self.word == "PROVED":
            return 0.0
        bounds = [e.bound for e in self.evidence if e.bound is not None and e.opinion in EQUALITY]
        return min(bounds) if bounds else None


@dataclass(frozen=True)
class Verdict:
    """The headline is the weakest link's word; the bound is the sum over links (union bound), None where one has none
    or their sum says nothing."""

    links: tuple[Link, ...]
    scope: Literal["all sizes", "these sizes"] = "these sizes"
    notes: tuple[str, ...] = ()

    @property
    def word(self) -> Word:
        if not self.links:
            return "REJECTED"
        return min((link.word for link in self.links), key=_STRENGTH.__getitem__)

    @property
    def bound(self) -> float | None:
        bounds = [link.bound for link in self.links]
        total = sum(SAYS_NOTHING if b is None else b for b in bounds)
        return total if total < SAYS_NOTHING else None

    @property
    def accepted(self) -> bool:
        return self.word != "REJECTED"

    @property
    def headline(self) -> str:
        if self.word == "PROVED":
            return f"PROVED ({self.scope})"
        if self.word == "TESTED":
            return f"TESTED (bound {self.bound:.1e})" if self.bound is not None else "TESTED (no bound)"
        return "REJECTED"

    def to_dict(self) -> dict[str, Any]:
        opinions: dict[str, dict[str, Any]] = {}
        for link in self.links:
            for e in link.evidence:
                opinions.setdefault(e.opinion, {})[link.name] = {
                    "word": e.word,
                    "bound": e.bound,
                    "summary": e.summary,
                    "seconds": round(e.seconds, 4),
                    "details": e.details,
                    "counterexample": asdict(e.counterexample) if e.counterexample else None,
                }
        return {
            "word": self.word,
            "headline": self.headline,
            "scope": self.scope,
            "bound": self.bound,
            "links": {link.name: {"word": link.word, "bound": link.bound} for link in self.links},
            "opinions": opinions,
            "notes": list(self.notes),
            "trusted": list(TRUSTED),
        }
