"""What `mirage verify FUNCTION MODULE` says of edited modules, by family of edits: those that compute something else, and equal ones.

    python benchmarks/hostile_modules.py [--bare] [--match '*/text/mask*'] [--every N] [--seconds S] [--jobs N] [--out FILE] [--json]

The edits are those of tests/hostile_modules. Each module is emitted once, and what Triton's interpreter shows of a mutant is
found once; both are kept in --cache. With --bare every module is judged without the µGraph that it carries: by what its text does at
its real sizes, where no other text can be compared with it. The edits of the µGraph and of the guard, of which nothing is then
claimed, are left out. With --out the report is written as it grows, and what is in the file is not judged again; after --seconds
no further mutant is begun.

Rows GROUP/ANSWER: of those that a run shows to be wrong, and those to be refused whatever a run shows, how many were accepted,
limited (accepted, and they differ on inputs alone of which the verdict claims nothing), rejected, undecided, refused with a coded
error, or ended in another exception; equal/ANSWER of those that compute the same; wrong_accepted with a one-sided 95% bound, and the
same of each group. No wrong one may be accepted. That an equal one is rejected is a fault with --bare alone: a module that carries
its µGraph is to be the text that this version emits.
"""

from __future__ import annotations

import argparse
import datetime
import fnmatch
import hashlib
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "core"), str(ROOT / "tests")]

from hostile_modules.certify_module import Outcome, is_wrong, outcomes  # noqa: E402
from hostile_modules.emitted import emitted  # noqa: E402
from hostile_modules.every_mutant import every_mutant  # noqa: E402
from hostile_modules.functions import FUNCTIONS, Function  # noqa: E402
from hostile_modules.launcher_families import COUNTERS, GUARDS  # noqa: E402
from hostile_modules.mutant import Mutant, section  # noqa: E402
from hostile_modules.state_families import ORDER  # noqa: E402

from mirage.cli import verify, verify_by_size, verify_subjects  # noqa: E402
from mirage.errors import MirageError  # noqa: E402
from mirage.isolate.cores import usable_cores  # noqa: E402
from mirage.isolate.runner import Worker  # noqa: E402
from mirage.results.verdict import Verdict, strength  # noqa: E402
from mirage.verify.report import lines as report_lines  # noqa: E402

ANSWERS = ("accepted", "limited", "rejected", "undecided", "refused", "crashed")
# With --bare: the guard is a module's own matter, and so is what its `_run` does for tables that its public function never gives it
UNCLAIMED = {*(name for name, _ in (*GUARDS, *COUNTERS)), "by_other_sizes_half", "by_tiles_half"}
RUN = {
    name for name, _ in ORDER
}  # refused as the text of another µGraph; with --bare a run says whether they are wrong
# What a verdict without a µGraph must say where a mutant differs first on the inputs of this number (`run_mutants.settings`):
# infinite and NaN values, other strides; it speaks of no gradient, no other dtypes and shapes.
CLAIMS = {5: "finite", 6: "finite", 7: "contiguous", 8: "", 9: "", 10: ""}
TOGETHER = 8  # mutants of one module that a process certifies together, for what its start costs
SAVED_S = 10  # from one writing of the report to the next
CACHE = Path(tempfile.gettempdir()) / "mirage-hostile-modules"


@dataclass(frozen=True)
class Answer:
    """What was said of one mutant, in which of the `ANSWERS`; `expected`: "wrong", "equal", or "unseen" where the run that was to
    show a difference shows none; `by`: the opinion that refused it."""

    module: str
    name: str
    family: str
    group: str
    expected: str
    answer: str
    by: str
    said: str


@cache
def worker() -> Worker:
    """The process that traces and runs for this one."""
    return Worker(env=verify.WORKER)


def module_of(function: Function, folder: Path) -> str:
    """The function's module, emitted at most once."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / f"{function.name}_module.py"
    return kept.read_text() if kept.exists() else emitted(function, folder)


def without_mugraph(text: str) -> str:
    """The module as one from which the carried µGraph was taken out."""
    begin, end = section(text, "mugraph")
    return text[:begin] + text[end:]


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def certified(text: str, mutants: Sequence[Mutant], folder: Path) -> dict[str, Outcome]:
    """What a run shows of each mutant that is to be run, by the digest of its text; what was found before is in a file of the folder
    for each, where what the module itself gives is kept too."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {digest(m.text): folder / digest(m.text) for m in mutants if m.expected != "wrong"}
    todo = [m for m in mutants if m.expected != "wrong" and not found[digest(m.text)].exists()]
    for mutant, outcome in outcomes(text, todo, folder / "reference.pt"):
        said = f"{outcome.word} {'' if outcome.setting is None else outcome.setting}".strip()
        found[digest(mutant.text)].write_text(said)
    return {k: Outcome.read(v.read_text()) for k, v in found.items()}


@cache
def wanted(path: Path) -> list[verify_subjects.Subject]:
    return verify_subjects.rows(str(path), worker())


def verdict(source: Path, text: str) -> tuple[Verdict, list[str]]:
    """The verdict of `mirage verify FUNCTION MODULE`, and its lines."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "module.py"
        path.write_text(text)
        both, _ = verify_by_size.pairs(wanted(source), verify_subjects.rows(str(path), worker()))
        found = min((verify.decided(a, b, worker())[0] for a, b in both), key=strength)
        return found, report_lines(found, "function", "module")


def answer(source: Path, text: str, mutant: Mutant, outcome: Outcome | None) -> Answer:
    """One mutant's answer. Any exception that is no coded error is counted too: it is a fault of its own. What would be accepted is
    judged once more in a fresh process, which no mutant before has touched."""
    by = ""
    wrong = is_wrong(mutant, outcome)
    try:
        found, said = verdict(source, text)
        if found.accepted and wrong:
            worker().close()
            found, said = verdict(source, text)
        by = ",".join(dict.fromkeys(e.opinion for e in found.rejections))
        kind = "accepted" if found.accepted else "undecided" if found.word == "UNDECIDED" else "rejected"
        if found.accepted and wrong and outcome is not None and outcome.setting in CLAIMS:
            kind = "limited" if CLAIMS[outcome.setting] in "\n".join(said) else kind
        why = next((e.summary for e in found.rejections), found.headline)
    except MirageError as e:
        kind, why = "refused", f"{e.code} {e.message}"
    except Exception as e:
        kind, why = "crashed", f"{type(e).__name__}: {e}"
    expected = "wrong" if wrong else "equal" if mutant.expected == "equal" else "unseen"
    module = source.stem
    return Answer(module, mutant.name, mutant.family, mutant.group, expected, kind, by, why[:240])


def chosen(module: str, text: str, match: str, every: int, bare: bool) -> list[Mutant]:
    """The mutants of a module that match, about one in `every`: those whose name's digest says so, so that what is chosen for a
    multiple of it is among them."""
    return [
        replace(m, expected="certify") if bare and m.family in RUN else m
        for m in every_mutant(text)
        if fnmatch.fnmatch(f"{module}/{m.group}/{m.family}", match)
        and not (bare and (m.group == "graph" or m.family in UNCLAIMED))
        and int(digest(f"{module}/{m.name}"), 16) % every == 0
    ]


@dataclass(frozen=True)
class Asked:
    """What a run of this benchmark is asked: `until` on the clock of this machine."""

    cache: Path
    match: str
    every: int
    bare: bool
    until: float


def prepared(number: int, asked: Asked, known: frozenset[tuple[str, str]]) -> list[Mutant]:
    """The mutants of one function's module that are to be judged, in the order of their names' digests."""
    function = FUNCTIONS[number]
    if not fnmatch.fnmatch(function.name, asked.match.partition("/")[0]):
        return []
    text = module_of(function, asked.cache)
    mutants = chosen(function.name, text, asked.match, asked.every, asked.bare)
    mutants = [m for m in mutants if (function.name, m.name) not in known]
    return sorted(mutants, key=lambda m: digest(f"{m.name}/{function.name}"))


def answers(number: int, mutants: Sequence[Mutant], asked: Asked) -> Iterator[Answer]:
    """Those on some mutants of one function's module."""
    function = FUNCTIONS[number]
    if time.time() > asked.until:
        return
    text = module_of(function, asked.cache)
    source = asked.cache / f"{function.name}.py"
    run = (
        ROOT / "tests" / "hostile_modules" / "run_mutants.py"
    ).read_text()  # what it showed when it was another is not asked
    shown = certified(text, mutants, asked.cache / f"{function.name}_{digest(text + run)}")
    for m in mutants:
        if time.time() > asked.until:
            return
        judged = without_mugraph(m.text) if asked.bare else m.text
        yield answer(source, judged, m, shown.get(digest(m.text)))


def answered(number: int, mutants: Sequence[Mutant], asked: Asked) -> list[Answer]:
    return list(answers(number, mutants, asked))


def every_answer(asked: Asked, known: frozenset[tuple[str, str]], jobs: int) -> Iterator[Sequence[Answer]]:
    """Those of every module; in several processes some mutants of each module in turn, so that what is left out when the time is up
    is a sample."""
    numbers = range(len(FUNCTIONS))
    if jobs == 1:
        for number in numbers:
            if time.time() < asked.until:
                yield from ([x] for x in answers(number, prepared(number, asked, known), asked))
        return
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        mutants = list(pool.map(prepared, numbers, [asked] * len(numbers), [known] * len(numbers)))
        firsts = range(0, max(map(len, mutants)), TOGETHER)
        some = [(n, mutants[n][k : k + TOGETHER]) for k in firsts for n in numbers]
        for done in as_completed([pool.submit(answered, n, xs, asked) for n, xs in some if xs]):
            yield done.result()


def row(name: str, value: float, unit: str = "", bound: str | None = None, ok: bool = True) -> dict[str, Any]:
    return {"name": name, "value": value, "unit": unit, "bound": bound, "ok": ok}


def upper(wrong: int, cases: int) -> float:
    """The one-sided 95% bound on a share of which so many of so many were seen (Clopper and Pearson; none or all of them exactly)."""
    from scipy.stats import beta

    return 1.0 if wrong >= cases else float(beta.ppf(0.95, wrong + 1, cases - wrong))


def rows_of(found: Sequence[Answer], bare: bool) -> list[dict[str, Any]]:
    rows = []
    wrong, equal = ([x for x in found if x.expected == kind] for kind in ("wrong", "equal"))
    for group in (*dict.fromkeys(x.group for x in wrong), "all"):
        mine = [x for x in wrong if group in ("all", x.group)]
        if not mine:
            continue
        counts = Counter(x.answer for x in mine)
        rows.append(row(f"{group}/wrong", len(mine)))
        for kind in ANSWERS:
            none = kind in ("accepted", "crashed")
            rows.append(row(f"{group}/{kind}", counts[kind], "", "== 0" if none else None, not (none and counts[kind])))
        rows.append(row(f"{group}/bound", round(upper(counts["accepted"], len(mine)), 5), "of wrong ones at 95%"))
    counts = Counter(x.answer for x in equal)
    for kind in ANSWERS:
        none = kind == "crashed" or (bare and kind == "rejected")
        rows.append(row(f"equal/{kind}", counts[kind], "", "== 0" if none else None, not (none and counts[kind])))
    rows.append(row("unseen", sum(x.expected == "unseen" for x in found)))
    return rows


def table(found: Sequence[Answer], bare: bool) -> list[str]:
    """The families against the answers, then each mutant that was answered wrongly."""
    lines = [f"| family | should | {' | '.join(ANSWERS)} |", "|---|---|" + "---:|" * len(ANSWERS)]
    for group, family, expected in dict.fromkeys((x.group, x.family, x.expected) for x in found):
        counts = Counter(x.answer for x in found if (x.group, x.family, x.expected) == (group, family, expected))
        lines.append(f"| {group}/{family} | {expected} | {' | '.join(str(counts[x]) for x in ANSWERS)} |")
    return [*lines, *(f"{x.answer}: {x.module}: {x.group}/{x.name}: {x.said}" for x in found if surprising(x, bare))]


def surprising(x: Answer, bare: bool) -> bool:
    faults = {"wrong": ("accepted", "crashed"), "equal": ("crashed", *(["rejected"] if bare else []))}
    return x.answer in faults.get(x.expected, ("crashed",))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bare", action="store_true", help="judge the modules without the µGraphs that they carry")
    parser.add_argument("--match", default="*", help="modules, groups and families, as in '*/text/mask*'")
    parser.add_argument("--every", type=int, default=1, help="about one in so many")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--jobs", type=int, default=usable_cores())
    parser.add_argument("--cache", type=Path, default=CACHE, help="where modules and what runs show are kept")
    parser.add_argument("--out", type=Path, help="the report with every mutant's answer; it is gone on with")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    found: list[Answer] = []
    if args.out and args.out.exists():
        found = [Answer(**x) for x in json.loads(args.out.read_text())["mutants"]]
    known = frozenset((x.module, x.name) for x in found)
    asked = Asked(args.cache, args.match, args.every, args.bare, time.time() + args.seconds)
    report: dict[str, Any] = {"bench": "hostile_modules", "date": datetime.date.today().isoformat(), "bare": args.bare}
    saved = time.monotonic()
    for some in every_answer(asked, known, args.jobs):
        found += some
        for x in some:
            if surprising(x, args.bare):
                print(f"{x.expected}: {x.module}: {x.name}: {x.answer}: {x.said}", file=sys.stderr, flush=True)
        if args.out and time.monotonic() - saved > SAVED_S:
            args.out.write_text(json.dumps({**report, "mutants": [asdict(x) for x in found]}))
            saved = time.monotonic()
    worker().close()
    rows = rows_of(found, args.bare)
    if args.out:
        args.out.write_text(json.dumps({**report, "rows": rows, "mutants": [asdict(x) for x in found]}))
    print(json.dumps({**report, "rows": rows}) if args.json else "\n".join(table(found, args.bare)))
    if not args.json:
        print("\n".join(f"{r['name']:28} {r['value']:8} {r['unit']}{'' if r['ok'] else ' (MISSED)'}" for r in rows))
    return 0 if all(r["ok"] for r in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
