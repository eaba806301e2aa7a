"""What `mirage verify FUNCTION MODULE` says of Triton modules as people write them: right ones, and each with one fault.

    python benchmarks/handwritten.py [--json] [--match 'matmul*'] [--every N] [--jobs N] [--out FILE]

The modules are those of tests/handwritten, each certified in Triton's interpreter (`python -m handwritten.certify` in tests/). Rows:
right/ANSWER and wrong/ANSWER, how many were accepted, rejected, undecided, refused with a coded error, or ended in another exception;
right_accepted, the share of the right ones, wrong_accepted, of those whose fault can be seen in a run, unseen_accepted, of the others;
and the times of a verdict.
"""

from __future__ import annotations

import argparse
import datetime
import fnmatch
import json
import statistics
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "core"), str(ROOT / "tests")]

from handwritten.case import case, names  # noqa: E402

from mirage.isolate.cores import usable_cores  # noqa: E402

ANSWERS = ("accepted", "rejected", "undecided", "refused", "crashed")


@dataclass(frozen=True)
class Question:
    """A module of a case; `expected`: "right", "wrong", or "unseen" for a fault that no run in an interpreter shows."""

    name: str
    expected: str
    function: str
    module: str


@dataclass(frozen=True)
class Answer:
    name: str
    expected: str
    answer: str
    said: str
    seconds: float


def questions(match: str, every: int) -> list[Question]:
    """The right module of each case, and its wrong ones (one in `every`)."""
    found, seen = [], 0
    for name in names():
        if not fnmatch.fnmatch(name, match):
            continue
        row = case(name)
        found.append(Question(name, "right", row.function, row.module))
        for fault in row.faults:
            if seen % every == 0:
                expected = "unseen" if fault.unseen else "wrong"
                found.append(Question(f"{name}/{fault.name}", expected, row.function, row.wrong(fault)))
            seen += 1
    return found


def answer(q: Question) -> Answer:
    from click.testing import CliRunner

    from mirage.cli.verify import verify
    from mirage.errors import MirageError

    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        function, module = Path(folder) / "function.py", Path(folder) / "module.py"
        function.write_text(q.function)
        module.write_text(q.module)
        result = CliRunner().invoke(verify, [str(function), str(module)])
    said = [line.strip() for line in result.output.splitlines() if line.strip()]
    if result.exit_code == 0:
        kind = "accepted"
    elif isinstance(result.exception, MirageError):
        kind, said = "refused", [str(result.exception)]
    elif isinstance(result.exception, SystemExit):
        kind = "rejected" if said and "REJECTED" in said[0] else "undecided"
    else:
        kind, said = "crashed", [repr(result.exception)]
    why = next((x for x in said if "REJECTED" in x or "UNDECIDED" in x), said[0] if said else "")
    return Answer(q.name, q.expected, kind, why[:300], round(time.perf_counter() - begun, 2))


def row(name: str, value: float, unit: str = "", bound: str | None = None, ok: bool = True) -> dict[str, Any]:
    return {"name": name, "value": value, "unit": unit, "bound": bound, "ok": ok}


def rows_of(found: list[Answer]) -> list[dict[str, Any]]:
    rows = []
    of = {kind: [x for x in found if x.expected == kind] for kind in ("right", "wrong", "unseen")}
    for kind, some in of.items():
        counts = Counter(x.answer for x in some)
        rows += [row(f"{kind}/{word}", counts[word]) for word in ANSWERS]
    if of["right"]:
        share = sum(x.answer == "accepted" for x in of["right"]) / len(of["right"])
        rows.append(row("right_accepted", round(share, 4), "of all", ">= 0.9", share >= 0.9))
    for kind in ("wrong", "unseen"):
        slipped = sum(x.answer == "accepted" for x in of[kind])
        rows.append(row(f"{kind}_accepted", slipped, "", "== 0", not slipped))
    seconds = sorted(x.seconds for x in found)
    rows.append(row("seconds median", statistics.median(seconds), "s"))
    rows.append(row("seconds 95%", seconds[min(len(seconds) - 1, int(0.95 * len(seconds)))], "s"))
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--match", default="*")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=usable_cores())
    parser.add_argument("--out", type=Path, help="each answer")
    args = parser.parse_args()
    asked, found = questions(args.match, args.every), []
    with ProcessPoolExecutor(args.jobs, get_context("spawn")) as pool:
        for x in pool.map(answer, asked):
            found.append(x)
            surprising = x.answer != "accepted" if x.expected == "right" else x.answer == "accepted"
            if surprising:
                print(f"{x.expected}: {x.name}: {x.answer}: {x.said}", file=sys.stderr, flush=True)
            if args.out:
                args.out.write_text(json.dumps([asdict(y) for y in found], indent=1))
    rows = rows_of(found)
    if args.json:
        print(json.dumps({"bench": "handwritten", "date": datetime.date.today().isoformat(), "rows": rows}))
    else:
        for r in rows:
            print(f"{r['name']:28} {r['value']:8} {r['unit']} {'' if r['ok'] else '(MISSED)'}")
    return 0 if all(r["ok"] for r in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
