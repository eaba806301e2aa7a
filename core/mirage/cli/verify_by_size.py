"""Verdicts of `mirage verify` by sizes: pairs the rows of two sides that are each made for one or more sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from mirage.codegen.size_table import headline
from mirage.errors import ModuleUnreadable
from mirage.pipeline.by_size import strength
from mirage.results.certificate import CertificateState
from mirage.results.codec import unstructure
from mirage.results.verdict import Verdict
from mirage.verify import report

if TYPE_CHECKING:
    from mirage.cli.verify_subjects import Subject


@dataclass(frozen=True)
class JudgedRow:
    """A verdict for each row of sizes that both sides have, with its shapes; `missing`: rows that only one side has, with the
    side that has none. `subjects`: both sides of each row; `certificate`: of all rows, where one was asked for."""

    left: str
    right: str
    rows: tuple[tuple[str, Verdict], ...]
    missing: tuple[tuple[str, str], ...] = ()
    subjects: tuple[tuple[Subject, Subject], ...] = ()
    certificate: CertificateState | None = None

    @property
    def weakest(self) -> Verdict:
        return min((v for _, v in self.rows), key=strength)

    def to_dict(self) -> dict[str, object]:
        """The weakest row's verdict, and where there are several rows all of them."""
        data: dict[str, object] = unstructure(self.whole)
        if self.certificate is not None:
            data["certificate"] = asdict(self.certificate)
        if self.single:
            return data
        every = [{"inputs": shapes, **unstructure(v)} for shapes, v in self.rows]
        return data | {"rows": every, "not_judged": [x for x, _ in self.missing]}

    @property
    def single(self) -> bool:
        return len(self.rows) + len(self.missing) == 1

    @property
    def whole(self) -> Verdict:
        """The weakest row's verdict, with what is said of the other rows among its notes."""
        found = self.weakest
        return found if self.single else replace(found, notes=(*found.notes, *self.said()))

    def said(self) -> list[str]:
        """A line for each row."""
        found = [f"{shapes}: {v.headline}" for shapes, v in self.rows]
        return found + [f"{shapes}: not judged, {side} has no kernel for it" for shapes, side in self.missing]

    def lines(self) -> list[str]:
        """For a terminal."""
        last = [] if self.certificate is None else self.certificate.lines
        if self.single:
            return report.lines(self.rows[0][1], self.left, self.right) + last
        out = []
        for shapes, v in self.rows:
            out += [f"{shapes}: {v.headline}", *report.lines(v, self.left, self.right)[1:]]
        word = f"the weakest of {len(self.rows)} sizes" if len(self.rows) > 1 else "one size"
        left_out = [x for x in self.said() if ": not judged, " in x]
        return [f"{self.left} and {self.right}: {self.weakest.headline} ({word})", *out, *left_out, *last]


def pairs(
    lefts: Sequence[Subject], rights: Sequence[Subject]
) -> tuple[list[tuple[Subject, Subject]], list[tuple[str, str]]]:
    """(the rows of both sides that are for the same inputs, those of one side alone as its shapes and the other side's
    label). Kernels without sizes of their own go with every row, and so does a module that is refused. Where no two are for the
    same inputs, the last of both: what judges them says why they do not fit. Raises ModuleUnreadable where nothing can be judged
    by the left side, since it is such a module."""
    first = lefts[-1]
    if first.refused is not None:
        raise ModuleUnreadable(f"{first.label} is no module to judge by: {first.refused.summary}", path=first.label)
    if rights[-1].kind == "kernels" or rights[-1].refused is not None:  # for any inputs
        return [(a, rights[-1]) for a in lefts], []
    found = [(a, b) for a in lefts for b in rights if alike(a, b)]
    if not found:
        return [(lefts[-1], rights[-1])], []
    missing = [(shapes(a), rights[-1].label) for a in lefts if not any(a is x for x, _ in found)]
    missing += [(shapes(b), lefts[-1].label) for b in rights if not any(b is x for _, x in found)]
    return found, missing


def alike(a: Subject, b: Subject) -> bool:
    """Are both for inputs of the same shapes and dtypes, by name, or else by place?"""
    x, y = a.inputs, b.inputs
    if set(y) <= set(x):
        return all(x[n] == y[n] for n in y)
    return list(x.values()) == list(y.values())


def shapes(s: Subject) -> str:
    return headline(list(s.inputs.values()))
