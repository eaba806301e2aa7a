"""The points of `points.py` on a GPU: searched, tuned, checked and timed beside what a user would run instead.

    python benchmarks/gpu.py [--json] [--points GLOB,GLOB] [--seconds S] [--variants N] [--quick] [--out FILE]

A point is WORKLOAD/bsN. With --out the report is written after each point, and points that are in the file already are
not run again. --quick leaves torch.compile out. Times are medians of CUDA graphs with inputs that are not in L2, in µs.

Rows of a point: us/ (the best measured kernel), hot/, spread/, first/ (the one the model puts first, with its own launch),
estimate/ and model/ (the model's time of first, over the measured one), PEER/ for eager, compile, compile_max and each
backend of SDPA, read/ (a plain read of the inputs), speedup/ (over the best peer), sol/ (per cent: the larger of read and the
bytes at the device's bandwidth, over us), public/ (the public function with its guards inside a CUDA graph, over us), host/ and
bare/ (µs of host time a call of the public function, of the launches alone), wrong/ and error/ (against float64), tune/ (s
from the text to the choice), seconds/ (that and the baselines' own compilation).
Rows of all: geomean, slower (points more than 3 % slower than the best peer, where the answer is "keep yours": counted as 1.0).
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import multiprocessing
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "core"), str(Path(__file__).resolve().parent)]

from candidates import Prepared, prepare  # noqa: E402
from points import BATCHES, WORKLOADS  # noqa: E402

from mirage.errors import MirageError  # noqa: E402

EQUAL = 0.97  # of the best peer's speed counts as equal
PROCESSES = 15
CALLS = 300  # of one measurement of host time
Row = dict[str, Any]


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def row(name: str, value: float, unit: str, bound: str | None = None) -> Row:
    ok = True
    if bound is not None:
        sign, limit = bound.split()
        ok = {"<=": value <= float(limit), ">=": value >= float(limit), "==": value == float(limit)}[sign]
    return {"name": name, "value": round(value, 5), "unit": unit, "bound": bound, "ok": ok}


def host_time(function: Any, inputs: list[Any]) -> float:
    """Host µs a call, while the device keeps up: short bursts, the best of several."""
    import torch

    best = math.inf
    for _ in range(20):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(CALLS // 20):
            function(*inputs)
        best = min(best, (time.perf_counter() - start) * 1e6 / (CALLS // 20))
    return best


def public_times(text: str, name: str) -> dict[str, float]:
    """The public function inside a CUDA graph over the launches alone, and the host time of both."""
    import torch

    from mirage.codegen.interpreter import load_module
    from mirage.profile.gpu import measure, random_tensor

    module = load_module(text, interpret=False)

    def inputs(seed: int) -> list[Any]:
        generator = torch.Generator("cuda").manual_seed(seed)
        return [random_tensor(shape, dtype, generator) for shape, dtype in module._EXPECTED]

    public = getattr(module, name)
    found = measure({"public": public, "bare": module._run}, inputs)
    given = inputs(0)
    return {
        "public": found["public"].cold / found["bare"].cold,
        "host": host_time(public, given),
        "bare": host_time(module._run, given),
    }


def timed(p: Prepared, quick: bool) -> tuple[list[Row], list[Row]]:
    """The rows of a point, and the details of its variants."""
    from mirage.profile.tune import task

    start = time.monotonic()
    texts = [v.text for v in p.variants]
    payload = {
        "texts": texts, "function": p.name, "processes": PROCESSES, "compiled": not quick,
        "attention": WORKLOADS[p.name].attention, "bytes": p.bytes,
    }  # fmt: skip
    answer = task(payload, lambda event: None)
    details = [{"point": p.point, **v.described(), **r} for v, r in zip(p.variants, answer["rows"], strict=True)]
    errors = [r["error"] for r in answer["rows"] if "error" in r]
    wrong = sum(not e <= 0.02 for e in errors)
    rows = [
        row(f"wrong/{p.point}", wrong, "variants", "== 0"),
        row(f"checked/{p.point}", len(errors), "variants"),
        row(f"error/{p.point}", max(errors, default=math.nan), "relative", "<= 0.02"),
    ]
    times = answer["times"]
    mine = [k for k in times if k.isdigit()]
    if not mine:
        say(f"{p.point}: no variant ran: {[r.get('failed') for r in answer['rows']][:3]}")
        return rows, details
    best = min(mine, key=lambda k: times[k]["cold"])
    us = times[best]["cold"]
    details[int(best)]["text"] = texts[int(best)]
    peers = {k: t["cold"] for k, t in times.items() if not k.isdigit() and k != "read"}
    peer = min(peers, key=peers.__getitem__)
    rows += [row(f"us/{p.point}", us, "us"), row(f"hot/{p.point}", times[best]["hot"], "us")]
    rows.append(row(f"spread/{p.point}", times[best]["cold_spread"], "us"))
    rows += [row(f"{k}/{p.point}", t, "us") for k, t in peers.items()]
    rows.append(row(f"read/{p.point}", times["read"]["cold"], "us"))
    rows.append(row(f"speedup/{p.point}", peers[peer] / us, "x"))
    light = max(p.floor, min(times["read"]["cold"], us))
    rows.append(row(f"sol/{p.point}", 100 * light / us, "%"))
    own = next((i for i, r in enumerate(answer["rows"]) if "cold" in r), None)
    if own is not None:
        first = answer["rows"][own]["cold"]
        rows += [row(f"first/{p.point}", first, "us"), row(f"estimate/{p.point}", p.variants[own].us, "us")]
        rows.append(row(f"model/{p.point}", p.variants[own].us / first, "x"))
    tuned = time.monotonic() - start
    rows.append(row(f"tune/{p.point}", p.seconds + answer["seconds"], "s"))
    found = public_times(texts[int(best)], p.name)
    rows.append(row(f"public/{p.point}", found["public"], "x", "<= 1.02"))
    rows += [row(f"host/{p.point}", found["host"], "us"), row(f"bare/{p.point}", found["bare"], "us")]
    rows.append(row(f"dispatch/{p.point}", found["host"] - found["bare"], "us", "<= 10"))
    rows.append(row(f"seconds/{p.point}", p.seconds + tuned, "s"))
    v = p.variants[int(best)]
    say(f"{p.point}: {us:.2f} us, {peer} {peers[peer]:.2f}, light {light:.1f}; rank {v.rank}, {v.name} ({tuned:.0f} s)")
    return rows, details


def totals(rows: list[Row]) -> list[Row]:
    """Over all points: the geometric mean of the speed-ups, and the points where the answer is to keep the peer."""
    found = {r["name"].partition("/")[2]: r["value"] for r in rows if r["name"].startswith("speedup/")}
    if not found:
        return []
    counted = [max(1.0, x) for x in found.values()]
    kept = [n for n, x in found.items() if x < EQUAL]
    if kept:
        say(f"keep yours: {', '.join(kept)}")
    times: dict[str, float] = {}
    for r in rows:
        kind, _, point = r["name"].partition("/")
        if kind == "tune":
            times[point.partition("/")[0]] = times.get(point.partition("/")[0], 0.0) + r["value"]
    return [
        *(row(f"tuning/{w}", t, "s", "<= 90") for w, t in times.items()),
        row("geomean", math.exp(sum(map(math.log, counted)) / len(counted)), "x", ">= 1.3"),
        row("kept", len(kept), "points"),
        row("points", len(found), "points"),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--points", default="*", help="patterns of points, by comma")
    parser.add_argument("--seconds", type=float, default=560.0, help="begin no further point after this long")
    parser.add_argument("--variants", type=int, default=110, help="of each point, at most")
    parser.add_argument("--dtype", default="fp16")
    parser.add_argument("--quick", action="store_true", help="without torch.compile")
    parser.add_argument("--out", type=Path, help="the report, written after each point; its points are not run again")
    args = parser.parse_args()
    from mirage.profile.gpu import require_gpu

    try:
        require_gpu()
    except MirageError as e:
        print(e, file=sys.stderr)
        return 1
    import torch
    import triton

    started = time.monotonic()
    report: dict[str, Any] = {"rows": [], "variants": []}
    if args.out and args.out.exists():
        report = json.loads(args.out.read_text())
    done = {r["name"].partition("/")[2] for r in report["rows"] if r["name"].startswith("us/")}
    wanted = [
        (n, b) for n in WORKLOADS for b in BATCHES
        if f"{n}/bs{b}" not in done and any(fnmatch(f"{n}/bs{b}", p) for p in args.points.split(","))
    ]  # fmt: skip
    report |= {
        "bench": "gpu", "date": datetime.date.today().isoformat(), "device": torch.cuda.get_device_name(),
        "versions": {"torch": torch.__version__, "triton": triton.__version__},
    }  # fmt: skip
    with ProcessPoolExecutor(PROCESSES, multiprocessing.get_context("spawn")) as pool:
        waiting = [pool.submit(prepare, n, b, args.dtype, args.variants) for n, b in wanted]
        points = []
        for (n, b), future in zip(wanted, waiting, strict=True):
            try:
                points.append(future.result())
            except MirageError as e:
                say(f"{n}/bs{b}: {e}")
    say(
        f"{sum(len(p.variants) for p in points)} variants of {len(points)} points after {time.monotonic() - started:.0f} s"
    )
    for p in points:
        if time.monotonic() - started > args.seconds:
            say(f"{p.point}: no time left")
            continue
        rows, details = timed(p, args.quick)
        report["rows"] += rows
        report["variants"] += details
        if args.out:
            args.out.write_text(json.dumps(report, allow_nan=True))
    report["rows"] = [r for r in report["rows"] if "/bs" in r["name"]] + totals(report["rows"])
    if args.out:
        args.out.write_text(json.dumps(report, allow_nan=True))
    if args.json:
        print(json.dumps({k: v for k, v in report.items() if k != "variants"}))
    else:
        for r in report["rows"]:
            print(f"{r['name']:32} {r['value']:10.3f} {r['unit']}", flush=True)
    return 0 if report["rows"] and all(r["ok"] for r in report["rows"]) else 1


if __name__ == "__main__":
    raise SystemExit(main())
