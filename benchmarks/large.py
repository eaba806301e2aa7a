"""Large products and long attention on a GPU, through the whole path, beside what a user would run instead.

    python benchmarks/large.py [--json] [--match 'bias_gelu/1024x*,causal/*'] [--seconds S] [--jobs J] [--out FILE] [--estimate] [--list]

The points are those of `large_points.py`, by KIND/SIZES/DTYPE. Each has a process of its own with a limit, `--jobs` of them at once
(timing has the GPU to itself, by a lock); after --seconds no further one begins, and what runs then is ended GRACE_S later. With --out
the report is written after each point, and points that are in the file are not run again, unless they failed. The fastest kernel that
the whole verdict accepts is timed, interleaved by CUDA graphs with inputs that are not in L2, beside the function as written
(products: cuBLAS), torch.compile in both modes, and each backend of SDPA that takes the call. --estimate, or no GPU: compiled for
sm_90, verified, and estimated.

Rows of a point: us/ (the accepted kernel), PEER/ (each peer), speedup/ (the best peer's time over us), estimate/ (the model's µs of
that kernel) and model/ (over the measured ones), verdict/ (1: accepted; `said`: its headline, or why there is none), seconds/ (until
the answer). Rows of a group, over what has run: geomean/, least/, and accepted (the share of all).
"""

from __future__ import annotations

import argparse
import datetime
import fnmatch
import json
import math
import os
import signal
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "core"), str(Path(__file__).resolve().parent)]

from large_points import LargePoint, every_point  # noqa: E402

from mirage.profile.candidate_choice import gpu_here  # noqa: E402

LIMIT_S, GRACE_S = 300.0, 90.0
BOUNDS = {  # of a group's geometric mean, and of the least
    "products": (1.05, 0.97),
    "attention": (1.0, 0.95),
    "unfused": (1.5, 1.5),
    "gqa": (1.0, 0.95),
}
Row = dict[str, Any]


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def one(point: LargePoint, estimated: bool) -> Row:
    """In a process of its own: a point's answer, as the path gives it."""
    from mirage.devices.table import device
    from mirage.errors import MirageError
    from mirage.mugraph import json_form
    from mirage.pipeline.optimize import optimize
    from mirage.pipeline.request import Request
    from mirage.profile.roofline import estimate
    from mirage.results.progress import CancelToken

    began = time.monotonic()
    request = Request(point.text, f"{point.function}.py", point.function, anyway=True, measure=not estimated)
    try:
        result = optimize(request, lambda _: None, CancelToken())
    except MirageError as e:
        return {"failed": str(e)[:300], "seconds": time.monotonic() - began}
    found: Row = {"seconds": time.monotonic() - began, "notes": [n[:300] for n in result.notes[:4]]}
    if result.verdict is None or not result.mugraphs or result.estimate is None:
        return found | {"failed": result.reason[:300] or "no kernel"}
    graph = json_form.from_json(result.mugraphs[0])
    us = estimate(graph, device(request.target))
    found |= {"verdict": result.verdict.headline, "estimate": us, "text": result.source}
    if result.measured is not None and result.estimate.measured:
        found |= {"us": result.estimate.us, "peers": dict(result.measured.peers), "variants": result.measured.variants}
    return found


def asked(point: LargePoint, estimated: bool, limit: float) -> Row:
    """A point in a process of its own, which is ended with all that it started after so many seconds."""
    command = [sys.executable, __file__, "--one", point.name, *(["--estimate"] if estimated else [])]
    began = time.monotonic()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        out, err = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return {"failed": f"no answer after {limit:.0f} s", "seconds": time.monotonic() - began}
    lines = out.strip().splitlines()
    if process.returncode or not lines:
        said = (err.strip().splitlines() or ["no output"])[-1]
        return {"failed": f"ended by {process.returncode}: {said[:300]}", "seconds": time.monotonic() - began}
    answer: Row = json.loads(lines[-1])
    return answer


def row(name: str, value: float, unit: str, bound: str | None = None, **more: object) -> Row:
    sign, limit = (bound or ">= -inf").split()
    ok = value >= float(limit) if sign == ">=" else value == float(limit)
    return {"name": name, "value": round(value, 5), "unit": unit, "bound": bound, "ok": ok, **more}


def rows_of(point: LargePoint, x: Row) -> list[Row]:
    """A point's answer as rows."""
    name = point.name
    said = x.get("verdict", x.get("failed", ""))
    rows = [
        row(f"verdict/{name}", int("verdict" in x), "", "== 1", said=said),
        row(f"seconds/{name}", x["seconds"], "s"),
    ]
    if "estimate" in x:
        rows.append(row(f"estimate/{name}", x["estimate"], "us"))
    if "us" in x:
        rows.append(row(f"us/{name}", x["us"], "us"))
        rows += [row(f"{peer}/{name}", us, "us") for peer, us in x["peers"].items()]
        rows.append(row(f"model/{name}", x["estimate"] / x["us"], "x"))
        if x["peers"]:
            bound = f">= {BOUNDS[point.group][1]}"
            rows.append(row(f"speedup/{name}", min(x["peers"].values()) / x["us"], "x", bound))
    return rows


def totals(answers: dict[str, Row]) -> list[Row]:
    """Of each group, over what has run."""
    found = []
    points = {p.name: p for p in every_point()}
    for group, (mean, least) in BOUNDS.items():
        own = [x for name, x in answers.items() if points[name].group == group and x.get("peers")]
        gained = [min(x["peers"].values()) / x["us"] for x in own]
        if gained:
            value = math.exp(statistics.fmean(map(math.log, gained)))
            found.append(row(f"geomean/{group}", value, "x", f">= {mean}", points=len(gained)))
            found.append(row(f"least/{group}", min(gained), "x", f">= {least}"))
    if answers:
        accepted = sum("verdict" in x for x in answers.values()) / len(answers)
        found.append(row("accepted", accepted, "of all", "== 1", points=len(answers)))
    return found


def run_all(todo: list[LargePoint], args: argparse.Namespace, report: Row) -> None:
    """Every point that can begin in time, `--jobs` at once; the report is written after each."""
    began, writing = time.monotonic(), Lock()

    def run(point: LargePoint) -> None:
        left = args.seconds - (time.monotonic() - began)
        if left <= 0:
            return
        x = asked(point, args.estimate, min(args.limit, left + GRACE_S))
        said = (
            f"{x['us']:.1f} us beside {x['peers']}" if "us" in x else f"estimated {x.get('estimate', math.nan):.1f} us"
        )
        say(f"{point.name}: {x.get('verdict', x.get('failed'))}; {said}; {x['seconds']:.0f} s")
        with writing:
            report["answers"][point.name] = x
            save(report, args.out)

    with ThreadPoolExecutor(args.jobs) as pool:
        list(pool.map(run, todo))


def save(report: Row, out: Path | None) -> None:
    """The rows of all answers, and the report in its file."""
    points = {p.name: p for p in every_point()}
    each = [r for name, x in report["answers"].items() for r in rows_of(points[name], x)]
    report["rows"] = each + totals(report["answers"])
    if out:
        out.write_text(json.dumps(report))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--match", default="*", help="patterns of points, by comma")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no further point after this long")
    parser.add_argument("--limit", type=float, default=LIMIT_S, help="of one point, in seconds")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--estimate", action="store_true", help="without measuring, as where there is no GPU")
    parser.add_argument("--list", action="store_true", help="the names of the points")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    points = every_point()
    if args.one:
        print(json.dumps(one(next(p for p in points if p.name == args.one), args.estimate)))
        return 0
    chosen = [p for pattern in args.match.split(",") for p in points if fnmatch.fnmatch(p.name, pattern)]
    if args.list:
        print("\n".join(p.name for p in chosen))
        return 0
    args.estimate = args.estimate or not gpu_here()
    report: Row = {"rows": [], "answers": {}}
    if args.out and args.out.exists():
        report = json.loads(args.out.read_text())
    done = {name for name, x in report["answers"].items() if "us" in x or ("verdict" in x and args.estimate)}
    report |= {"bench": "large", "date": datetime.date.today().isoformat(), "estimated": args.estimate}
    run_all([p for p in dict.fromkeys(chosen) if p.name not in done], args, report)
    save(report, args.out)
    if args.json:
        print(json.dumps({k: v for k, v in report.items() if k != "answers"}))
    else:
        for r in report["rows"]:
            print(f"{r['name']:44} {r['value']:10.3f} {r['unit']:8} {r.get('said', '')[:90]}", flush=True)
    return 0 if report["rows"] and all(r["ok"] for r in report["rows"]) else 1


if __name__ == "__main__":
    raise SystemExit(main())
