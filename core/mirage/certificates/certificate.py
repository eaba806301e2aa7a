"""Writes the certificate of a proof: a function and a µGraph, or two functions, as data that the independent checker replays."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from mirage.certificates.find_steps import StepFinder
from mirage.certificates.term_rows import TermRows
from mirage.ir.program import Program
from mirage.meaning.axis_split import split_axis
from mirage.meaning.terms import Terms
from mirage.mugraph.grammar import DTensor, MuGraph
from mirage.mugraph.text import to_text
from mirage.verify.judge import Case
from mirage.verify.semantics.denote import NotDenoted, denote, same_axes
from mirage.verify.two_programs import lowered_together
from mirage_certificate.certificate import FORMAT, SCOPES, VERSION, seal
from mirage_certificate.polynomials import Book, Refused
from mirage_certificate.reading import Table
from mirage_certificate.replay import Condition, Reason, Step, known

Kind = Literal["module", "mugraph", "function"]


class NoCertificate(Exception):
    """No certificate was written, and why."""


@dataclass(frozen=True)
class Side:
    """What one side of a verdict is: the kind of its file, what it is called, the file's bytes."""

    kind: Kind
    name: str
    file: bytes

    def to_json(self) -> dict[str, str]:
        return {"kind": self.kind, "name": self.name, "sha256": hashlib.sha256(self.file).hexdigest()}


@dataclass(frozen=True)
class Pair:
    """Two terms that are equal, and what that shows."""

    shows: str
    first: int
    second: int


@dataclass(frozen=True)
class Statement:
    """What a certificate shows for one row of sizes: pairs of terms over these inputs and axes. `both`: each side has a value
    where the other has."""

    t: Terms
    pairs: Sequence[Pair]
    inputs: Sequence[DTensor]
    axes: Mapping[str, int]
    mugraph: str = ""
    both: bool = False


def of_case(case: Case, carried: MuGraph) -> Statement:
    """That the µGraph of a case computes its function; `carried` is the µGraph as its file has it. Raises NoCertificate."""
    t, graph = case.t, case.inner
    if case.calls:
        raise NoCertificate("it calls PyTorch's own operators, which the certificate's terms do not hold")
    try:
        meaning = denote(t, graph)
        pairs = []
        names = {x.name: y.name for x, y in zip(graph.outputs, carried.outputs, strict=True)}
        for o in case.targets:
            target = o.term
            for axis, (part, rest) in meaning.splits.items():
                target = split_axis(t, target, axis, part, rest)
            term, have = meaning.outputs[o.tensor]
            pairs.append(Pair(names[o.tensor], target, same_axes(t, term, have, o.dims)))
    except NotDenoted as e:
        raise NoCertificate(f"the µGraph has no term: {e}") from None
    pairs += [Pair(f"update-law-of-{o.accumulator}", o.left, o.right) for o in meaning.obligations]
    axes = {**t.sizes, **dict(graph.axes)}
    for axis, (part, rest) in meaning.splits.items():
        axes[rest] = -(-axes[axis] // axes[part])
    return Statement(t, pairs, graph.inputs, axes, to_text(carried))


def of_functions(a: Program, b: Program) -> Statement:
    """That two functions compute the same. Raises what their lowering raises."""
    lowered = lowered_together(a, b)
    n = len(a.outputs)
    both = zip(lowered.outputs[:n], lowered.outputs[n : 2 * n], strict=True)
    pairs = [Pair(f"output-{i}", x, y) for i, ((x, _), (y, _)) in enumerate(both)]
    return Statement(lowered.terms, pairs, lowered.tensors, lowered.terms.sizes, both=True)


def certificate(first: Side, second: Side, statements: Sequence[Statement]) -> dict[str, Any]:
    """The certificate as data. Raises NoCertificate where no steps were found that the checker replays."""
    rows = []
    for s in statements:
        found = _row(s, SCOPES[0])
        if found is None and s.both:
            found = _row(s, SCOPES[1])
        if found is None:
            raise NoCertificate("no steps were found by the laws that the checker has")
        rows.append(found)
    data = {
        "format": FORMAT, "version": VERSION, "first": first.to_json(), "second": second.to_json(), "rows": rows,
    }  # fmt: skip
    return resealed(data)


def resealed(data: dict[str, Any]) -> dict[str, Any]:
    """The data with the seal that fits it."""
    return {**data, "seal": seal(data)}


def _row(s: Statement, scope: str) -> dict[str, Any] | None:
    """The data of one row of sizes; None if no steps were found."""
    book = Book((x.name for x in s.inputs if x.dtype == "bool"), s.axes if scope == SCOPES[1] else None)
    table = Table(book, s.axes, {x.name: len(x.dims) for x in s.inputs})
    rows, finder = TermRows(s.t, table), StepFinder(book)
    try:
        found = [_equation(rows, finder, p, s.both) for p in s.pairs]
    except Refused as e:
        raise NoCertificate(f"the checker's limits do not hold it: {e}") from None
    if any(e is None for e in found):
        return None
    return {
        "scope": scope, "mugraph": s.mugraph, "inputs": [[x.name, x.dtype, len(x.dims)] for x in s.inputs],
        "axes": dict(s.axes), "terms": table.rows, "equations": found,
    }  # fmt: skip


def _equation(rows: TermRows, finder: StepFinder, pair: Pair, both: bool) -> dict[str, Any] | None:
    sides = [rows.term(x) for x in (pair.first, pair.second)]
    first, second = (rows.table.terms[i] for i in sides)
    conditions = [list(rows.table.conditions(i)) for i in sides]
    facts = known([*conditions[0], *conditions[1]], frozenset(), finder.book)
    steps = finder.prove(finder.book.minus(first, second), facts)
    defined = _reasons(finder, conditions[1], conditions[0])
    defines = _reasons(finder, conditions[0], conditions[1]) if both else []
    if steps is None or defined is None or defines is None:
        return None
    data = {
        "shows": pair.shows, "first": sides[0], "second": sides[1], "steps": [_step(rows, x) for x in steps],
        "defined": [_reason(rows, r) for r in defined],
    }  # fmt: skip
    return {**data, "defines": [_reason(rows, r) for r in defines]} if both else data


def _reasons(finder: StepFinder, wanted: Sequence[Condition], given: Sequence[Condition]) -> list[Reason] | None:
    """A reason for each condition on a term; None if one has none."""
    groups: dict[tuple[str, Any], list[Condition]] = {}
    for c in wanted:
        groups.setdefault((c.needs, c.term), []).append(c)
    found = [finder.reason(same, given) for same in groups.values()]
    return None if any(r is None for r in found) else [r for r in found if r is not None]


def _step(rows: TermRows, step: Step) -> dict[str, Any]:
    letters = {
        k: v if isinstance(v, int) else sorted(v) if k.isupper() else rows.polynomial(v)
        for k, v in step.letters.items()
    }
    data = {"law": step.law, "at": rows.polynomial(step.at), "with": letters}
    return {**data, "turned": True} if step.turned else data


def _reason(rows: TermRows, reason: Reason) -> dict[str, Any]:
    because: Any = "sign"
    if reason.source is not None:
        because = {
            "first": rows.polynomial(reason.source), "factor": rows.polynomial(reason.factor),
            "steps": [_step(rows, x) for x in reason.steps],
        }  # fmt: skip
    return {"needs": reason.condition.needs, "of": rows.polynomial(reason.condition.term), "because": because}
