"""A whole certificate: its terms, equations and digests checked, and the command that does it."""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mirage_certificate.polynomials import Book, Refused, need
from mirage_certificate.reading import Table, listed, mapping, name, parsed, record, whole
from mirage_certificate.replay import discharge, replay

FORMAT, VERSION = "mirage certificate", 1
KINDS, SCOPES = ("module", "mugraph", "function"), ("all sizes", "these sizes")


@dataclass(frozen=True)
class Equation:
    """What one equation shows, the number of its steps and of its side conditions, and both sides as they are written."""

    shows: str
    steps: int
    conditions: int
    sides: tuple[str, str]


@dataclass(frozen=True)
class Checked:
    """What a certificate was found to show of its two sides."""

    first: str
    second: str
    equations: tuple[Equation, ...]


def seal(data: dict[str, Any]) -> str:
    """The digest of a certificate without its seal: it shows damage, and is no signature."""
    plain = json.dumps({k: v for k, v in data.items() if k != "seal"}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(plain.encode()).hexdigest()


def check(text: bytes, first: bytes | None = None, second: bytes | None = None) -> Checked:
    """Replays a certificate; `first` and `second` are the bytes of the two files, if they are at hand. Raises Refused."""
    try:
        return _check(text, first, second)
    except (RecursionError, MemoryError, OverflowError, ZeroDivisionError) as e:
        raise Refused(f"it is too large: {type(e).__name__}") from None


def _check(text: bytes, first: bytes | None, second: bytes | None) -> Checked:
    data = record(parsed(text), "format version seal first second rows")
    need(data["format"] == FORMAT and data["version"] is not True and data["version"] == VERSION, "another format")
    need(data["seal"] == seal(data), "it was changed after it was written")
    sides = [record(data[k], "kind name sha256") for k in ("first", "second")]
    for side, file in zip(sides, (first, second), strict=True):
        need(side["kind"] in KINDS and isinstance(side["name"], str), "a side that is none")
        need(file is None or side["sha256"] == hashlib.sha256(file).hexdigest(), f"it is of another {side['kind']}")
    found: list[Equation] = []
    for row in listed(data["rows"], 64):
        found += _row(row, sides[1]["kind"], None if second is None else second.decode("utf-8", "replace"))
    need(bool(found), "it shows nothing")
    return Checked(sides[0]["name"], sides[1]["name"], tuple(found))


def _row(data: Any, kind: str, second: str | None) -> list[Equation]:
    """One row of sizes: its equations, replayed."""
    row = record(data, "scope mugraph inputs axes terms equations")
    axes = {name(k): whole(v, 1, 1 << 40) for k, v in mapping(row["axes"]).items()}
    inputs = [listed(x, 3) for x in listed(row["inputs"], 1000)]
    need(all(len(x) == 3 for x in inputs) and len({name(x[0]) for x in inputs}) == len(inputs), "an input is missing")
    need((kind == "function") == (row["mugraph"] == "") and isinstance(row["mugraph"], str), "a µGraph is missing")
    _agrees(row["mugraph"], axes, [x[1] for x in inputs])
    need(second is None or kind != "module" or _carried(row["mugraph"], second), "the module carries another µGraph")
    need(row["scope"] in SCOPES, "a scope that is none")
    book = Book((x[0] for x in inputs if x[1] == "bool"), axes if row["scope"] == SCOPES[1] else None)
    table = Table(book, axes, {x[0]: whole(x[2], 0, 64) for x in inputs})
    for term in listed(row["terms"]):
        table.add(term)
    found = [_equation(table, e, kind == "function") for e in listed(row["equations"], 1000)]
    wanted = _wanted(row["mugraph"]) if row["mugraph"] else [f"output-{i}" for i in range(len(found))]
    need(sorted(e.shows for e in found) == sorted(wanted), "an equation is missing, or there is one more")
    return found


def _equation(table: Table, data: Any, both: bool) -> Equation:
    row = record(data, "shows first second steps defined" + " defines" * both)
    sides = [whole(row[k], 0, len(table.rows) - 1) for k in ("first", "second")]
    first, second = (table.terms[i] for i in sides)
    steps = table.steps(row["steps"])
    conditions = [list(table.conditions(i)) for i in sides]
    reasons = [tuple(map(table.reason, listed(row[k], 2000))) for k in ("defined", "defines") if k in row]
    try:
        replay(table.book, table.book.minus(first, second), steps)
        discharge(table.book, iter(conditions[1]), conditions[0], reasons[0])
        for more in reasons[1:]:
            discharge(table.book, iter(conditions[0]), conditions[1], more)
    except Refused as e:
        raise Refused(f"{name(row['shows'])}: {e}") from None
    return Equation(
        name(row["shows"]), len(steps), sum(map(len, reasons)), (table.texts[sides[0]], table.texts[sides[1]])
    )


def _agrees(mugraph: str, axes: dict[str, int], dtypes: list[Any]) -> None:
    """Raises Refused where the lengths and the inputs' dtypes are not those that the µGraph's text states."""
    said = dict(x.split("=") for x in " ".join(re.findall(r"(?m)^axes (.*)$", mugraph)).split() if x.count("=") == 1)
    need(all(str(axes.get(a)) == n for a, n in said.items()), "an axis has another length in the µGraph")
    need(mugraph == "" or re.findall(r"(?m)^input \S+ (\S+) ", mugraph) == dtypes, "the µGraph has other inputs")


def _wanted(mugraph: str) -> list[str]:
    """What must be shown of a µGraph: its outputs, and the update law of each accumulator that is carried."""
    laws = re.findall(r"(?m)^ +([^\s\[]+)\[[^\]]*\] (?:\+=|max=) .* carrying ", mugraph)
    return re.findall(r"(?m)^output (\S+) ", mugraph) + [f"update-law-of-{x}" for x in laws]


def _carried(mugraph: str, text: str) -> bool:
    """Does a module carry this µGraph, as comments whose long lines are folded?"""
    return mugraph.strip() in re.sub(r"(?m)^# ", "", text.replace("\n# ... ", " "))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="mirage_certificate", description=check.__doc__)
    parser.add_argument("certificate")
    parser.add_argument("--first", help="the file of the first side, whose digest is compared")
    parser.add_argument("--show", action="store_true", help="print both sides of each equation, as they are read")
    parser.add_argument("--second", help="the file of the second side, whose digest is compared")
    asked = parser.parse_args(arguments)
    try:
        files = [None if x is None else Path(x).read_bytes() for x in (asked.first, asked.second)]
        found = check(Path(asked.certificate).read_bytes(), *files)
    except (Refused, OSError) as e:
        print(f"REFUSED  {e}", file=sys.stderr)
        return 3
    print(f"REPLAYED {found.first} = {found.second}")
    for x in found.equations:
        print(f"  {x.shows}: {x.steps} steps, {x.conditions} side conditions")
        print("".join(f"    {side}\n" for side in x.sides) * asked.show, end="")
    if None in files:
        print("  the digests were not compared with files: give --first and --second")
    return 0
