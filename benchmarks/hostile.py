"""What `mirage verify` says of hostile pairs of functions, by class: those that differ, and those that are equal.

    python benchmarks/hostile.py [--json] [--match 'threshold/*'] [--every N] [--seconds S] [--jobs N] [--out FILE]

With --out the report is written as it grows, and what is in the file is not judged again; after --seconds no further pair is begun.

The pairs are those of tests/hostile, each confirmed by PyTorch itself (tests/hostile/test_hostile_certified.py). Rows
hostile/CLASS/ANSWER: how many of the class were accepted, limited (accepted, and a line of the verdict names what the function asks
of its tensors or of PyTorch, or its headline says `finite inputs` or `finite inputs up to 1e18` and the pair differs on others
alone), rejected, undecided, refused with a coded error, or ended in another exception. No pair that differs may be accepted, and
none that is equal rejected; of the equal ones at most 5% may be undecided or refused, all classes together: `..., finite inputs`
too, whose pairs differ where an input is infinite or NaN.
"""

from __future__ import annotations

import argparse
import datetime
import fnmatch
import json
import platform
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "core"), str(ROOT / "tests")]

from hostile.certify import alike_outside, shown_beyond, shown_outside  # noqa: E402
from hostile.every_pair import PAIRS  # noqa: E402
from hostile.pair import Pair  # noqa: E402

from mirage.cli import verify_by_size, verify_subjects  # noqa: E402
from mirage.cli.judged_row import JudgedRow  # noqa: E402
from mirage.cli.verify import judged  # noqa: E402
from mirage.errors import MirageError  # noqa: E402
from mirage.isolate.cores import usable_cores  # noqa: E402
from mirage.isolate.runner import Worker  # noqa: E402
from mirage.results.verdict import Verdict  # noqa: E402

ANSWERS = ("accepted", "limited", "rejected", "undecided", "refused", "crashed")
WORST = {"differ": "accepted", "equal": "rejected"}
UNDECIDED_SHARE = 0.05
BEYOND = ", finite inputs"  # of equal pairs that differ where an input is infinite or NaN
TOGETHER = 4  # pairs that a process judges one after the other
SAVED_S = 10  # from one writing of the report to the next


@dataclass(frozen=True)
class Answer:
    """What was said of one pair, in which of the `ANSWERS`, and how long it took."""

    group: str
    name: str
    expected: str
    answer: str
    said: str
    seconds: float


@cache
def worker() -> Worker:
    """The process that traces and runs for this one."""
    return Worker(env={"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"})


def verdict(pair: Pair) -> JudgedRow:
    """The verdict of `mirage verify A B` on files with the two functions."""
    with tempfile.TemporaryDirectory() as folder:
        places = []
        for name, body in (("a.py", pair.a), ("b.py", pair.b)):
            places.append(Path(folder) / name)
            places[-1].write_text(pair.decorated(body), "utf-8")
        lefts, rights = (verify_subjects.rows(str(place), worker()) for place in places)
        both, missing = verify_by_size.pairs(lefts, rights)
        rows = tuple((verify_by_size.shapes(x), judged(x, y, worker())) for x, y in both)
        return JudgedRow("A", "B", rows, tuple(missing))


def outside(pair: Pair, said: Verdict) -> bool:
    """Does the pair differ on inputs alone of which the headline claims nothing?"""
    if pair.expected == "equal" or not said.finite:
        return False
    return shown_outside(pair) or (said.upto is not None and shown_beyond(pair, said.upto))


def answer(pair: Pair) -> Answer:
    """One pair's answer. Any exception that is no coded error is counted too: it is a fault of its own."""
    begun = time.perf_counter()
    group = pair.group
    if pair.expected == "equal" and not alike_outside(pair):
        group += BEYOND
    try:
        found = verdict(pair)
        word, said = found.weakest.word, found.weakest.headline
        kind = "rejected" if word == "REJECTED" else "undecided"
        if found.weakest.accepted:
            named = bool(pair.asked) and pair.asked in "\n".join(found.lines()).lower()
            kind = "limited" if named or outside(pair, found.weakest) else "accepted"
    except MirageError as e:
        kind, said = "refused", f"{e.code} {e.message}"
    except Exception as e:
        kind, said = "crashed", f"{type(e).__name__}: {e}"
    return Answer(group, pair.name, pair.expected, kind, said[:160], round(time.perf_counter() - begun, 3))


def chosen(match: str, every: int) -> list[Pair]:
    """The pairs that match, one in `every` of each class."""
    found = [pair for pair in PAIRS if fnmatch.fnmatch(f"{pair.group}/{pair.name}", match)]
    seen: Counter[str] = Counter()
    kept = []
    for pair in found:
        if seen[pair.group] % every == 0:
            kept.append(pair)
        seen[pair.group] += 1
    return kept


def answered(pairs: Sequence[Pair], until: float) -> list[Answer]:
    """Those of some pairs, as many as are begun by that time of the machine's clock."""
    return [answer(pair) for pair in pairs if time.time() < until]


def answers(pairs: Sequence[Pair], jobs: int, until: float) -> Iterator[Sequence[Answer]]:
    """Those of all pairs; in several processes a few at a time, from all classes, so that what is left out when the time is up is a
    sample."""
    if jobs == 1:
        yield from (answered([pair], until) for pair in pairs)
        return
    step = -(-len(pairs) // TOGETHER)
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        waiting = [pool.submit(answered, pairs[first::step], until) for first in range(step)]
        yield from (x.result() for x in as_completed(waiting))


def row(name: str, value: float, unit: str, bound: str | None, ok: bool) -> dict[str, Any]:
    return {"name": name, "value": value, "unit": unit, "bound": bound, "ok": ok}


def rows_of(found: Sequence[Answer]) -> list[dict[str, Any]]:
    """A row for each class and answer, then the totals that have a bound, then the times."""
    rows = []
    for group in dict.fromkeys(x.group for x in found):
        mine = [x for x in found if x.group == group]
        counts, worst = Counter(x.answer for x in mine), WORST[mine[0].expected]
        for kind in ANSWERS:
            none = kind in (worst, "crashed")
            rows.append(
                row(f"hostile/{group}/{kind}", counts[kind], "", "== 0" if none else None, not (none and counts[kind]))
            )
    equal = [x for x in found if x.expected == "equal"]
    if equal:
        share = sum(x.answer in ("undecided", "refused") for x in equal) / len(equal)
        rows.append(
            row("hostile/equal/undecided share", round(share, 4), "", f"<= {UNDECIDED_SHARE}", share <= UNDECIDED_SHARE)
        )
    seconds = sorted(x.seconds for x in found)
    rows.append(row("hostile/seconds/median", round(statistics.median(seconds), 2), "s", None, True))
    rows.append(row("hostile/seconds/p95", round(seconds[int(0.95 * (len(seconds) - 1))], 2), "s", None, True))
    return rows


def table(found: Sequence[Answer]) -> list[str]:
    """The classes against the answers, then each pair that was answered wrongly."""
    lines = [f"| class | should | {' | '.join(ANSWERS)} |", "|---|---|" + "---:|" * len(ANSWERS)]
    for group in dict.fromkeys(x.group for x in found):
        mine = [x for x in found if x.group == group]
        counts = Counter(x.answer for x in mine)
        lines.append(f"| {group} | {mine[0].expected} | {' | '.join(str(counts[x]) for x in ANSWERS)} |")
    wrong = [x for x in found if x.answer in (WORST[x.expected], "crashed")]
    return [*lines, *(f"{x.answer}: {x.group}/{x.name}: {x.said}" for x in wrong)]


def report_of(found: Sequence[Answer], kept: bool) -> dict[str, Any]:
    """The report; `kept`: with the answers themselves, from which a later run goes on."""
    return {
        "bench": "hostile", "date": datetime.date.today().isoformat(), "device": platform.machine(),
        "versions": {"torch": version("torch"), "python": platform.python_version()}, "rows": rows_of(found),
        **({"pairs": [asdict(x) for x in found]} if kept else {}),
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--match", default="*", help="classes and names, as in 'threshold/where*'")
    parser.add_argument("--every", type=int, default=1, help="one in so many of each class")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--jobs", type=int, default=usable_cores())
    parser.add_argument("--out", type=Path, help="the report with every pair's answer; it is gone on with")
    args = parser.parse_args()
    found: list[Answer] = []
    if args.out and args.out.exists():
        found = [Answer(**x) for x in json.loads(args.out.read_text())["pairs"]]
    # without its suffix: a class of equal pairs is named by what they do where an input is infinite
    known = {(x.group.removesuffix(BEYOND), x.name) for x in found}
    pairs = [pair for pair in chosen(args.match, args.every) if (pair.group, pair.name) not in known]
    if not pairs and not found:
        parser.error(f"no pair matches {args.match}")
    saved = time.monotonic()
    for some in answers(pairs, args.jobs, time.time() + args.seconds):
        found += some
        if args.out and found and time.monotonic() - saved > SAVED_S:
            args.out.write_text(json.dumps(report_of(found, kept=True), indent=1))
            saved = time.monotonic()
    if not found:
        parser.error("no pair was begun in the time given")
    if args.out:
        args.out.write_text(json.dumps(report_of(found, kept=True), indent=1))
    report = report_of(found, kept=False)
    print(json.dumps(report) if args.json else "\n".join(table(found)))
    return 0 if all(r["ok"] for r in report["rows"]) else 1


if __name__ == "__main__":
    raise SystemExit(main())
