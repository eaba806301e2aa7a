"""The hand-written µGraphs through the back of the house: emission, the CPU interpreter, the compiler for sm_90,
and, where there is a GPU, the clock beside eager PyTorch and torch.compile.

    python benchmarks/hand.py [--json] [--gpu] [NAME ...]
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "core"), str(ROOT / "tests")]

from workloads import hand  # noqa: E402

from mirage.codegen.emit import emit_module  # noqa: E402
from mirage.devices.table import device  # noqa: E402
from mirage.ir.dtypes import DTYPES  # noqa: E402
from mirage.ir.program import Program  # noqa: E402
from mirage.ir.tensor_spec import TensorSpec  # noqa: E402
from mirage.mugraph.grammar import MuGraph  # noqa: E402
from mirage.profile.roofline import estimate, speed_of_light  # noqa: E402

TARGET = "sm_90"


def program_of(mugraph: MuGraph) -> Program:
    """The program's signature, as far as emission reads it."""
    inputs = tuple(TensorSpec(t.name, mugraph.shape(t), t.dtype) for t in mugraph.inputs)
    return Program(mugraph.name, inputs, (), tuple(range(len(mugraph.outputs))))


def emitted(case: hand.Case) -> str:
    """The module of a case; the source without its decorator is the original."""
    lines = [x for x in case.source.splitlines() if not x.startswith("@mirage") and x != "import mirage"]
    return emit_module(
        program_of(case.mugraph), case.mugraph, "\n".join(lines), function=case.name, header={"mugraph": case.name}
    )


def interpreted(name: str) -> dict[str, float]:
    """In a process of its own: the error of the small case against float64, and that of the original."""
    import numpy as np
    import torch

    from mirage.codegen.interpreter import float_interpreter, load_module

    case = hand.small()[name]
    module = load_module(emitted(case))
    arrays = case.inputs()
    tensors = [torch.tensor(a, dtype=torch.float16) for a in arrays]
    want = case.reference(*arrays)
    scale = float(np.abs(want).max())
    with float_interpreter():
        got = module._run(*tensors)
    eager = getattr(module, f"_original_{name}")(*tensors)
    return {k: float(np.abs(v.double().numpy() - want).max()) / scale for k, v in (("kernel", got), ("eager", eager))}


def row(name: str, value: float, unit: str, bound: str | None = None) -> dict[str, Any]:
    ok = True
    if bound is not None:
        operator, limit = bound.split()
        ok = {"<=": value <= float(limit), ">=": value >= float(limit), "==": value == float(limit)}[operator]
    return {"name": name, "value": round(value, 7), "unit": unit, "bound": bound, "ok": ok}


def rows_of(name: str, gpu: bool) -> list[dict[str, Any]]:
    env = {**os.environ, "TRITON_INTERPRET": "1"}
    run = subprocess.run(
        [sys.executable, __file__, "--interpret", name], env=env, capture_output=True, text=True, timeout=300
    )
    if run.returncode != 0:
        raise SystemExit(f"hand: {name} fails in the interpreter:\n{run.stderr[-3000:]}")
    errors = json.loads(run.stdout)
    rows = [
        row(f"{name}/interpreter_error", errors["kernel"], "relative", f"<= {max(2 * errors['eager'], 1e-3):.6f}"),
        row(f"{name}/eager_error", errors["eager"], "relative"),
    ]
    case = hand.real(name)
    text = emitted(case)
    from mirage.profile.compiler_facts import compile_module

    for facts in compile_module(text, TARGET):
        rows.append(row(f"{name}/{facts.name}/shared", facts.shared, "bytes", f"<= {facts.limit}"))
        rows.append(row(f"{name}/{facts.name}/registers", facts.registers, "a thread"))
        rows.append(row(f"{name}/{facts.name}/spills", facts.spills, "bytes", "== 0"))
    graph, card = case.mugraph, device(TARGET)
    moved = float(sum(bytes_of(graph, t.name) for t in graph.tensors if t.kind != "temp"))
    rows.append(row(f"{name}/estimate", estimate(graph, card), "us"))
    rows.append(row(f"{name}/bytes_floor", speed_of_light(moved, 0, 0, 0, card), "us"))
    if gpu:
        from mirage.profile.gpu_timing import times_of_module

        found = times_of_module({"text": text, "function": name, "compile": True})
        rows.append(row(f"{name}/gpu_difference", found["error"], "relative", "<= 0.02"))
        for kind, times in found["times"].items():
            rows.append(row(f"{name}/{kind}/cold", times["cold"], "us"))
            rows.append(row(f"{name}/{kind}/hot", times["hot"], "us"))
    return rows


def bytes_of(graph: MuGraph, name: str) -> int:
    t = graph.tensor(name)
    n = DTYPES[t.dtype].bytes
    for s in graph.shape(t):
        n *= s
    return n


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="of the hand-written µGraphs; all when none is given")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--gpu", action="store_true", help="measure on this machine's GPU")
    parser.add_argument("--interpret", metavar="NAME", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.interpret:
        print(json.dumps(interpreted(args.interpret)))
        return 0
    rows = [r for name in (args.names or hand.BUILDERS) for r in rows_of(name, args.gpu)]
    import torch
    import triton

    where = torch.cuda.get_device_name() if args.gpu else platform.processor() or platform.machine()
    if args.json:
        versions = {"torch": torch.__version__, "triton": triton.__version__}
        date = datetime.date.today().isoformat()
        print(json.dumps({"bench": "hand", "date": date, "device": where, "versions": versions, "rows": rows}))
    else:
        for r in rows:
            print(
                f"{r['name']:<56} {r['value']:>14g} {r['unit']:<9} {r['bound'] or '':<14} {'' if r['ok'] else 'NOT OK'}"
            )
    return 0 if all(r["ok"] for r in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
