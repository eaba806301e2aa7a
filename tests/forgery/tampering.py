"""Certificates that hold, changed in one place each: every change makes one that must be refused."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

from forgery.forged import Data, sealed

from mirage_certificate.laws import LAWS

ORDERED = {"where", "lt", "le"}


def tampered(good: Data) -> Iterator[tuple[str, bytes]]:
    """(what was changed, the bytes), each sealed again, as an attacker would."""
    for name, data in _changes(good):
        yield name, sealed(data)
    damaged = copy.deepcopy(good)
    damaged["first"]["name"] += "x"
    yield "a name, the seal left", json.dumps(damaged).encode()


def _changes(good: Data) -> Iterator[tuple[str, Data]]:
    for key in good:
        if key != "seal":
            yield f"without {key}", {k: v for k, v in good.items() if k != key}
    yield "a field more", {**good, "trusted": True}
    yield "no rows", {**good, "rows": []}
    yield "another format", {**good, "format": "certificate"}
    for side in ("first", "second"):
        yield f"digest of the {side} side", {**good, side: {**good[side], "sha256": "0" * 64}}
        yield f"kind of the {side} side", {**good, side: {**good[side], "kind": "proof"}}
    for i, row in enumerate(good["rows"]):
        for name, changed in _in_row(row):
            data = copy.deepcopy(good)
            data["rows"][i] = changed
            yield name, data


def _in_row(row: Data) -> Iterator[tuple[str, Data]]:
    for key in row:
        yield f"a row without {key}", {k: v for k, v in row.items() if k != key}
    yield "a row with a field more", {**row, "proved": True}
    for axis, n in row["axes"].items():
        if f"{axis}={n}" in row["mugraph"]:
            yield f"length of {axis}", {**row, "axes": {**row["axes"], axis: n + 1}}
    for i, (name, dtype, rank) in enumerate(row["inputs"]):
        inputs = copy.deepcopy(row["inputs"])
        inputs[i] = [name, "bool" if dtype != "bool" else "fp32", rank]
        yield f"dtype of {name}", {**row, "inputs": inputs}
        yield f"without the input {name}", {**row, "inputs": inputs[:i] + inputs[i + 1 :]}
    for i, equation in enumerate(row["equations"]):
        rest = row["equations"][:i] + row["equations"][i + 1 :]
        yield f"without the equation of {equation['shows']}", {**row, "equations": rest}
        for name, changed in _in_equation(equation, len(row["terms"])):
            yield name, {**row, "equations": [*row["equations"][:i], changed, *row["equations"][i + 1 :]]}
        for name, terms in _in_terms(row["terms"], equation["second"], equation["first"]):
            yield name, {**row, "terms": terms}


def _in_equation(e: Data, rows: int) -> Iterator[tuple[str, Data]]:
    for key in e:
        yield f"an equation without {key}", {k: v for k, v in e.items() if k != key}
    yield "an equation with a field more", {**e, "why": "trust me"}
    yield "an equation of another name", {**e, "shows": "another"}
    yield "a side beyond the terms", {**e, "second": rows}
    if e["steps"]:
        yield "no steps", {**e, "steps": []}
        yield "the steps twice", {**e, "steps": [*e["steps"], *e["steps"]]}
    for i, step in enumerate(e["steps"]):
        rest = e["steps"][:i] + e["steps"][i + 1 :]
        yield f"without step {i}", {**e, "steps": rest}
        for name, changed in _in_step(step, rows):
            yield f"step {i}: {name}", {**e, "steps": [*e["steps"][:i], changed, *e["steps"][i + 1 :]]}
    for i, reason in enumerate(e["defined"]):
        rest = e["defined"][:i] + e["defined"][i + 1 :]
        yield f"without side condition {i}", {**e, "defined": rest}
        for name, changed in _in_reason(reason):
            yield f"side condition {i}: {name}", {**e, "defined": [*rest, changed]}


def _in_step(step: Data, rows: int) -> Iterator[tuple[str, Data]]:
    yield "a law that does not exist", {**step, "law": "the sides are equal"}
    other = next(n for n, law in LAWS.items() if n != step["law"] and law.letters != set(step["with"]))
    yield "another law", {**step, "law": other}
    yield "another position", {**step, "at": (step["at"] + 1) % rows}
    yield "no position", {**step, "at": rows}
    yield "a field more", {**step, "trusted": True}
    if "turned" in step:
        yield "the other direction", {k: v for k, v in step.items() if k != "turned"}
    else:
        yield "the other direction", {**step, "turned": True}
    for letter in step["with"]:
        yield f"without {letter}", {**step, "with": {k: v for k, v in step["with"].items() if k != letter}}
    yield "a letter more", {**step, "with": {**step["with"], "q": 0}}


def _in_reason(reason: Data) -> Iterator[tuple[str, Data]]:
    yield "of another term", {**reason, "of": 0}
    yield "another need", {**reason, "needs": "is nice"}
    yield "another reason", {**reason, "because": "trust me"}
    yield "a field more", {**reason, "trusted": True}


def _in_terms(terms: list[list[Any]], second: int, first: int) -> Iterator[tuple[str, list[list[Any]]]]:
    """Changes of the second side's own rows: those that the first side does not read."""
    own = _read(terms, second) - _read(terms, first)
    for i in sorted(own):
        row = terms[i]
        for name, changed in _in_term(row):
            yield f"row {i}: {name}", [*terms[:i], changed, *terms[i + 1 :]]


def _in_term(row: list[Any]) -> Iterator[tuple[str, list[Any]]]:
    kind = row[0]
    if kind == "num":
        yield "another number", ["num", "7/11" if row[1] != "7/11" else "7/13"]
    if kind == "in" and "#" not in row[1]:  # a law of updates holds for any values, so under any names
        yield "another input", ["in", f"{row[1]}_other", row[2]]
        yield "an offset", ["in", row[1], [[axes, o + 1] for axes, o in row[2]]]
    if kind == "fn" and row[1] in ORDERED:
        yield "operands change places", ["fn", row[1], *row[:1:-1]]
    if kind == "fn":
        yield "another function", ["fn", f"{row[1]}_other", *row[2:]]
    if kind in ("sum", "max"):
        yield "another reduction", ["max" if kind == "sum" else "sum", *row[1:]]
    if kind in ("add", "mul"):
        yield "another operator", ["mul" if kind == "add" else "add", *row[1:]]
        yield "an operand less", row[:-1]
    if kind in ("inv", "exp", "sqrt"):
        yield "another function", ["sqrt" if kind == "exp" else "exp", *row[1:]]


def _read(terms: list[list[Any]], root: int) -> set[int]:
    """The rows that one reads."""
    seen, todo = {root}, [root]
    while todo:
        row = terms[todo.pop()]
        parts = {"fn": row[2:], "sum": row[2:], "max": row[2:], "pow": row[1:2]}.get(row[0], row[1:])
        for k in parts if row[0] not in ("in", "num", "lit", "ninf", "size", "index") else ():
            if k not in seen:
                seen.add(k)
                todo.append(k)
    return seen
