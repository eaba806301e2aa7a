"""The examples on a GPU: the search's candidates, each emitted, checked and timed beside eager and torch.compile.

    python benchmarks/gpu.py [--json] [--points NAME,NAME] [--seconds S] [--candidates N] [--structures N] [--out FILE]

For each example the model's first N candidates and the best of several structures, with their own, four and eight warps,
are compiled side by side and checked against float64; all that are right are timed, and the best three, the model's first
and the baselines are timed again for the figures. Times are medians of CUDA graphs with inputs that are not in L2.

Rows: us/NAME (best measured kernel), first/NAME (the one that the model puts first), eager/, compile/ and compile_max/NAME,
library/ and library_compile/NAME (attention as a user would call the library's, and torch.compile of that),
speedup/NAME (over the better of eager and torch.compile), sol/NAME (per cent: the time of the bytes alone over us/NAME),
model/NAME (the estimate of first/NAME over its time), error/NAME and wrong/NAME (of all candidates against float64: the
largest error, and how many are above 0.02).
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "core"), str(Path(__file__).resolve().parent)]

from candidates import Point, Variant, check, decorated, described, point  # noqa: E402

from mirage.errors import MirageError  # noqa: E402

WRONG = 0.02  # relative to the largest value
BATCH = 5  # variants that one process checks
PROCESSES = 14
Check = dict[str, Any]


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def library(name: str) -> Callable[..., Any] | None:
    """The example as a user who knows the library's fused attention would write it (it wants four dimensions)."""
    import torch.nn.functional as F

    def attend(q: Any, k: Any, v: Any, **options: Any) -> Any:
        return F.scaled_dot_product_attention(q[None], k[None], v[None], **options)[0]

    def normalized(q: Any, k: Any, v: Any, g_q: Any, g_k: Any) -> Any:
        return attend(F.rms_norm(q, (128,), g_q, 1e-6), F.rms_norm(k, (128,), g_k, 1e-6), v)

    return {
        "causal_attention": lambda q, k, v: attend(q, k, v, is_causal=True),
        "gqa_decode": attend,
        "gqa_rows": lambda q, k, v: attend(q, k.transpose(-1, -2), v, scale=1.0),
        "qknorm_attention": normalized,
    }.get(name)


def checked(variants: list[Variant]) -> list[Check]:
    """Every variant compiled and checked, several processes at a time; what stood behind a CUDA error runs again alone."""
    rows: list[Check] = [{"failed": "not run"}] * len(variants)
    for size in (BATCH, 1):
        todo = [i for i, r in enumerate(rows) if r.get("failed") == "not run"]
        batches = [todo[i : i + size] for i in range(0, len(todo), size)]
        if not batches:
            break
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(min(PROCESSES, len(batches)), context, max_tasks_per_child=1) as pool:
            waiting: list[tuple[list[int], Future[list[Check]]]] = [
                (batch, pool.submit(check, [variants[i] for i in batch])) for batch in batches
            ]
            for batch, future in waiting:
                for i, r in zip(batch, future.result(), strict=True):
                    rows[i] = r
    return rows


def compiled(original: Callable[..., Any], given: list[Any]) -> dict[str, Callable[..., Any]]:
    import torch

    out: dict[str, Callable[..., Any]] = {
        "eager": original,
        "compile": torch.compile(original, dynamic=False),
        "compile_max": torch.compile(original, dynamic=False, mode="max-autotune-no-cudagraphs"),
    }
    for f in out.values():
        f(*given)
    return out


def timed(p: Point, results: list[Check]) -> tuple[list[Check], list[Check]]:
    """The rows of an example and the details of its candidates."""
    import torch

    from mirage.codegen.interpreter import load_module
    from mirage.profile.gpu import measure, random_tensor

    details = [{**described(v), **r} for v, r in zip(p.variants, results, strict=True)]
    right = [i for i, r in enumerate(results) if r.get("error", math.nan) <= WRONG]
    wrong = [i for i, r in enumerate(results) if "error" in r and not r["error"] <= WRONG]
    for i in wrong:
        say(f"{p.name}: WRONG by {results[i]['error']}: {p.variants[i].name} ({p.variants[i].structure})")
        details[i]["text"] = p.variants[i].text
    errors = [r["error"] for r in results if "error" in r]
    rows = [
        row(f"wrong/{p.name}", len(wrong), "candidates", "<= 0"),
        row(f"checked/{p.name}", len(errors), "candidates"),
        row(f"failed/{p.name}", sum("failed" in r for r in results), "candidates"),
        row(f"error/{p.name}", max(errors, key=lambda e: (e != e, e), default=math.nan), "relative", f"<= {WRONG}"),
    ]
    if not right:
        return rows, details
    modules = {i: load_module(p.variants[i].text, interpret=False) for i in right}
    some = modules[right[0]]

    def inputs(seed: int) -> list[Any]:
        generator = torch.Generator("cuda").manual_seed(seed)
        return [random_tensor(shape, dtype, generator) for shape, dtype in some._EXPECTED]

    all_times = measure({str(i): m._run for i, m in modules.items()}, inputs, repetitions=3)
    for i in right:
        details[i]["cold"], details[i]["hot"] = all_times[str(i)].cold, all_times[str(i)].hot
    ranked = sorted(right, key=lambda i: all_times[str(i)].cold)
    own = [i for i in right if p.variants[i].rank == 0 and p.variants[i].warps == 0]
    functions = {str(i): modules[i]._run for i in dict.fromkeys([*ranked[:3], *own])}
    functions |= compiled(getattr(some, f"_original_{p.name}"), inputs(0))
    other = library(p.name)
    if other is not None:
        functions |= {"library": other, "library_compile": torch.compile(other, dynamic=False)}
    times = measure(functions, inputs)
    best = min((k for k in times if k.isdigit()), key=lambda k: times[k].cold)
    details[int(best)]["best"] = True
    details[int(best)]["text"] = p.variants[int(best)].text
    us = times[best].cold
    peers = {k: times[k].cold for k in ("eager", "compile", "compile_max")}
    rows += [row(f"us/{p.name}", us, "us"), row(f"spread/{p.name}", times[best].cold_spread, "us")]
    rows += [row(f"hot/{p.name}", times[best].hot, "us")]
    rows += [row(f"{k}/{p.name}", t, "us") for k, t in peers.items()]
    rows += [row(f"{k}/{p.name}", times[k].cold, "us") for k in ("library", "library_compile") if k in times]
    rows.append(row(f"speedup/{p.name}", min(peers.values()) / us, "x"))
    rows.append(row(f"sol/{p.name}", 100 * p.floor / us, "%", "<= 100"))
    rows.append(row(f"baseline/{p.name}", p.baseline, "us"))
    if own:
        first = times[str(own[0])].cold
        estimate = p.variants[own[0]].estimate
        rows += [row(f"first/{p.name}", first, "us"), row(f"estimate/{p.name}", estimate, "us")]
        rows.append(row(f"model/{p.name}", estimate / first, "x"))
    v = p.variants[int(best)]
    say(
        f"{p.name}: {us:.1f} us, {min(peers, key=peers.__getitem__)} {min(peers.values()):.1f} us; rank {v.rank}, {v.name}"
    )
    return rows, details


def row(name: str, value: float, unit: str, bound: str | None = None) -> dict[str, Any]:
    ok = bound is None or value <= float(bound.split()[1])
    return {"name": name, "value": round(value, 6), "unit": unit, "bound": bound, "ok": ok}


def prepared(paths: Iterable[Path], count: int, structures: int) -> list[Point]:
    points = []
    for path in paths:
        start = time.monotonic()
        points.append(point(path, count, structures))
        say(f"{path.stem}: {len(points[-1].variants)} variants in {time.monotonic() - start:.1f} s")
    return points


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--points", default="", help="names of examples, by comma; all when empty")
    parser.add_argument("--seconds", type=float, default=500.0, help="stop before the next point after this long")
    parser.add_argument("--candidates", type=int, default=8)
    parser.add_argument("--structures", type=int, default=6)
    parser.add_argument("--out", type=Path, help="the report, written again after each example")
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
    wanted = set(filter(None, args.points.split(",")))
    paths = [p for p in sorted((ROOT / "examples").glob("*.py")) if p.stem in wanted or (not wanted and decorated(p))]
    points = prepared(paths, args.candidates, args.structures)
    variants = [v for p in points for v in p.variants]
    results = checked(variants)
    by_point: dict[str, list[Check]] = {}
    for v, r in zip(variants, results, strict=True):
        by_point.setdefault(v.example, []).append(r)
    say(f"{len(variants)} variants compiled and checked after {time.monotonic() - started:.0f} s")
    report: dict[str, Any] = {
        "bench": "gpu", "date": datetime.date.today().isoformat(), "device": torch.cuda.get_device_name(),
        "versions": {"torch": torch.__version__, "triton": triton.__version__}, "rows": [], "candidates": [],
    }  # fmt: skip
    for p in points:
        if time.monotonic() - started > args.seconds:
            say(f"{p.name}: no time left")
            continue
        rows, details = timed(p, by_point[p.name])
        report["rows"] += rows
        report["candidates"] += details
        if args.out:
            args.out.write_text(json.dumps(report, allow_nan=True))
        if not args.json:
            for r in rows:
                print(f"{r['name']:32} {r['value']:10.3f} {r['unit']}", flush=True)
    if args.json:
        print(json.dumps(report))
    return 0 if report["rows"] and all(r["ok"] for r in report["rows"]) else 1


if __name__ == "__main__":
    raise SystemExit(main())
