"""The points of `points.py` on a GPU: searched, tuned, checked and timed beside what a user would run instead.

    python benchmarks/gpu.py [--json] [--points GLOB,GLOB] [--seconds S] [--dtype D] [--quick] [--out FILE] [--gpus N]

A point is WORKLOAD/bsN. With --out the report is written after each point, and points that are in the file already are
not run again. With --gpus, that many processes share the workloads, each with a GPU and its share of the cores.
--quick leaves torch.compile out. Times are medians of CUDA graphs with inputs that are not in L2, in µs.
Each workload has a worker of its own, closed in and without any cache, as `mirage optimize` has.

Rows of a point: us/ (the best measured kernel), hot/, spread/, lead/ (the one the model puts first, with its own launch),
estimate/ and model/ (the model's time of lead, over the measured one), PEER/ for eager, compile, compile_max and each
backend of SDPA, read/ (a plain read of the inputs), speedup/ (over the best peer), sol/ (per cent: the larger of read and the
bytes at the device's bandwidth, over us), written/ (the written module measured by itself, over us), public/ (the public function
with its guards inside a CUDA graph, over its launches), regimes/ (the largest error of the best kernel in any regime of inputs at the
real shape, over what is allowed there), host/ and bare/ (µs of host time a call of the public function, of the
launches alone), checked/, wrong/ and error/ (against float64), choice/ (s of compiling, checking and timing).
Rows of a workload, where all its batches ran: tuning/ (s from the beginning, a new process, until the last choice, without the
baselines), first/ (s until a kernel is right and timed). Rows of all fp16 points: geomean (a point whose answer is "keep yours"
counts as 1.0), kept (those points).
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import json
import math
import multiprocessing
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "core"), str(Path(__file__).resolve().parent)]

from candidates import TARGET, Found, searched  # noqa: E402
from points import BATCHES, WORKLOADS  # noqa: E402

from mirage.errors import MirageError  # noqa: E402
from mirage.isolate.cores import usable_cores  # noqa: E402
from mirage.isolate.runner import Worker  # noqa: E402
from mirage.pipeline.processes import GPU_MEMORY  # noqa: E402
from mirage.pipeline.search_problems import problems, which  # noqa: E402
from mirage.profile.candidate_choice import EQUAL, Measured, lead, measured  # noqa: E402
from mirage.results.details import FloatDetails  # noqa: E402
from mirage.verify.floats.device_opinion import device_opinion  # noqa: E402
from mirage.verify.judge import Case, emitted_module  # noqa: E402

TUNE_S = 400.0  # of one call of the worker
STRUCTURES = 6  # of a point, whose fastest text is kept
BURSTS, CALLS = (
    600,
    15,
)  # of one measurement of host time: about a second, so that a quiet moment of the host is among it
Row = dict[str, Any]


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def row(name: str, value: float, unit: str, bound: str | None = None) -> Row:
    ok = True
    if bound is not None:
        sign, limit = bound.split()
        ok = {"<=": value <= float(limit), ">=": value >= float(limit), "==": value == float(limit)}[sign]
    return {"name": name, "value": round(value, 5), "unit": unit, "bound": bound, "ok": ok}


def host_times(functions: list[Any], inputs: list[Any]) -> list[float]:
    """Host µs a call of each, while the device keeps up: short bursts in turn, the best of several."""
    import torch

    best = [math.inf for _ in functions]
    for _ in range(BURSTS):
        for i, function in enumerate(functions):
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(CALLS):
                function(*inputs)
            best[i] = min(best[i], (time.perf_counter() - start) * 1e6 / CALLS)
    return best


def public_times(text: str, name: str) -> dict[str, float]:
    """The module's launches alone, the public function inside a CUDA graph over them, and the host time of both."""
    import torch

    from mirage.codegen.interpreter import load_module
    from mirage.profile.gpu_timing import measure, random_tensor

    module = load_module(text, interpret=False)

    def inputs(seed: int) -> list[Any]:
        generator = torch.Generator("cuda").manual_seed(seed)
        return [random_tensor(shape, dtype, generator) for shape, dtype in module._EXPECTED]

    public = getattr(module, name)
    found = measure({"public": public, "bare": module._run}, inputs)
    host, bare = host_times([public, module._run], inputs(0))
    return {
        "us": found["bare"].cold,
        "public": found["public"].cold / found["bare"].cold,
        "host": host,
        "bare": bare,
    }


def searches(name: str, batches: list[int], dtype: str, results: Any) -> None:
    """Searches for every batch, side by side, from one process that has imported what all need. Gives for each, as the path
    does, what there is while the search goes on (False, found), then (True, all or the error)."""
    from torch._inductor import config  # noqa: F401  tracing wants it

    def one(batch: int) -> None:
        try:
            results.put((True, searched(name, batch, dtype, lambda found: results.put((False, found)))))
        except MirageError as e:
            results.put((True, str(e)))

    context = multiprocessing.get_context("fork")
    children = [context.Process(target=one, args=(b,)) for b in batches]
    for child in children:
        child.start()
    for child in children:
        child.join()


def point_rows(p: Found, found: Measured) -> list[Row]:
    errors = [t.row["error"] for t in found.ran if "error" in t.row]
    rows = [
        row(f"wrong/{p.point}", sum(not e <= 0.02 for e in errors), "variants", "== 0"),
        row(f"checked/{p.point}", len(errors), "variants"),
        row(f"error/{p.point}", max(errors, default=math.nan), "relative", "<= 0.02"),
    ]
    if not found.times:
        say(f"{p.point}: no variant ran: {found.dropped[:3]}")
        return rows
    best = min(found.times, key=lambda t: found.times[t]["cold"])
    us = found.times[best]["cold"]
    rows += [row(f"us/{p.point}", us, "us"), row(f"hot/{p.point}", found.times[best]["hot"], "us")]
    rows.append(row(f"spread/{p.point}", found.times[best]["cold_spread"], "us"))
    rows += [row(f"{k}/{p.point}", t, "us") for k, t in found.peers.items()]
    rows.append(row(f"read/{p.point}", found.read, "us"))
    if found.peers:
        rows.append(row(f"speedup/{p.point}", found.peers[found.peer] / us, "x"))
    rows.append(row(f"sol/{p.point}", 100 * max(p.floor, min(found.read, us)) / us, "%"))
    top = next((t for t in found.ran if "cold" in t.row), None)
    if top is not None:
        first = top.row["cold"]
        rows += [row(f"lead/{p.point}", first, "us"), row(f"estimate/{p.point}", top.variant.us, "us")]
        rows.append(row(f"model/{p.point}", top.variant.us / first, "x"))
    rows.append(row(f"choice/{p.point}", found.seconds, "s"))
    alone = public_times(best, p.name)
    rows.append(row(f"written/{p.point}", alone["us"] / us, "x", "<= 1.03"))
    rows.append(row(f"public/{p.point}", alone["public"], "x", "<= 1.02"))
    rows += [row(f"host/{p.point}", alone["host"], "us"), row(f"bare/{p.point}", alone["bare"], "us")]
    rows.append(row(f"dispatch/{p.point}", alone["host"] - alone["bare"], "us", "<= 10"))
    v = next(t.variant for t in found.ran if t.text == best)
    say(
        f"{p.point}: {us:.2f} us, {found.against} {found.baseline(math.nan):.2f}, read {found.read:.1f}; rank {v.rank}, {v.name};"
        f" {found.tried} variants, {found.seconds:.1f} s, dropped {found.dropped[:2]} {found.notes}"
    )
    return rows


def regimes(p: Found, found: Measured, ask: Callable[[str, dict[str, Any]], dict[str, Any]]) -> list[Row]:
    """How the fastest module does in every regime of inputs at its real shape; 0 where none was timed."""
    if not found.times:
        return []
    best = min(found.times, key=lambda t: found.times[t]["cold"])
    graph = next(t.variant.mugraph for t in found.ran if t.text == best)
    posed = problems(p.program)
    problem = posed[which(posed, graph)]
    case = Case(
        problem.t, problem.outputs, graph, best, p.program, p.function.slice.text, p.name, None, problem.calls,
        problem.returns,
    )  # fmt: skip
    evidence = device_opinion(emitted_module(case), ask)
    if evidence is None:
        say(f"{p.point}: no regime could be run at the real shape")
        return [row(f"regimes/{p.point}", math.nan, "of allowed", "<= 1")]
    say(f"{p.point}: {evidence.word}, {evidence.summary} ({evidence.seconds:.1f} s)")
    told = evidence.details.regimes if isinstance(evidence.details, FloatDetails) else ()
    worst = max((r.error / max(r.allowed, 1e-300) for r in told), default=math.nan)
    worst = max(worst, 1.0001) if evidence.word == "REJECTED" else worst
    return [row(f"regimes/{p.point}", worst, "of allowed", "<= 1")]


def details(p: Found, found: Measured) -> list[Row]:
    """A row of each variant; with their text those that were timed in full, and the fastest of each of the fastest structures: what is
    judged next where the verifier refuses one."""
    kept, shown = set(found.times), set[str]()
    for t in sorted((t for t in found.ran if "cold" in t.row), key=lambda t: float(t.row["cold"])):
        if len(shown) < STRUCTURES and t.variant.structure not in shown:
            shown.add(t.variant.structure)
            kept.add(t.text)
    return [
        {
            "point": p.point, **{k: getattr(t.variant, k) for k in ("rank", "structure", "label", "warps", "stages", "us")},
            **t.row, **({"text": t.text} if t.text in kept else {}),
        }
        for t in found.ran
    ]  # fmt: skip


def workload(
    name: str, batches: list[int], dtype: str, quick: bool, keep: Callable[[list[Row], list[Row]], None]
) -> None:
    """All batches of one workload, from nothing; `keep` gets each point's rows and variants as they come."""
    start = time.monotonic()
    idle = 0.0  # s of baselines, and of what only the benchmark does
    first = 0.0
    done = 0
    processes = max(1, usable_cores() - 1)
    spawn = multiprocessing.get_context("spawn")
    results: Any = spawn.Queue()
    spawn.Process(target=searches, args=(name, batches, dtype, results)).start()
    with (
        Worker(memory_bytes=GPU_MEMORY, unix=True) as worker,
        ThreadPoolExecutor(2) as beside,
    ):
        warm: Future[Any] = beside.submit(
            worker.call, "warm_gpu", {"processes": processes, "target": TARGET}, timeout_s=TUNE_S
        )
        beside.submit(importlib.import_module, "scipy.optimize")

        def call(payload: dict[str, Any]) -> dict[str, Any]:
            nonlocal idle
            began = time.monotonic()
            answer = worker.call("tune", {**payload, "compiled": not quick}, timeout_s=TUNE_S, on_event=event)
            idle += time.monotonic() - began - answer["seconds"]
            if answer.get("broken"):
                worker.close()
            return answer

        def event(counts: dict[str, Any]) -> None:
            nonlocal first
            if "ns" in counts:
                first = first or time.monotonic() - start

        def ask(task: str, payload: dict[str, Any]) -> dict[str, Any]:
            return worker.call(task, payload, timeout_s=TUNE_S)

        left = len(batches)
        while left:
            ended, p = results.get(timeout=TUNE_S)
            if isinstance(p, str):
                raise MirageError(p)
            left -= ended
            warm.result()
            if not ended:
                if not first:
                    lead(p.best[0], p.program, name, p.emit, call, TARGET)
                continue
            say(
                f"{p.point}: {len(p.best)} candidates, {p.seconds:.1f} s; {time.monotonic() - start:.1f} s since the beginning"
            )
            try:
                found = measured(p.best, p.program, name, p.emit, call, TARGET)
            except MirageError as e:
                found, why = None, str(e)
            else:
                why = "there is no GPU of the target"
            began = time.monotonic()
            if found is None:
                say(f"{p.point}: {why}")
                continue
            keep([*point_rows(p, found), *regimes(p, found, ask)], details(p, found))
            done += 1
            idle += time.monotonic() - began
    if done == len(BATCHES) and dtype == "fp16":
        took = time.monotonic() - start - idle
        say(f"{name}: tuned in {took:.1f} s, first after {first:.1f} s")
        keep([row(f"tuning/{name}", took, "s", "<= 90"), row(f"first/{name}", first, "s", "<= 15")], [])


def totals(rows: list[Row]) -> list[Row]:
    """Over all fp16 points: the geometric mean of the speed-ups, and the points where the answer is to keep the peer."""
    points = {r["name"].partition("/")[2]: r["value"] for r in rows if r["name"].startswith("speedup/")}
    found = {n: x for n, x in points.items() if n.count("/") == 1}
    if not found:
        return []
    kept = {n: x for n, x in found.items() if x <= 1 / EQUAL}
    counted = [1.0 if n in kept else x for n, x in found.items()]
    if kept:
        say(f"keep yours: {', '.join(kept)}")
    return [
        row("geomean", math.exp(sum(map(math.log, counted)) / len(counted)), "x", ">= 1.3"),
        row("kept", len(kept), "points"),
        row("points", len(found), "points"),
    ]


def shared(gpus: int, arguments: list[str], out: Path, patterns: str) -> dict[str, Any]:
    """One process a GPU, each with every gpus-th workload and its share of the cores; their reports together."""
    cores = max(1, usable_cores() // gpus)
    running = []
    for i in range(gpus):
        wanted = [f"{name}/*" for name in list(WORKLOADS)[i::gpus]]
        part = out.with_suffix(f".{i}.json")
        command = [
            sys.executable,
            __file__,
            *arguments,
            "--out",
            str(part),
            "--points",
            patterns,
            "--of",
            ",".join(wanted),
        ]
        if shutil.which("taskset"):
            command = ["taskset", "-c", f"{i * cores}-{(i + 1) * cores - 1}", *command]
        environment = {**os.environ, "CUDA_VISIBLE_DEVICES": str(i)}
        running.append((part, subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)))
    reports = []
    for part, process in running:
        process.wait()
        if part.exists():
            reports.append(json.loads(part.read_text()))
    return {
        **(reports[0] if reports else {}),
        "rows": [r for x in reports for r in x["rows"]],
        "variants": [v for x in reports for v in x["variants"]],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--points", default="*", help="patterns of points, by comma")
    parser.add_argument("--seconds", type=float, default=560.0, help="begin no further workload after this long")
    parser.add_argument("--dtype", default="fp16")
    parser.add_argument("--quick", action="store_true", help="without torch.compile")
    parser.add_argument("--out", type=Path, help="the report, written after each point; its points are not run again")
    parser.add_argument("--gpus", type=int, default=1, help="as many workloads side by side, with --out")
    parser.add_argument("--of", default="*", help="of these patterns of points alone")
    args = parser.parse_args()
    from mirage.profile.gpu_timing import require_gpu

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
    end = "" if args.dtype == "fp16" else f"/{args.dtype}"

    def wanted(name: str, batch: int) -> bool:
        point = f"{name}/bs{batch}"
        groups = (args.points.split(","), args.of.split(","))
        return point + end not in done and all(any(fnmatch(point, p) for p in g) for g in groups)

    def keep(rows: list[Row], variants: list[Row]) -> None:
        report["rows"] += rows
        report["variants"] += variants
        if args.out:
            args.out.write_text(json.dumps(report, allow_nan=True))

    report |= {
        "bench": "gpu", "date": datetime.date.today().isoformat(), "device": torch.cuda.get_device_name(),
        "versions": {"torch": torch.__version__, "triton": triton.__version__},
    }  # fmt: skip
    if args.gpus > 1 and args.out:
        rest = ["--seconds", str(args.seconds), "--dtype", args.dtype, *(["--quick"] if args.quick else [])]
        report = shared(args.gpus, rest, args.out, args.points)
    for name in WORKLOADS if args.gpus == 1 else ():
        batches = [b for b in BATCHES if wanted(name, b)]
        if not batches:
            continue
        if time.monotonic() - started > args.seconds:
            say(f"{name}: no time left")
            continue
        try:
            workload(name, batches, args.dtype, args.quick, keep)
        except MirageError as e:
            say(f"{name}: {e}")
    report["rows"] = [r for r in report["rows"] if "/" in r["name"]] + totals(report["rows"])
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
