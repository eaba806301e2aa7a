"""What each part of the way to a kernel is worth on a GPU: the same points with one part switched off at a time.

    python benchmarks/ablation.py [--json] [--points NAME/bsN,...] [--candidates N] [--out FILE]

Switches: algebra (reductions only as they are written), splits (no reduction shared by several blocks), and every pass of the
plan (operand scaling, thread fusion, operator order, layout, memory plan). For each, the model's first N candidates are emitted,
checked and timed, each with its own launch; us/SWITCH/POINT is the best. texts/SWITCH/POINT says how many emitted texts differ
from those with everything on: 0 means that the switch cannot matter under Triton. shared/POINT: predicted over compiled bytes
of shared memory, the median.
"""

from __future__ import annotations

import argparse
import datetime
import json
import statistics
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "core"), str(Path(__file__).resolve().parent)]

from candidates import KEPT, TARGET, traced  # noqa: E402

from mirage.codegen.emit import emit_module  # noqa: E402
from mirage.devices.table import device  # noqa: E402
from mirage.mugraph.grammar import CustomKernel, MuGraph  # noqa: E402
from mirage.pipeline.search_problems import problems  # noqa: E402
from mirage.plan import PASSES, memory, plan  # noqa: E402
from mirage.profile.roofline import estimate  # noqa: E402
from mirage.search.engine import Bounds, Candidate, Search  # noqa: E402
from mirage.search.one_row import bounds_for  # noqa: E402

POINTS = ("rmsnorm_linear/bs16", "gated_mlp/bs8", "gqa_decode/bs8", "qknorm_attention/bs8")
Row = dict[str, Any]


def is_split(m: MuGraph) -> bool:
    return any(d.role == "split" for k in m.kernels if isinstance(k, CustomKernel) for d in k.block.dims)


def candidates(name: str, batch: int, bounds: Bounds) -> tuple[Any, Any, list[Candidate]]:
    """The function as read, its program, and the searches' answers."""
    function, program = traced(name, batch, "fp16")
    dev = device(TARGET)
    best: list[Candidate] = []
    for posed in problems(program):
        search = Search(posed, lambda g: estimate(g, dev), bounds=bounds_for(posed, bounds, best))
        for _ in search.run():
            pass
        best += search.best
    return function, program, sorted(best, key=lambda c: c.us)


def texts(point: str, count: int) -> tuple[str, dict[str, list[tuple[MuGraph, str]]]]:
    """The function's name, and for each switch the planned µGraphs and their texts."""
    name, _, batch = point.partition("/bs")
    function, program, best = candidates(name, int(batch), Bounds(keep=KEPT))
    written = candidates(name, int(batch), Bounds(keep=KEPT, systems=1))[2]

    def emitted(some: list[Candidate], without: tuple[str, ...] = ()) -> list[tuple[MuGraph, str]]:
        graphs = [plan(c.mugraph, without=without) for c in some[:count]]
        return [(g, emit_module(program, g, function.slice.text, function=name, header={})) for g in graphs]

    found = {"nothing": emitted(best), "algebra": emitted(written)}
    found["splits"] = emitted([c for c in best if not is_split(c.mugraph)])
    found |= {p: emitted(best, (p,)) for p in PASSES}
    return name, found


def measured(point: str, count: int) -> list[Row]:
    from mirage.profile.tune import tune_modules

    name, found = texts(point, count)
    every = list(dict.fromkeys(text for some in found.values() for _, text in some))
    answer = tune_modules({"texts": every, "function": name, "processes": 15}, lambda event: None)
    times = {t: r.get("cold") for t, r in zip(every, answer["rows"], strict=True)}
    compiled = {t: r.get("shared") for t, r in zip(every, answer["rows"], strict=True)}
    on = {text for _, text in found["nothing"]}
    rows = []
    for switch, some in found.items():
        ran = [us for _, t in some if (us := times[t]) is not None]
        if ran:
            rows.append(
                {"name": f"us/{switch}/{point}", "value": round(min(ran), 3), "unit": "us", "bound": None, "ok": True}
            )
        differ = sum(t not in on for _, t in some)
        rows.append({"name": f"texts/{switch}/{point}", "value": differ, "unit": "texts", "bound": None, "ok": True})
    ratios = [
        max((p.shared for p in memory(g)), default=0) / of_text for g, t in found["nothing"] if (of_text := compiled[t])
    ]  # fmt: skip
    if ratios:
        value = round(statistics.median(ratios), 3)
        rows.append({"name": f"shared/{point}", "value": value, "unit": "x", "bound": None, "ok": True})
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--points", default=",".join(POINTS))
    parser.add_argument("--candidates", type=int, default=8)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    import torch
    import triton

    rows: list[Row] = []
    for point in args.points.split(","):
        rows += measured(point, args.candidates)
    report = {
        "bench": "ablation", "date": datetime.date.today().isoformat(), "device": torch.cuda.get_device_name(),
        "versions": {"torch": torch.__version__, "triton": triton.__version__}, "rows": rows,
    }  # fmt: skip
    if args.out:
        args.out.write_text(json.dumps(report))
    print(json.dumps(report) if args.json else "\n".join(f"{r['name']:44} {r['value']:10} {r['unit']}" for r in rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
