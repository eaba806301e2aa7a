"""The examples on a GPU: the search's best candidates, each emitted, compiled and timed beside eager and torch.compile.

    python benchmarks/gpu.py [--json] [--points NAME,NAME] [--seconds S] [--candidates N]

Rows: us/NAME (best measured kernel, cold L2), peer/NAME (the better of eager and torch.compile), speedup/NAME, sol/NAME
(per cent of the time of the bytes alone), model/NAME (estimate over measurement of the kernel that the model would choose).
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "core")]

from mirage.codegen.emit import emit_module  # noqa: E402
from mirage.errors import MirageError  # noqa: E402
from mirage.mugraph.grammar import CustomKernel, MuGraph  # noqa: E402
from mirage.pipeline import Request, floor, problem, read  # noqa: E402
from mirage.plan import plan  # noqa: E402
from mirage.profile.devices import device  # noqa: E402
from mirage.profile.roofline import estimate  # noqa: E402
from mirage.program.ir import Program  # noqa: E402
from mirage.program.lower import lower  # noqa: E402
from mirage.search.engine import Search  # noqa: E402
from mirage.source import detect  # noqa: E402

TARGET = "sm_90"


def traced(path: Path) -> tuple[Any, Program]:
    from mirage.program.task import trace

    text = path.read_text()
    name = detect.find(text, str(path)).functions[0].name
    function = read(Request(text, str(path), name))
    inputs = [
        {"name": i.name, "shape": list(i.shape), "dtype": i.dtype, "names": list(i.dim_names)} for i in function.inputs
    ]
    payload = {"text": function.slice.text, "function": name, "inputs": inputs}
    return function, Program.from_dict(trace(payload)["program"])


def variants(best: list[MuGraph]) -> list[MuGraph]:
    """Each candidate with four and with eight warps."""
    out = []
    for g in best:
        for warps in (4, 8):
            kernels = tuple(replace(k, warps=warps) if isinstance(k, CustomKernel) else k for k in g.kernels)
            out.append(replace(g, kernels=kernels))
    return out


def point(path: Path, count: int, deadline: float) -> list[dict[str, Any]]:
    import torch

    from mirage.codegen.interpreter import load_module
    from mirage.profile.gpu import measure, random_tensor, relative_difference

    function, program = traced(path)
    lowered = lower(program)
    dev = device(TARGET)
    search = Search(problem(program, lowered), lambda g: estimate(g, dev))
    for _ in search.run():
        pass
    name = function.decorated.name
    dtypes = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32, "bool": torch.bool}

    def inputs(seed: int) -> list[Any]:
        generator = torch.Generator("cuda").manual_seed(seed)
        return [random_tensor(i.type.shape, dtypes[i.type.dtype], generator) for i in program.inputs]

    functions: dict[str, Any] = {}
    given = inputs(0)
    original = None
    for i, g in enumerate(variants([c.mugraph for c in search.best[:count]])):
        if time.monotonic() > deadline:
            break
        text = emit_module(program, plan(g), function.slice.text, function=name, header={})
        module = load_module(text, interpret=False)
        original = original or getattr(module, f"_original_{name}")
        try:
            difference = relative_difference(getattr(module, name)(*given), original(*given))
        except Exception as e:  # one candidate that does not compile here is a figure, not the end
            print(f"{name}: candidate {i}: {type(e).__name__}: {str(e)[:120]}", file=sys.stderr)
            continue
        if difference > 0.02:
            print(f"{name}: candidate {i} differs by {difference:.3g}", file=sys.stderr)
            return [row(f"wrong/{name}", difference, "relative", "<= 0.02")]
        functions[str(i)] = getattr(module, name)
    assert original is not None
    functions["eager"] = original
    functions["compile"] = torch.compile(original)
    functions["compile"](*given)
    times = measure(functions, inputs, repetitions=5)
    kernels = {k: t.cold for k, t in times.items() if k.isdigit()}
    best = min(kernels, key=kernels.__getitem__)
    peer = min(times["eager"].cold, times["compile"].cold)
    light = floor(program, dev)
    chosen = search.best[int(best) // 2]
    first = min(kernels[k] for k in kernels if int(k) // 2 == 0) if any(int(k) < 2 for k in kernels) else float("nan")
    print(
        f"{name}: best {chosen.label} ({'48'[int(best) % 2]} warps); model's first {search.best[0].label}",
        file=sys.stderr,
    )
    return [
        row(f"us/{name}", kernels[best], "us"),
        row(f"eager/{name}", times["eager"].cold, "us"),
        row(f"compile/{name}", times["compile"].cold, "us"),
        row(f"speedup/{name}", peer / kernels[best], "x"),
        row(f"sol/{name}", 100 * light / kernels[best], "%"),
        row(f"model/{name}", search.best[0].us / first, "x"),
        row(f"first/{name}", first, "us"),
    ]


def row(name: str, value: float, unit: str, bound: str | None = None) -> dict[str, Any]:
    ok = bound is None or value <= float(bound.split()[1])
    return {"name": name, "value": round(value, 4), "unit": unit, "bound": bound, "ok": ok}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--points", default="", help="names of examples, by comma; all when empty")
    parser.add_argument("--seconds", type=float, default=500.0, help="stop before the next point after this long")
    parser.add_argument("--candidates", type=int, default=8)
    args = parser.parse_args()
    from mirage.profile.gpu import require_gpu

    try:
        require_gpu()
    except MirageError as e:
        print(e, file=sys.stderr)
        return 1
    import torch
    import triton

    deadline = time.monotonic() + args.seconds
    wanted = set(filter(None, args.points.split(",")))
    rows: list[dict[str, Any]] = []
    for path in sorted((ROOT / "examples").glob("*.py")):
        if (wanted and path.stem not in wanted) or time.monotonic() > deadline:
            continue
        rows += point(path, args.candidates, deadline)
        if not args.json:
            for r in rows[-7:]:
                print(f"{r['name']:32} {r['value']:10.3f} {r['unit']}", flush=True)
    report = {
        "bench": "gpu", "date": datetime.date.today().isoformat(), "device": torch.cuda.get_device_name(),
        "versions": {"torch": torch.__version__, "triton": triton.__version__}, "rows": rows,
    }  # fmt: skip
    if args.json:
        print(json.dumps(report))
    return 0 if all(r["ok"] for r in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
