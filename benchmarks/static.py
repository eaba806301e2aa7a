"""Without a GPU: candidates ranked by the model and by the static profile, against the order in which an H200 ran them.

    python benchmarks/static.py [--json] [--points GLOB,GLOB] [--many N] [--seconds S] [--processes N] [--out FILE]

The candidates are those of `results/h200-candidates.json.xz`: µGraphs, the modules that they were emitted as, and the times
that these took. The model sees the µGraph. The static profile compiles the module ahead of time for sm_90, in processes side
by side: shared memory, registers and spills then take the place of the model's idea of them; what does not fit in a block's shared
memory stands last. --many: candidates of a point (the same ones each time; 0: all), 24 unless said otherwise, which takes about
two minutes of two processors. --out keeps what the compiler said, so that another run goes on from there.

Rows: rho/model/POINT and rho/static/POINT (Spearman's rank correlation with the measured order, of the same candidates),
rho/all/POINT (of the model, all candidates of the point), first/model/POINT and first/static/POINT (the time of the one put
first over the best of them), each with its median; error/model, error/static (the factor by which a time is off,
geometric mean); compiled, and same (modules whose kernels have the shared memory and registers that the GPU's run had);
shared/ratio (predicted shared memory over the compiled one: median over kernels), shared/worst (the kernel furthest off), shared/over
(kernels that fit, and were thought not to, and the other way round); tensor (kernels with a product on tensor cores in the µGraph
without such an instruction).
"""

from __future__ import annotations

import argparse
import datetime
import fnmatch
import hashlib
import json
import lzma
import math
import multiprocessing
import platform
import random
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "core")]

from mirage.devices.table import device  # noqa: E402
from mirage.errors import MirageError  # noqa: E402
from mirage.mugraph.capacity import shared_bytes  # noqa: E402
from mirage.mugraph.decisions import decide  # noqa: E402
from mirage.mugraph.grammar import CustomKernel, MuGraph  # noqa: E402
from mirage.mugraph.parse import parse  # noqa: E402
from mirage.mugraph.walk import parts  # noqa: E402
from mirage.profile.roofline import Compiled, estimate  # noqa: E402
from mirage.profile.worker_tasks import KernelRow  # noqa: E402

TARGET = "sm_90"
DATA = ROOT / "benchmarks" / "results" / "h200-candidates.json.xz"
LEAST = 4  # candidates of a point that make an order
Row = dict[str, Any]
Facts = list[KernelRow]


def candidates(path: Path = DATA) -> list[dict[str, Any]]:
    """The measured candidates: {point, mugraph, text, us, registers, spills, shared, ...}."""
    with lzma.open(path, "rt") as f:
        found: list[dict[str, Any]] = json.load(f)["candidates"]
    return [c for c in found if "us" in c]


def compiled(text: str) -> Facts | str:
    """What the compiler says of a module's kernels, in launch order; or why it refused."""
    from mirage.profile.compiler_facts import facts_of_module as task

    try:
        kernels: Facts = task({"text": text, "target": TARGET})["kernels"]
    except MirageError as e:
        return str(e)
    return kernels


def chosen(points: dict[str, list[dict[str, Any]]], many: int) -> list[dict[str, Any]]:
    """Of each point the same candidates each time, one point after the other in turn: a run that is cut short has some of all."""
    drawn = [random.Random(p).sample(own, min(len(own), many or len(own))) for p, own in points.items()]
    longest = max(map(len, drawn), default=0)
    return [own[i] for i in range(longest) for own in drawn if i < len(own)]


def ranks(values: Sequence[float]) -> list[float]:
    """Places from 1, those of equal values shared."""
    order = sorted(range(len(values)), key=values.__getitem__)
    out = [0.0] * len(values)
    i = 0
    while i < len(order):
        j = i
        while j + 1 < len(order) and values[order[j + 1]] == values[order[i]]:
            j += 1
        for k in order[i : j + 1]:
            out[k] = (i + j) / 2 + 1
        i = j + 1
    return out


def spearman(a: Sequence[float], b: Sequence[float]) -> float:
    """The rank correlation; 0 where one of them is all alike."""
    x, y = ranks(a), ranks(b)
    return statistics.correlation(x, y) if len(set(x)) > 1 < len(set(y)) else 0.0


def static_us(mugraph: MuGraph, facts: Facts) -> float:
    """The model's time with what the compiler said; without end where a kernel does not fit."""
    if not all(f["fits"] for f in facts):
        return math.inf
    known = [Compiled(f["shared"], f["registers"], f["spills"]) for f in facts]
    return estimate(mugraph, device(TARGET), known)


def predicted(mugraph: MuGraph) -> list[int]:
    """Bytes of shared memory of each custom kernel, as the plan expects them."""
    out: dict[str, int] = {}
    for part in parts(mugraph):
        stages = part.kernel.stages if part.role == "block" else 1
        out[part.kernel.name] = max(out.get(part.kernel.name, 0), shared_bytes(mugraph, part, stages))
    return list(out.values())


def with_products(mugraph: MuGraph) -> list[bool]:
    """For each custom kernel whether it has a product that is large enough for the tensor cores."""
    found = {k.name: False for k in mugraph.kernels if isinstance(k, CustomKernel)}
    for part in parts(mugraph):
        found[part.kernel.name] |= bool(decide(part.graph, part.kernel.warps).products)
    return list(found.values())


def row(name: str, value: float, unit: str = "") -> Row:
    return {"name": name, "value": round(value, 4), "unit": unit, "bound": None, "ok": True}


def order_rows(
    found: dict[str, list[tuple[float, float, float]]], every: dict[str, list[tuple[float, float]]]
) -> Iterator[Row]:
    """The rank correlations and first choices, from (model, static, measured) of what was compiled, (model, measured) of all."""
    table: dict[str, dict[str, float]] = {}
    for point, own in found.items():
        if len(own) < LEAST:
            continue
        us = [m for _, _, m in own]
        for i, kind in enumerate(("model", "static")):
            said = [t[i] for t in own]
            table.setdefault(f"rho/{kind}", {})[point] = spearman(said, us)
            table.setdefault(f"first/{kind}", {})[point] = us[said.index(min(said))] / min(us)
    for point, both in every.items():
        table.setdefault("rho/all", {})[point] = spearman([a for a, _ in both], [b for _, b in both])
        table.setdefault("first/all", {})[point] = min(both)[1] / min(b for _, b in both)
    for kind, own_rows in sorted(table.items()):
        unit = "x" if kind.startswith("first") else ""
        yield from (row(f"{kind}/{p}", x, unit) for p, x in own_rows.items())
        yield row(f"{kind}/median", statistics.median(own_rows.values()), unit)
    pairs = [t for own in found.values() for t in own]
    for i, kind in enumerate(("model", "static")):
        off = [abs(math.log(t[i] / t[2])) for t in pairs if math.isfinite(t[i])]
        if off:
            yield row(f"error/{kind}", math.exp(statistics.mean(off)), "x")


def memory_rows(kernels: list[tuple[int, int, int]]) -> Iterator[Row]:
    """Predicted against compiled shared memory of every kernel: (predicted, compiled, limit)."""
    ratios = [max(p, 1) / c for p, c, _ in kernels if c > 1024]  # below that it is the compiler's scratch
    if ratios:
        yield row("shared/ratio", statistics.median(ratios), "x")
        yield row("shared/worst", max(ratios, key=lambda x: abs(math.log(x))), "x")
        yield row("shared/within10", 100 * sum(0.9 <= x <= 1.1 for x in ratios) / len(ratios), "%")
        yield row("shared/over", sum((p <= m) != (c <= m) for p, c, m in kernels), "kernels")
    yield row("shared/kernels", len(kernels), "kernels")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--points", default="*", help="patterns of points, by comma")
    parser.add_argument("--many", type=int, default=24, help="candidates of a point that are compiled (0: all)")
    parser.add_argument("--seconds", type=float, default=600.0, help="compile nothing further after this long")
    parser.add_argument("--processes", type=int, default=max(1, multiprocessing.cpu_count()))
    parser.add_argument("--out", type=Path, help="what the compiler said, by module; read first, written at the end")
    args = parser.parse_args()
    import triton

    points: dict[str, list[dict[str, Any]]] = {}
    for c in candidates():
        if any(fnmatch.fnmatch(c["point"], p) for p in args.points.split(",")):
            points.setdefault(c["point"], []).append(c)
    wanted = chosen(points, args.many)
    keys = [hashlib.sha256(f"{triton.__version__} {c['text']}".encode()).hexdigest() for c in wanted]
    known: dict[str, Facts | str] = json.loads(args.out.read_text()) if args.out and args.out.exists() else {}
    todo = [i for i, k in enumerate(keys) if k not in known]
    end = time.monotonic() + args.seconds
    with ProcessPoolExecutor(args.processes, multiprocessing.get_context("spawn")) as pool:
        waiting = {i: pool.submit(compiled, wanted[i]["text"]) for i in todo}
        for i, future in waiting.items():
            if time.monotonic() > end:
                future.cancel()
            if not future.cancelled():
                known[keys[i]] = future.result()
    if args.out:
        args.out.write_text(json.dumps(known))

    graphs = {c["mugraph"]: parse(c["mugraph"]) for own in points.values() for c in own}
    model = {text: estimate(g, device(TARGET)) for text, g in graphs.items()}
    found: dict[str, list[tuple[float, float, float]]] = {}
    kernels: list[tuple[int, int, int]] = []
    refused = same = without = 0
    for c, key in zip(wanted, keys, strict=True):
        facts = known.get(key)
        if facts is None or isinstance(facts, str):
            refused += isinstance(facts, str)
            continue
        graph = graphs[c["mugraph"]]
        found.setdefault(c["point"], []).append((model[c["mugraph"]], static_us(graph, facts), c["us"]))
        kernels += [(p, f["shared"], f["limit"]) for p, f in zip(predicted(graph), facts, strict=True)]
        most = (max(f["shared"] for f in facts), max(f["registers"] for f in facts))
        same += most == (c["shared"], c["registers"])
        without += sum(w and not f["tensor_cores"] for w, f in zip(with_products(graph), facts, strict=True))
    every = {p: [(model[c["mugraph"]], c["us"]) for c in own] for p, own in points.items()}
    done = sum(map(len, found.values()))
    rows = [
        *order_rows(found, every), *memory_rows(kernels), row("compiled", done, "candidates"),
        row("refused", refused, "candidates"), row("same", same, "candidates"), row("tensor", without, "kernels"),
    ]  # fmt: skip
    report = {
        "bench": "static", "date": datetime.date.today().isoformat(), "device": platform.processor() or platform.machine(),
        "versions": {"triton": triton.__version__, "python": platform.python_version()}, "rows": rows,
    }  # fmt: skip
    if args.json:
        print(json.dumps(report))
    else:
        for r in rows:
            print(f"{r['name']:36} {r['value']:10.3f} {r['unit']}")
    return 0 if done else 1


if __name__ == "__main__":
    raise SystemExit(main())
