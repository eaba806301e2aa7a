"""Helion beside the best measured kernels: three points, each kernel written by hand in Helion and tuned by it for --budget seconds.

    python benchmarks/helion_peers.py [--json] [--points P,P] [--results FILE] [--budget S] [--out FILE]

The kernels of this project are the texts of --results (what `gpu.py --out` wrote). Rows: us/POINT and helion/POINT (cold, in the
same run), over_helion/POINT (x), error/POINT (Helion's, against float64), tuned/POINT (s that Helion took). Needs the package
helion, which nothing else here does.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "core"), str(Path(__file__).resolve().parent)]

from points import fastest  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results" / "h200-points.json"
POINTS = ("rmsnorm_linear/bs16", "gated_mlp/bs8", "gqa_rows/bs8")


def kernels(budget: int) -> dict[str, Callable[..., Any]]:
    """Those of `helion_kernels`; Helion reads its settings from the environment."""
    os.environ["HELION_AUTOTUNE_BUDGET_SECONDS"] = str(budget)
    os.environ["HELION_AUTOTUNE_COMPILE_TIMEOUT"] = (
        "15"  # by itself 60 s: two slow tiles of the first round took the budget
    )
    os.environ["HELION_AUTOTUNE_PROGRESS_BAR"] = "0"
    from helion_kernels import KERNELS

    return dict(KERNELS)


def row(name: str, value: float, unit: str, bound: str | None = None) -> dict[str, Any]:
    return {"name": name, "value": round(value, 5), "unit": unit, "bound": bound, "ok": bound is None or value <= 0.02}


def compared(point: str, text: str, kernel: Callable[..., Any]) -> list[dict[str, Any]]:
    from mirage.codegen.interpreter import load_module
    from mirage.profile.gpu_timing import measure, relative_difference
    from mirage.profile.tune import inputs_of

    module = load_module(text, interpret=False)
    given = inputs_of(module, 1)
    want = getattr(module, f"_original_{point.partition('/')[0]}")(*[x.double() for x in given])
    start = time.monotonic()
    error = relative_difference(kernel(*given), want)
    tuned = time.monotonic() - start
    found = measure({"kernel": module._run, "helion": kernel}, lambda seed: inputs_of(module, seed))
    us, helion = found["kernel"].cold, found["helion"].cold
    return [
        row(f"us/{point}", us, "us"), row(f"helion/{point}", helion, "us"), row(f"over_helion/{point}", helion / us, "x"),
        row(f"error/{point}", error, "relative", "<= 0.02"), row(f"tuned/{point}", tuned, "s"),
    ]  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--points", default=",".join(POINTS))
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--budget", type=int, default=90, help="seconds that Helion may tune each kernel")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    try:
        written = kernels(args.budget)
    except ImportError as e:
        print(f"Helion cannot be imported: {e}", file=sys.stderr)
        return 1
    from importlib.metadata import version

    import torch
    import triton

    texts = fastest(json.loads(args.results.read_text()))
    rows: list[dict[str, Any]] = []
    for point in args.points.split(","):
        rows += compared(point, texts[point], written[point.partition("/")[0]])
        print("; ".join(f"{r['name']} {r['value']}" for r in rows[-5:]), file=sys.stderr, flush=True)
        report = {
            "bench": "helion", "date": datetime.date.today().isoformat(), "device": torch.cuda.get_device_name(),
            "versions": {"torch": torch.__version__, "triton": triton.__version__, "helion": version("helion")}, "rows": rows,
        }  # fmt: skip
        if args.out:
            args.out.write_text(json.dumps(report))
    print(json.dumps(report) if args.json else "\n".join(f"{r['name']:32} {r['value']:10} {r['unit']}" for r in rows))
    return 0 if all(r["ok"] for r in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
