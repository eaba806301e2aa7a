"""Random compositions of operators through the whole path: how many end in a verified custom kernel, and is one wrong?

    python benchmarks/random_programs.py [--json] [--count 200] [--first 0] [--long]

With --long they have 8 to 20 operators, with reshapes and several reductions, instead of two to five steps.
Every accepted kernel runs once more, on fresh inputs at the program's own sizes, against the function in float64.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "core"), str(ROOT / "tests")]

from mirage.isolate.cores import usable_cores  # noqa: E402

_tools: Any = None


def one(seed: int, long: bool) -> dict[str, Any]:
    """The outcome of one program: "kernel", "keep" with the reason, or the error."""
    global _tools
    from program.random_programs import long_program, random_program

    from mirage.errors import MirageError
    from mirage.pipeline.optimize import optimize
    from mirage.pipeline.processes import Tools
    from mirage.pipeline.request import Request
    from mirage.results.progress import CancelToken

    _tools = _tools or Tools()
    program = (long_program if long else random_program)(seed)
    start = time.monotonic()
    out: dict[str, Any] = {"seed": seed, "text": program.text, "program": program}
    try:
        request = Request(program.decorated(), f"random_{seed}.py", program.function, anyway=True)
        result = optimize(request, lambda _: None, CancelToken(), _tools)
        out |= {"answer": result.answer, "why": result.reason, "notes": list(result.notes), "module": result.source}
    except MirageError as e:
        out |= {"answer": "error", "why": str(e), "notes": [], "module": ""}
    return out | {"seconds": time.monotonic() - start}


def check(found: dict[str, Any]) -> float:
    """The kernel's error over the function's own (float64 is the judge) at the program's sizes; NaN where both are."""
    import torch

    from mirage.codegen.interpreter import float_interpreter, load_module

    program = found["program"]
    module = load_module(found["module"])
    dtypes = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32}
    torch.manual_seed(found["seed"] + 77)
    xs = [torch.randn(shape).to(dtypes[dtype]) for _, shape, dtype in program.inputs]
    original = getattr(module, f"_original_{program.function}")
    want, eager = original(*[x.double() for x in xs]), original(*xs)
    with float_interpreter():
        got = module._run(*xs)
    worst = 0.0
    for w, e, g in zip(*(v if isinstance(v, tuple) else (v,) for v in (want, eager, got)), strict=True):
        ok = torch.isfinite(w) & torch.isfinite(e.double())
        if not ok.any():
            continue
        scale = float(w[ok].abs().max()) or 1.0
        allowed = max(
            float((e.double() - w)[ok].abs().max()), 1e-3 * scale if e.dtype != torch.float32 else 1e-5 * scale
        )
        worst = max(worst, float((g.double() - w)[ok].abs().nan_to_num(float("inf")).max()) / (4 * allowed))
    return worst


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    os.environ["TRITON_INTERPRET"] = "1"
    seeds = range(args.first, args.first + args.count)
    with ProcessPoolExecutor(usable_cores()) as pool:
        found = list(pool.map(partial(one, long=args.long), seeds))
        kernels = [f for f in found if f["answer"] == "kernel"]
        errors = list(pool.map(check, kernels))
    for f in found:
        if f["answer"] != "kernel" and args.verbose:
            print(f"--- {f['seed']}: {f['why']}\n" + "\n".join(f["notes"][:3]) + "\n" + f["text"], file=sys.stderr)
    wrong = sum(e > 1 for e in errors)
    for f, e in zip(kernels, errors, strict=True):
        if e > 1:
            print(f"--- WRONG {f['seed']} ({e:.3g})\n{f['text']}", file=sys.stderr)
    share, least = 100 * len(kernels) / len(found), 90 if args.long else 97
    kind = "random/long" if args.long else "random"
    rows = [
        {"name": f"{kind}/kernels", "value": share, "unit": "%", "bound": f">= {least}", "ok": share >= least},
        {"name": f"{kind}/wrong", "value": wrong, "unit": "kernels", "bound": "== 0", "ok": wrong == 0},
        {"name": f"{kind}/seconds", "value": sorted(f["seconds"] for f in found)[len(found) // 2], "unit": "s (median)",
         "bound": None, "ok": True},
    ]  # fmt: skip
    if args.json:
        versions = {"python": sys.version.split()[0]}
        print(
            json.dumps(
                {
                    "bench": "random",
                    "date": datetime.date.today().isoformat(),
                    "device": "cpu",
                    "versions": versions,
                    "rows": rows,
                }
            )
        )
    else:
        for r in rows:
            print(
                f"{r['name']:20} {r['value']:10.2f} {r['unit']:12} {r['bound'] or '':8} {'' if r['ok'] else 'NOT OK'}"
            )
    return 0 if all(r["ok"] for r in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
