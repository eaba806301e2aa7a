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
from mirage_certificate.reading import Table, listed, name, parsed, record, whole
from mirage_certificate.replay import discharge, known, replay

FORMAT, VERSION = "mirage certificate", 1
KINDS, SCOPES = ("module", "mugraph", "function"), ("all sizes", "these sizes")


@dataclass(frozen=True)
class Equation:
    """What one equation shows, the number of its steps and of its side conditions."""

    shows: str
    steps: int
    conditions: int


def seal(data: dict[str, Any]) -> str:
    """The digest of a certificate without its seal: it shows damage, and is no signature."""
    return hashlib.sha256(json.dumps({k: data[k] for k in data if k != "seal"}, sort_keys=True).encode()).hexdigest()


def check(certificate: bytes, first: bytes | None = None, second: bytes | None = None) -> list[Equation]:
    """Replays a certificate; `first` and `second` are the bytes of the two files, if they are at hand. Raises Refused."""
    try:
        data = record(parsed(certificate), "format version seal first second rows", "lean")
        need(data["format"] == FORMAT and data["version"] is not True and data["version"] == VERSION, "another format")
        unchanged = data["seal"] == seal(data) and isinstance(data.get("lean", ""), str)
        need(unchanged, "it was changed after it was written")
        sides = [record(data[k], "kind name sha256") for k in ("first", "second")]
        for side, file in zip(sides, (first, second), strict=True):
            need(side["kind"] in KINDS and isinstance(side["name"], str), "a side that is none")
            need(file is None or side["sha256"] == hashlib.sha256(file).hexdigest(), f"it is of another {side['kind']}")
        text = None if second is None else second.decode("utf-8", "replace")
        found = [e for row in listed(data["rows"], 64) for e in _row(row, sides[1]["kind"], text)]
        need(bool(found), "it shows nothing")
        return found
    except (RecursionError, MemoryError, OverflowError, ZeroDivisionError) as e:
        raise Refused(f"it is too large: {type(e).__name__}") from None


def _row(data: Any, kind: str, second: str | None) -> list[Equation]:
    """One row of sizes: its equations, replayed."""
    row = record(data, "scope mugraph inputs axes terms equations")
    axes = {name(k): whole(v, 1, 1 << 40) for k, v in record(row["axes"], "", None).items()}
    inputs = [listed(x, 3) for x in listed(row["inputs"], 1000)]
    need(all(len(x) == 3 for x in inputs) and len({name(x[0]) for x in inputs}) == len(inputs), "an input is missing")
    need((kind == "function") == (row["mugraph"] == "") and isinstance(row["mugraph"], str), "a µGraph is missing")
    _agrees(row["mugraph"], axes, [x[1] for x in inputs])
    need(second is None or kind == "function" or _carried(row["mugraph"], second), "the file holds another µGraph")
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
    steps = tuple(map(table.step, listed(row["steps"])))
    conditions = [list(table.conditions(i)) for i in sides]
    reasons = [tuple(map(table.reason, listed(row[k], 2000))) for k in ("defined", "defines") if k in row]
    for more, wanted, given in zip(reasons, conditions[::-1], conditions, strict=False):
        discharge(table.book, wanted, given, more)
    replay(
        table.book,
        table.book.minus(first, second),
        steps,
        known([*conditions[0], *conditions[1]], frozenset(), table.book),
    )
    return Equation(name(row["shows"]), len(steps), sum(map(len, reasons)))


def _agrees(mugraph: str, axes: dict[str, int], dtypes: list[Any]) -> None:
    """Raises Refused where the lengths and the inputs' dtypes are not those that the µGraph's text states."""
    said = dict(x.split("=") for x in " ".join(re.findall(r"(?m)^axes (.*)$", mugraph)).split() if x.count("=") == 1)
    need(all(str(axes.get(a)) == n for a, n in said.items()), "an axis has another length in the µGraph")
    need(mugraph == "" or re.findall(r"(?m)^input \S+ (\S+) ", mugraph) == dtypes, "the µGraph has other inputs")


def _wanted(mugraph: str) -> list[str]:
    """What must be shown of a µGraph: its outputs, and the update law of each accumulator that is carried."""
    laws = re.findall(r"(?m)^ +([^\s\[]+)\[[^\]]*\] (?:\+=|max=) .* carrying ", mugraph)
    return re.findall(r"(?m)^output (\S+) ", mugraph) + [f"update-law-of-{x}" for x in laws]


def _carried(mugraph: str, file: str) -> bool:
    """Does a file hold this µGraph: as it is, as JSON, or as a module's comments, whose long lines are folded?"""
    plain = re.sub(r"(?m)^# ", "", file.replace("\n# ... ", " "))
    return file.lstrip().startswith("{") or " ".join(mugraph.split()) in " ".join(plain.split())


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="mirage_certificate", description=check.__doc__)
    parser.add_argument("certificate")
    parser.add_argument("--first", help="the file of the first side, whose digest is compared")
    parser.add_argument("--second", help="the file of the second side, whose digest is compared")
    asked = parser.parse_args(arguments)
    try:
        files = [None if x is None else Path(x).read_bytes() for x in (asked.first, asked.second)]
        found = check(Path(asked.certificate).read_bytes(), *files)
    except (Refused, OSError) as e:
        print(f"REFUSED  {e}", file=sys.stderr)
        return 3
    print("REPLAYED", asked.certificate, "(digests not compared: give --first and --second)" if None in files else "")
    for x in found:
        print(f"  {x.shows}: {x.steps} steps, {x.conditions} side conditions")
    return 0
