"""The three-link verdict: what was shown about a kernel, how, and with which bound (design: algebra, schedule, text)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

from mirage.ir.tensor_spec import TensorSpec
from mirage.results.details import Details, FieldDetails, Sizes, Tiles

Word = Literal["PROVED", "TESTED", "UNDECIDED", "REJECTED"]
LinkName = Literal["algebra", "schedule", "text"]
Opinion = Literal["field", "proof", "float", "memory", "range", "rounding", "structure"]
Scope = Literal["all sizes", "these sizes"]
LINKS: tuple[LinkName, ...] = ("algebra", "schedule", "text")
EQUALITY: tuple[Opinion, ...] = ("field", "proof", "float")  # the opinions on what the values are
TRUSTED = ("Triton and its compiler", "ptxas", "the GPU driver", "IEEE floating-point hardware", "PyTorch's tracer")
PROCESSOR, INTERPRETER = "processor", "Triton's interpreter"  # where evidence comes from, unless a GPU is named
SAYS_NOTHING = 0.5  # a chance from here on is not called a bound
STRENGTH: dict[Word, int] = {"REJECTED": 0, "UNDECIDED": 1, "TESTED": 2, "PROVED": 3}
ACCEPTED: tuple[Word, ...] = ("PROVED", "TESTED")


@dataclass(frozen=True)
class Concrete:
    """Floats on which two programs differ: inputs of a `kind` drawn from `seed` (written out in `values` when they are
    few), the output's index and both values as text, or what the second one raised. `script` is a Python file that
    shows it; without one, `note` says why."""

    inputs: tuple[TensorSpec, ...] = ()
    kind: str = ""
    seed: int = 0
    sizes: Sizes = field(default_factory=dict)
    tiles: Tiles = field(default_factory=dict)
    output: int = 0
    index: tuple[int, ...] = ()
    expected: str = ""
    actual: str = ""
    error: str = ""
    values: tuple[object, ...] = ()
    script: str = ""
    note: str = ""


@dataclass(frozen=True)
class Counterexample:
    """Where two programs differ: the seed that makes the inputs, the output's index, and both values as text.
    `concrete`: the same in floats, where that was looked for."""

    opinion: Opinion
    output: int
    index: tuple[int, ...]
    expected: str
    actual: str
    sizes: Sizes = field(default_factory=dict)
    seed: int = 0
    concrete: Concrete | None = None


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What one opinion says of one link. `output`: the number of the only output it looked at; None where it looked at all
    of them together. `bound` is the probability that a wrong program passes (0 for a proof, None where no theorem gives
    one); `where` it ran, `details` are figures for people."""

    link: LinkName
    opinion: Opinion
    word: Word
    summary: str
    output: int | None = None
    bound: float | None = None
    seconds: float = 0.0
    details: Details | None = None
    counterexample: Counterexample | None = None
    where: str = PROCESSOR

    def of_output(self, output: int) -> Evidence:
        """The same about one output of several, by an opinion that was asked about this one alone."""
        shown = self.counterexample
        return replace(self, output=output, counterexample=None if shown is None else replace(shown, output=output))


@dataclass(frozen=True)
class Link:
    """One link's verdict on a program with so many `outputs`: REJECTED as soon as any opinion rejects, else as strong as
    the weakest output. Memory, range, rounding and structure say nothing of what the exact values are: they can refuse a link, not
    make it stronger."""

    name: LinkName
    evidence: tuple[Evidence, ...]
    outputs: int = 1

    def about(self, output: int) -> list[Evidence]:
        """The opinions on what the values of one output are."""
        return [e for e in self.evidence if e.opinion in EQUALITY and e.output in (None, output)]

    @property
    def word(self) -> Word:
        """Of each output its strongest opinion; of the outputs the weakest. An output of which nothing was shown is refused.
        UNDECIDED says that what the others show is not enough."""
        words = {e.word for e in self.evidence}
        if not words <= set(ACCEPTED):
            return min(words, key=STRENGTH.__getitem__)
        found: list[Word] = [
            max((e.word for e in self.about(i)), key=STRENGTH.__getitem__, default="REJECTED")
            for i in range(self.outputs)
        ]
        return min(found, key=STRENGTH.__getitem__, default="REJECTED")

    @property
    def bound(self) -> float | None:
        """The least of the opinions on all outputs together, and of the sum over outputs (union bound) of the least bound
        of each: a wrong program passes every opinion, so any one of them bounds its chance."""
        if self.word not in ACCEPTED:
            return None
        together = _least(e.bound for e in self.evidence if e.opinion in EQUALITY and e.output is None)
        single = [_least(e.bound for e in self.about(i) if e.output is not None) for i in range(self.outputs)]
        return _least([together, _sum(single)])


@dataclass(frozen=True)
class Verdict:
    """All evidence on a program with so many `outputs`. The headline is the weakest link's word; the bound is the sum over
    links (union bound), None where one has none or their sum says nothing. `finite`: nothing is claimed of infinite and NaN
    inputs; `upto`: and nothing of inputs that are larger in size; `only`: inputs of integers and what they hold, since on others one side
    raises an error, or wraps around, where the other has a value."""

    evidence: tuple[Evidence, ...]
    outputs: int = 1
    scope: Scope = "these sizes"
    notes: tuple[str, ...] = ()
    finite: bool = False
    upto: float | None = None
    only: tuple[str, ...] = ()

    @property
    def links(self) -> tuple[Link, ...]:
        """The links that anything was said of, in their order."""
        found = ((name, tuple(e for e in self.evidence if e.link == name)) for name in LINKS)
        return tuple(Link(name, evidence, self.outputs) for name, evidence in found if evidence)

    def word_of(self, link: LinkName) -> Word | None:
        """The word of one link; None where nothing was said of it."""
        return next((x.word for x in self.links if x.name == link), None)

    @property
    def word(self) -> Word:
        return min((link.word for link in self.links), key=STRENGTH.__getitem__, default="REJECTED")

    @property
    def bound(self) -> float | None:
        return _sum([link.bound for link in self.links]) if self.accepted else None

    @property
    def accepted(self) -> bool:
        return self.word in ACCEPTED

    @property
    def rejections(self) -> tuple[Evidence, ...]:
        """The evidence that refuses it, in the order of the links."""
        return tuple(e for link in self.links for e in link.evidence if e.word not in ACCEPTED)

    @property
    def headline(self) -> str:
        inputs = ", finite inputs" if self.finite or self.upto is not None else ""
        inputs += "" if self.upto is None else f" up to {self.upto:.0e}".replace("e+", "e")
        inputs += "".join(f", {x}" for x in self.only)
        if self.word == "PROVED":
            return f"PROVED ({self.scope}{inputs})"
        if self.word == "TESTED":
            given = sorted({x for e in self.evidence if isinstance(e.details, FieldDetails) for x in e.details.given})
            drawn = f" given the {' and '.join(given)}" if given else ""
            bound = "no bound" if self.bound is None else f"bound {self.bound:.1e}{drawn}"
            return f"TESTED ({bound}{inputs})"
        return self.word


def _least(bounds: Iterable[float | None]) -> float | None:
    return min((b for b in bounds if b is not None), default=None)


def _sum(bounds: Iterable[float | None]) -> float | None:
    """None where one has none, or where all together say nothing."""
    total = math.fsum(SAYS_NOTHING if b is None else b for b in bounds)
    return total if total < SAYS_NOTHING else None


def strength(v: Verdict) -> tuple[int, float, bool]:
    """Verdicts in order, the weakest first."""
    return STRENGTH[v.word], -1.0 if v.bound is None else -v.bound, v.scope == "all sizes"
