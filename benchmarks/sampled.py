"""Times of many candidates on a GPU, good and bad ones: what the model of `profile/roofline.py` is fitted on and judged by.

    python benchmarks/sampled.py --out FILE [--points GLOB,GLOB] [--seconds S] [--many N]

Of each point a sample of a wide search: the model's first ones, the best of each structure, and others at random (seeded), each
with its own launch and with another. The file (JSON, .xz) has a row for each: point, µGraph, the module's text, us (cold, CUDA
graphs), error against the function as written, registers, spills and shared memory. Points that it has are not run again.
"""

from __future__ import annotations

import argparse
import datetime
import json
import lzma
import multiprocessing
import random
import sys
import time
from concurrent.futures import Future, ProcessPoolExecutor, wait
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, cast

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "core"), str(Path(__file__).resolve().parent)]

from points import BATCHES, WORKLOADS, Workload  # noqa: E402

PROCESSES = 15
BATCHES_OF_A_POINT = 6
GROUP = 9  # points that are compiled together
TARGET = "sm_90"
LEAD, FIRSTS = 20, 12  # the model's first ones, and the best of each of so many structures
WRONG = 0.02
COMPILE_S = 40
STAGES = (1, 2, 4, 5)
Row = dict[str, Any]

# Beside the benchmark's points: where products, exponentials or several kernels decide.
FURTHER: dict[str, tuple[Workload, tuple[int, ...]]] = {
    "rmsnorm_linear": (WORKLOADS["rmsnorm_linear"], (128, 1024)),
    "gated_mlp": (WORKLOADS["gated_mlp"], (256,)),
    "lora": (WORKLOADS["lora"], (512,)),
    "layernorm_linear": (
        Workload(((-1, 2048), (2048,), (2048,), (2048, 8192)), "x, g, b, w",
                 ("return F.layer_norm(x, (2048,), g, b, 1e-5) @ w",)), (16, 512)),
    "mlp": (
        Workload(((-1, 2048), (2048, 1024), (1024, 2048)), "x, a, b", ("return F.gelu(x @ a) @ b",)), (16, 512)),
    "softmax_rows": (
        Workload(((-1, 4096), (-1, 4096)), "x, y", ("return torch.softmax(x + y, dim=-1)",)), (64, 4096)),
    "prefill": (
        Workload(((-1, 16, 1024, 64), (-1, 16, 1024, 64), (-1, 16, 1024, 64)), "q, k, v",
                 ("return F.scaled_dot_product_attention(q, k, v)",), True), (1, 4)),
    "norm_rows": (Workload(((-1, 8192), (8192,)), "x, g", ("return F.rms_norm(x, (8192,), g, 1e-6)",)), (16, 2048)),
}  # fmt: skip


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def points() -> dict[str, tuple[Workload, int]]:
    """Every point by its name, WORKLOAD/bsN."""
    found = {f"{n}/bs{b}": (w, b) for n, w in WORKLOADS.items() for b in BATCHES}
    return found | {f"{n}/bs{b}": (w, b) for n, (w, batches) in FURTHER.items() for b in batches}


def sample(point: str, many: int) -> list[tuple[str, str]]:
    """Searches a point; µGraphs as text and the modules that they become."""
    from dataclasses import replace

    from mirage.codegen.emit import emit_module
    from mirage.devices.table import device
    from mirage.errors import MirageError
    from mirage.ir.program import Program
    from mirage.mugraph.grammar import CustomKernel
    from mirage.mugraph.text import to_text
    from mirage.pipeline.request import Request, read
    from mirage.pipeline.search_problems import problem
    from mirage.plan import plan
    from mirage.profile.launch_variants import chosen, with_launch
    from mirage.profile.roofline import estimate
    from mirage.program.lower import lower
    from mirage.program.trace_task import trace_task as trace
    from mirage.search.engine import Bounds, Search

    workload, batch = points()[point]
    name = point.partition("/")[0]
    function = read(Request(workload.text(name, (batch,), "fp16"), f"{name}.py", name))
    inputs = [
        {"name": i.name, "shape": list(i.shape), "dtype": i.dtype, "names": list(i.names)} for i in function.inputs
    ]
    traced = trace({"text": function.slice.text, "function": name, "inputs": inputs})["program"]
    program = Program.from_dict(cast("dict[str, object]", traced))
    dev = device(TARGET)
    bounds = Bounds(keep=800, per_kernel=160, tilings=48, seconds=60.0)
    search = Search(problem(program, lower(program)), lambda g: estimate(g, dev), bounds=bounds)
    for _ in search.run():
        pass
    draw = random.Random(point)
    first = chosen(search.best, LEAD, FIRSTS)
    rest = [i for i in range(len(search.best)) if i not in first]
    ranks = first + draw.sample(rest, min(len(rest), max(0, many * 2 // 3 - len(first))))
    wanted = []
    for rank in ranks:
        graph = search.best[rank].mugraph
        wanted.append(graph)
        own = next((k.warps for k in graph.kernels if isinstance(k, CustomKernel)), 4)
        wanted.append(with_launch(graph, draw.choice([w for w in (2, 4, 8) if w != own]), 3))
        wanted.append(with_launch(graph, 0, draw.choice(STAGES)))
    head, tail = wanted[::3], [g for i, g in enumerate(wanted) if i % 3]
    draw.shuffle(tail)
    found: dict[str, str] = {}
    for graph in [*head, *tail]:
        if len(found) >= many:
            break
        try:
            planned = plan(replace(graph, notes=()))
            text = emit_module(program, planned, function.slice.text, function=name, header={})
        except MirageError:
            continue
        found.setdefault(text, to_text(planned))
    return [(graph, text) for text, graph in found.items()]


def check(function: str, texts: list[str]) -> list[Row]:
    """Each module once beside the function as written, and what the compiler made of it."""
    import signal

    import torch

    from mirage.codegen.interpreter import load_module
    from mirage.profile.gpu_timing import random_tensor, relative_difference
    from mirage.profile.tune import resources

    def late(*_: object) -> None:
        raise TimeoutError("not compiled in time")

    signal.signal(signal.SIGALRM, late)
    rows: list[Row] = []
    given = want = None
    for text in texts:
        module = load_module(text, interpret=False)
        signal.alarm(COMPILE_S)
        try:
            if given is None:
                generator = torch.Generator("cuda").manual_seed(1)
                given = [random_tensor(shape, dtype, generator) for shape, dtype in module._EXPECTED]
                want = getattr(module, f"_original_{function}")(*given)
            error = relative_difference(module._run(*given), want)
            rows.append({"error": error, **resources(module)})
        except Exception as e:  # a row of the report says why
            said = str(e).strip().splitlines()
            rows.append({"failed": f"{type(e).__name__}: {said[-1][:160] if said else ''}"})
        finally:
            signal.alarm(0)
    torch.cuda.empty_cache()
    return rows


def submitted(
    point: str, found: list[tuple[str, str]], pool: ProcessPoolExecutor
) -> list[tuple[list[int], Future[list[Row]]]]:
    """The modules of a point on their way through `check`, with their places."""
    texts = [text for _, text in found]
    batches = [list(range(i, len(texts), BATCHES_OF_A_POINT)) for i in range(BATCHES_OF_A_POINT)]
    return [(b, pool.submit(check, point.partition("/")[0], [texts[i] for i in b])) for b in batches if b]


def timed(point: str, found: list[tuple[str, str]], checks: list[tuple[list[int], Future[list[Row]]]]) -> list[Row]:
    """The rows of a point: what is right is timed, all in turn."""
    import torch

    from mirage.codegen.interpreter import load_module
    from mirage.profile.gpu_timing import measure, random_tensor

    rows: list[Row] = [{} for _ in found]
    for batch, future in checks:
        for i, r in zip(batch, future.result(), strict=True):
            rows[i] = {"point": point, "mugraph": found[i][0], "text": found[i][1], **r}
    right = [i for i, r in enumerate(rows) if r.get("error", 1.0) <= WRONG]
    modules = {i: load_module(found[i][1], interpret=False) for i in right}

    def make_inputs(seed: int) -> list[Any]:
        generator = torch.Generator("cuda").manual_seed(seed)
        return [random_tensor(s, d, generator) for s, d in modules[right[0]]._EXPECTED]

    if right:
        times = measure({str(i): modules[i]._run for i in right}, make_inputs, repetitions=3)
        for i in right:
            rows[i]["us"] = round(times[str(i)].cold, 4)
    torch.cuda.empty_cache()
    return rows


def read_report(path: Path) -> dict[str, Any]:
    """The file that `main` writes."""
    with lzma.open(path, "rt") as f:
        report: dict[str, Any] = json.load(f)
    return report


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--points", default="*")
    parser.add_argument("--seconds", type=float, default=540.0)
    parser.add_argument("--many", type=int, default=60)
    args = parser.parse_args()
    from mirage.profile.gpu_timing import require_gpu

    require_gpu()
    import torch
    import triton

    start = time.monotonic()
    report: dict[str, Any] = {"candidates": []}
    if args.out.exists():
        report = read_report(args.out)
    done = {r["point"] for r in report["candidates"]}
    wanted = [p for p in points() if p not in done and any(fnmatch(p, g) for g in args.points.split(","))]
    report |= {
        "date": datetime.date.today().isoformat(), "device": torch.cuda.get_device_name(),
        "versions": {"torch": torch.__version__, "triton": triton.__version__},
    }  # fmt: skip
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["torch", "triton", "triton.language"])
    with ProcessPoolExecutor(PROCESSES, context) as pool:
        searches = {p: pool.submit(sample, p, args.many) for p in wanted}
        for group in (wanted[i : i + GROUP] for i in range(0, len(wanted), GROUP)):
            if time.monotonic() - start > args.seconds:
                say(f"no time left for {', '.join(group)}")
                continue
            found = {p: searches[p].result() for p in group}
            checks = {p: submitted(p, found[p], pool) for p in group}
            wait([f for c in checks.values() for _, f in c])  # nothing else runs on the GPU while times are taken
            say(f"compiled {', '.join(group)} after {time.monotonic() - start:.0f} s")
            for point in group:
                rows = timed(point, found[point], checks[point])
                report["candidates"] += rows
                us = [r["us"] for r in rows if "us" in r] or [0.0]
                failed = [r["failed"] for r in rows if "failed" in r]
                say(f"{point}: {len(us)} of {len(rows)}, best {min(us):.2f} us, first {us[0]:.2f}; {failed[:1]}")
            with lzma.open(args.out, "wt") as f:
                json.dump(report, f)
            say(f"after {time.monotonic() - start:.0f} s")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
