"""What `mirage verify` found: a verdict for each row of sizes, as data and for a terminal."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from mirage.results.certificate import CertificateState
from mirage.results.codec import unstructure
from mirage.results.verdict import Verdict, strength
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
