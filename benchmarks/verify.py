"""How far can the verifier be believed? Wrong programs by the thousand, equal pairs, the statements that must hold.

    python benchmarks/verify.py [--json] [--count 1000] [--minutes 4] [--jobs 2]

`--count` is how many wrong mutants there are to be at least; each link goes up to that many in its share of `--minutes`.
An accepted mutant is printed on standard error. Mutants are certified to be wrong in float64 by code that is not the
verifier's.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import statistics
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "core"), str(ROOT / "tests")]
EXAMPLES = tuple(sorted(p.stem for p in (ROOT / "examples").glob("*.py") if not p.stem.endswith("_mirage")))
WARM = "softmax"  # the first run warms the workers
PAIRS, UNKNOWN, SECONDS = 200, 5.0, 5.0
SHARES = {"algebra": 0.25, "schedule": 0.33, "text": 0.42}  # of the time
_worker: Any = None


def run_task(name: str, payload: dict[str, Any]) -> dict[str, Any]:
    """One warm worker a process."""
    global _worker
    from mirage.isolate.runner import Worker

    _worker = _worker or Worker(env={"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}, cpu_seconds=3600)
    result: dict[str, Any] = _worker.call(name, payload, timeout_s=60)
    return result


def job(link: str, name: str, quota: int, seconds: float) -> Any:
    """Up to `quota` wrong mutants of one base in one link, in at most that time."""
    from mutants import suite
    from mutants.bases import base

    b = base(name)
    until = time.monotonic() + seconds
    return suite.run(b, link, quota, run_task, stop=lambda: time.monotonic() > until)


def row(name: str, value: float, unit: str, bound: str | None = None, ok: bool = True) -> dict[str, Any]:
    return {"name": name, "value": value, "unit": unit, "bound": bound, "ok": ok}


def at_most(wrong: int) -> float:
    """The one-sided 95% bound of the false-accept rate when none of `wrong` mutants was accepted."""
    return float(1 - 0.05 ** (1 / wrong)) if wrong else 1.0


def rate(name: str, rows: list[Any]) -> dict[str, Any]:
    accepted = any(r.accepted for r in rows)
    return row(f"{name}/false accepts", 1.0 if accepted else at_most(len(rows)), "rate, 95% bound")


def with_reading(rows: list[Any], opinion: str) -> dict[str, Any]:
    """The count above is of the opinions that run a text; this is of all, as a verdict has them."""
    accepted = sum(r.accepted and not r.caught[opinion] for r in rows)
    return row("text/accepted, with the structure opinion", accepted, "programs", "== 0", accepted == 0)


def mutants(count: int, minutes: float, processes: int) -> list[dict[str, Any]]:
    from mutants.bases import NAMES
    from mutants.suite import LINKS, READ, WEAK

    each = 60 * minutes * processes / len(NAMES)  # seconds for one base
    quota = -(-count * 5 // (4 * len(NAMES)))
    found: dict[str, Any] = {}
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:  # each process starts a worker of its own
        jobs = [(link, pool.submit(job, link, n, quota, each * SHARES[link])) for link in LINKS for n in NAMES]
        for link, future in jobs:
            found.setdefault(link, []).append(future.result())
    out: list[dict[str, Any]] = []
    rows = [r for counts in found.values() for c in counts for r in c.rows]
    for r in rows:
        if r.accepted:
            print(f"--- ACCEPTED {r.link} {r.base}: {r.operator} {r.caught}\n{r.what}", file=sys.stderr)
    accepted = sum(r.accepted for r in rows)
    operators, bases = len({r.operator for r in rows}), len({r.base for r in rows})
    weak = sum(not r.caught.get(WEAK, True) for r in rows)
    out += [
        row("mutants/wrong", len(rows), "programs", f">= {count}", len(rows) >= count),
        row("mutants/accepted", accepted, "programs", "== 0", accepted == 0),
        row("mutants/operators", operators, "operators", ">= 20", operators >= 20),
        row("mutants/bases", bases, "programs", ">= 10", bases >= 10),
        row("mutants/the original's primes, one draw: accepted", weak, "programs", ">= 1", weak >= 1),
        rate("mutants", rows),
    ]
    for link, counts in found.items():
        own = [r for r in rows if r.link == link]
        slipped = sum(r.accepted for r in own)
        changed = {r.operator for r in own}
        origins = {r.base for r in own}
        opinions = sorted({k for r in own for k in r.caught})
        out += [
            row(f"{link}/wrong", len(own), "programs"),
            row(f"{link}/accepted", slipped, "programs", "== 0", slipped == 0),
            rate(link, own),
            *([with_reading(own, READ)] if link == "text" else []),
            row(f"{link}/operators", len(changed), "operators", ">= 20", len(changed) >= 20),
            row(f"{link}/bases", len(origins), "programs", ">= 10", len(origins) >= 10),
            row(f"{link}/equivalent, set aside", sum(c.equivalent for c in counts), "programs"),
            row(f"{link}/no program, set aside", sum(c.no_program for c in counts), "programs"),
        ]
        for o in opinions:
            seen = [r.caught[o] for r in own if o in r.caught]
            missed = len(seen) - sum(seen)
            if o == WEAK:
                out.append(row(f"{link}/{o}: accepted", missed, f"of {len(seen)}"))
            else:
                out.append(row(f"{link}/{o} catches", 100 * sum(seen) / len(seen), f"% of {len(seen)}"))
        for o, n in sorted(Counter(r.operator for r in own).items()):
            out.append(rate(f"{link}/{o} ({n})", [r for r in own if r.operator == o]))
    return out


def equal() -> list[dict[str, Any]]:
    from mutants.bases import NAMES, base
    from mutants.equal_pairs import BEYOND, judged, pairs, together

    words: Counter[str] = Counter()
    inside: Counter[str] = Counter()
    for group, _, left, right in pairs():
        word = judged(left, right)
        words[word] += 1
        inside[word] += group not in BEYOND
    for name in NAMES:
        b = base(name)
        words[word := together(b.t, b.targets[0].term, b.targets[0].term)] += 1
        inside[word] += 1
    total = sum(words.values())
    unknown = 100 * (total - words["proved"] - words["tested"]) / total
    return [
        row("equal pairs", total, "pairs", f">= {PAIRS}", total >= PAIRS),
        row("equal pairs/proved", words["proved"], "pairs"),
        row("equal pairs/tested", words["tested"], "pairs"),
        row("equal pairs/rejected in the fragment", inside["rejected"], "pairs", "== 0", inside["rejected"] == 0),
        row("equal pairs/unknown", unknown, "%", f"<= {UNKNOWN}", unknown <= UNKNOWN),
    ]


def facts() -> list[dict[str, Any]]:
    from mutants.facts import EXPRESSIONS, holds, large_scores, variance_passes

    found = {
        f"{name} is {'accepted' if equal else 'refused'}": holds(left, right, equal)
        for name, left, right, equal in EXPRESSIONS
    }
    found["attention with scores of 60000 is finite and right"] = large_scores(run_task)
    found["attention without a shift is refused there"] = not large_scores(run_task, shifted=False)
    found["E[x^2] - E[x]^2 is refused at mean/deviation 1000"] = not variance_passes(run_task, powers=True)
    found["the centred variance is accepted there"] = variance_passes(run_task, powers=False)
    return [row(name, int(ok), "holds", "== 1", ok) for name, ok in found.items()]


def seconds() -> list[dict[str, Any]]:
    """Full verdicts over all examples, as the pipeline gives them, in warm workers."""
    from mirage.pipeline.optimize import optimize
    from mirage.pipeline.processes import Tools
    from mirage.pipeline.request import Request
    from mirage.results.progress import CancelToken
    from mirage.source import detect

    times: dict[str, float] = {}
    with Tools() as tools:
        for i, name in enumerate((WARM, *EXAMPLES)):
            path = ROOT / "examples" / f"{name}.py"
            text = path.read_text(encoding="utf-8")
            function = detect.find(text, str(path)).functions[0].name
            result = optimize(Request(text, str(path), function, anyway=True), lambda _: None, CancelToken(), tools)
            if i and result.verdict:
                times[name] = float(result.verdict.notes[0].split()[0])
    middle, slowest = statistics.median(times.values()), max(times, key=times.__getitem__)
    return [
        row("verdict, examples with one", len(times), "examples", f"== {len(EXAMPLES)}", len(times) == len(EXAMPLES)),
        row("verdict, median of all examples", middle, "s", f"<= {SECONDS}", middle <= SECONDS),
        row(f"verdict, the slowest ({slowest})", times[slowest], "s"),
        *(row(f"verdict/{name}", took, "s") for name, took in sorted(times.items())),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--minutes", type=float, default=4.0)
    parser.add_argument("--jobs", type=int, default=2, help="processes that judge mutants")
    args = parser.parse_args()
    os.environ["TRITON_INTERPRET"] = "1"
    start = time.monotonic()
    rows = [*seconds(), *facts(), *equal()]
    spent = (time.monotonic() - start) / 60
    rows += mutants(args.count, max(0.1, args.minutes - spent), args.jobs)
    rows.append(row("the whole run", (time.monotonic() - start) / 60, "min"))
    if args.json:
        import numpy
        import triton

        versions = {"python": sys.version.split()[0], "numpy": numpy.__version__, "triton": triton.__version__}
        date = datetime.date.today().isoformat()
        print(
            json.dumps({"bench": "verify", "date": date, "device": "cpu", "versions": versions, "rows": rows}, indent=1)
        )
    else:
        for r in rows:
            print(
                f"{r['name']:72} {r['value']:10.4g} {r['unit']:20} {r['bound'] or '':8} {'' if r['ok'] else 'NOT OK'}"
            )
    return 0 if all(r["ok"] for r in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
