"""Every function of the zoo through the whole path: what the answer is, after how long, and how fast what the user ends with is.

    python benchmarks/zoo.py [--json] [--match 'language/*'] [--gpus N] [--jobs J] [--seconds S] [--row R] [--out FILE]

A function is `benchmarks/zoo/FAMILY/NAME.py`, and each has a process of its own, `--jobs` of them a GPU at once (timing has
the GPU to itself, by a lock). With --out the report is written after each, and what is in the file is not run again; after
--seconds no further one begins. One row of a function's inputs is taken (--row, or the last one it has). Without a GPU times are
the model's.

Rows: answer/NAME (1: a kernel of ours, 0.5: something else that is faster than the function as written, 0: the function as
written, -1: an error or nothing after LIMIT_S; `said` has the reason), seconds/NAME (until the answer), phase/PHASE/NAME (where
these went: `results/phases.py`), memory/NAME (MB, the largest process), and with a GPU speedup/NAME (the best peer's time over
that of what the user runs), kernel/NAME (over that of the kernel given), error/NAME (of the kernel on the zoo's own inputs
against float64, over what is allowed). Then answered, kernels (shares of all), wrong (a count), geomean, geomean_few (functions
with few rows), least, seconds_median, seconds_p95, and of each phase its mean over all and the most of any.
"""

from __future__ import annotations

import argparse
import datetime
import fnmatch
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from queue import Queue
from threading import Lock
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "core"), str(Path(__file__).resolve().parent)]

Row = dict[str, Any]
LIMIT_S = 240  # of one function
BEST = 0.97  # of the best peer's time: what is faster than the user's runs by less is noise
TIMES_EAGER, BUDGET = 2.0, {"float16": 8 * 2**-11, "bfloat16": 8 * 2**-8, "float32": 64 * 2**-24}


def one(name: str, wanted: int) -> Row:
    """In a process of its own: a function's answer, times and errors."""
    from zoo import every_function, inputs
    from zoo.rows import with_one_row

    from mirage.errors import MirageError
    from mirage.pipeline.optimize import optimize
    from mirage.pipeline.request import Request
    from mirage.results.progress import CancelToken

    fn = next(f for f in every_function() if f"{f.family}/{f.name}" == name)
    row = min(wanted, len(fn.rows) - 1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{fn.name}.py"
        path.write_text(with_one_row(fn.path.read_text(), wanted))
        start = time.monotonic()
        try:
            request = Request(path.read_text(), str(path), fn.function_name)
            result = optimize(request, lambda p: None, CancelToken())
        except MirageError as e:
            return {"answer": "error", "reason": str(e)[:300], "seconds": time.monotonic() - start}
        found: Row = {
            "answer": result.answer, "reason": result.reason[:300], "seconds": time.monotonic() - start,
            "notes": [n[:200] for n in result.notes[:4]], "phases": asdict(result.seconds),
        }  # fmt: skip
        if result.estimate is not None:
            found |= {
                "us": result.estimate.us,
                "base": result.estimate.baseline_us,
                "measured": result.estimate.measured,
            }
        if result.measured is not None:
            found["peers"] = dict(result.measured.peers)
            if result.answer == "kernel":
                found["error"] = error_of(result.source, fn.function_name, inputs(fn, row, "cuda", 3))
        usage = [resource.getrusage(w).ru_maxrss for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return {**found, "memory": max(usage) / 1024}


def error_of(source: str, name: str, given: Any) -> float:
    """The error of a module on these inputs against float64, over the larger of twice the function's own and a budget of the dtype;
    above 1 is wrong."""
    import torch

    from mirage.codegen.interpreter import load_module
    from mirage.profile.gpu_timing import relative_difference
    from mirage.verify.floats.worker import exactly

    module = load_module(source, interpret=False)
    original = getattr(module, f"_original_{name}")
    with torch.no_grad():
        wide = [x.double() if x.is_floating_point() else x for x in given]
        want = exactly(original, torch.float64)(*wide)
        own = original(*given)
        first = own[0] if isinstance(own, (tuple, list)) else own
        budget = BUDGET.get(str(first.dtype).removeprefix("torch."), 0.0)
        allowed = max(TIMES_EAGER * relative_difference(own, want), budget)
        return relative_difference(module._run(*given), want) / allowed


def asked(name: str, wanted: int, gpu: int | None) -> Row:
    """A function in a process of its own."""
    environment = {**os.environ, **({} if gpu is None else {"CUDA_VISIBLE_DEVICES": str(gpu)})}
    command = [sys.executable, __file__, "--one", name, "--row", str(wanted)]
    start = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, env=environment)
    except subprocess.TimeoutExpired:
        return {"answer": "error", "reason": f"no answer after {LIMIT_S} s", "seconds": time.monotonic() - start}
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        said = (done.stderr.strip().splitlines() or ["no output"])[-1]
        return {
            "answer": "error",
            "reason": f"ended by {done.returncode}: {said[:300]}",
            "seconds": time.monotonic() - start,
        }
    answer: Row = json.loads(lines[-1])
    return answer


def rows_of(name: str, few: bool, x: Row) -> list[Row]:
    value = {"kernel": 1.0, "keep": 0.0, "error": -1.0}.get(x["answer"], 0.5)
    rows: list[Row] = [
        {"name": f"answer/{name}", "value": value, "unit": x["answer"], "said": x["reason"], "few": few},
        {"name": f"seconds/{name}", "value": round(x["seconds"], 1), "unit": "s"},
    ]
    for phase, seconds in x.get("phases", {}).items():
        if seconds and phase != "total":
            rows.append({"name": f"phase/{phase}/{name}", "value": round(seconds, 1), "unit": "s"})
    if "memory" in x:
        rows.append({"name": f"memory/{name}", "value": round(x["memory"]), "unit": "MB"})
    peers = x.get("peers", {})
    if peers:
        best = min(peers.values())
        runs = {"kernel": x["us"], "keep": peers.get("eager", best)}.get(x["answer"], best)
        rows.append({"name": f"speedup/{name}", "value": round(best / runs, 4), "unit": "x", "few": few})
        if x["answer"] == "kernel":
            rows.append({"name": f"kernel/{name}", "value": round(best / x["us"], 4), "unit": "x"})
            rows.append({"name": f"error/{name}", "value": round(x.get("error", math.nan), 4), "unit": "of allowed"})
    return rows


def totals(rows: list[Row]) -> list[Row]:
    """Over what has run."""
    answers = [r for r in rows if r["name"].startswith("answer/")]
    if not answers:
        return []
    gained = [(r["value"], r["few"]) for r in rows if r["name"].startswith("speedup/")]
    seconds = sorted(r["value"] for r in rows if r["name"].startswith("seconds/"))
    wrong = sum(not r["value"] <= 1 for r in rows if r["name"].startswith("error/"))
    found = [
        ("functions", len(answers), "", None),
        ("answered", sum(r["value"] >= 0 for r in answers) / len(answers), "of all", ">= 0.99"),
        ("kernels", sum(r["value"] == 1 for r in answers) / len(answers), "of all", ">= 0.6"),
        ("wrong", wrong, "", "== 0"),
        ("seconds_median", statistics.median(seconds), "s", None),
        ("seconds_p95", seconds[min(len(seconds) - 1, int(0.95 * len(seconds)))], "s", None),
    ]
    for phase in dict.fromkeys(r["name"].split("/")[1] for r in rows if r["name"].startswith("phase/")):
        of = [r["value"] for r in rows if r["name"].startswith(f"phase/{phase}/")]
        found.append((f"phase_mean/{phase}", sum(of) / len(answers), "s", None))
        found.append((f"phase_most/{phase}", max(of), "s", None))
    for name, some, bound in (
        ("geomean", [x for x, _ in gained], ">= 1.25"),
        ("geomean_few", [x for x, few in gained if few], ">= 1.4"),
    ):
        if some:
            found.append((name, math.exp(statistics.fmean(map(math.log, some))), "x", bound))
    if gained:
        found.append(("least", min(x for x, _ in gained), "x", f">= {BEST}"))
    return [{"name": n, "value": round(v, 4), "unit": u, "bound": b, "ok": held(v, b)} for n, v, u, b in found]


def held(value: float, bound: str | None) -> bool:
    sign, limit = (bound or ">= -inf").split()
    return value >= float(limit) if sign == ">=" else value == float(limit)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--match", default="*", help="patterns of functions, by comma")
    parser.add_argument("--every", type=int, default=1, help="of those only each N-th")
    parser.add_argument("--gpus", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--row", type=int, default=99)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(one(args.one, args.row)))
        return 0
    from zoo import every_function

    report: dict[str, Any] = {"rows": [], "answers": {}}
    if args.out and args.out.exists():
        report = json.loads(args.out.read_text())
    wanted = args.match.split(",")
    every = [f for f in every_function() if any(fnmatch.fnmatch(f"{f.family}/{f.name}", p) for p in wanted)]
    every = every[:: args.every]
    todo = [f for f in every if f"{f.family}/{f.name}" not in report["answers"]]
    report |= {"bench": "zoo", "date": datetime.date.today().isoformat()}
    free: Queue[int | None] = Queue()
    for _ in range(args.jobs):
        for gpu in range(args.gpus) if args.gpus else [None]:
            free.put(gpu)
    start, writing = time.monotonic(), Lock()

    def run(f: Any) -> None:
        gpu = free.get()
        try:
            if time.monotonic() - start > args.seconds:
                return
            name = f"{f.family}/{f.name}"
            x = asked(name, args.row, gpu)
        finally:
            free.put(gpu)
        print(f"{name}: {x['answer']}, {x['reason'][:150]}; {x['seconds']:.0f} s", file=sys.stderr, flush=True)
        with writing:
            report["answers"][name] = x
            report["rows"] = [r for r in report["rows"] if "/" in r["name"]] + rows_of(name, f.few_rows, x)
            if args.out:
                args.out.write_text(json.dumps(report))

    with ThreadPoolExecutor(free.qsize()) as pool:
        list(pool.map(run, todo))
    report["rows"] += totals(report["rows"])
    if args.out:
        args.out.write_text(json.dumps(report))
    if args.json:
        print(json.dumps({k: v for k, v in report.items() if k != "answers"}))
    else:
        for r in report["rows"]:
            print(f"{r['name']:44} {r['value']:10.3f} {r['unit']} {r.get('said', '')[:90]}", flush=True)
    return 0 if report["rows"] and all(r.get("ok", True) for r in report["rows"]) else 1


if __name__ == "__main__":
    raise SystemExit(main())
