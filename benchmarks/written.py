"""The whole path on a GPU, closed-in workers and all: what is written is what was promised, and what the decorated function costs.

    python benchmarks/written.py [--json] [--out FILE]

An example (examples/rmsnorm_linear.py), and a function with three sizes behind one table. Each is optimized as `mirage optimize
--no-daemon --install` does; then its file is imported anew and the decorated function is called.

Rows: first/NAME (s until a kernel is right and timed, from the start of the process), seconds/NAME (until the answer), and of each
size promised/ (µs in the answer), written/ (the module's launches, measured here by themselves, over promised), decorated/
(the decorated function inside a CUDA graph over those launches), host/ (µs of host time a call of the decorated function) and
hand/ (of a plain launch of the same kernels), dispatch/ (their difference).
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import json
import math
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "core"), str(Path(__file__).resolve().parent)]

from gpu import host_times, row, say  # noqa: E402
from points import BATCHES, WORKLOADS  # noqa: E402

from mirage.ir.dtypes import TORCH_NAMES  # noqa: E402

Row = dict[str, Any]


def optimized(path: Path, name: str) -> tuple[Any, list[Row]]:
    """The result, installed, and the rows of the times on the way."""
    from mirage.pipeline.optimize import optimize
    from mirage.pipeline.request import Request
    from mirage.results.progress import CancelToken
    from mirage.runtime import installed_kernels

    start, first = time.monotonic(), math.nan

    def progress(p: Any) -> None:
        nonlocal first
        if p.best.endswith(" measured") and math.isnan(first):
            first = time.monotonic() - start

    result = optimize(Request(path.read_text(), str(path), name), progress, CancelToken())
    took = time.monotonic() - start
    say(f"{name}: {result.answer}, {result.reason}; {took:.1f} s, first {first:.1f} s; {'; '.join(result.notes)}")
    measured = result.estimate is not None and result.estimate.measured
    rows = [
        row(f"measured/{name}", float(measured), "", "== 1"),
        row(f"first/{name}", first, "s", "<= 15"),
        row(f"seconds/{name}", took, "s"),
    ]
    if result.answer == "kernel":
        installed_kernels.install_for(path.read_text(), name, result.source)
    return result, rows


def imported(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(f"users_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def sizes(result: Any) -> list[tuple[str, list[tuple[tuple[int, ...], str]], float]]:
    """Of each size that has a kernel: a name, its inputs' shapes and dtypes, and the promised µs."""
    if not result.by_size:
        return [("", [(tuple(i["shape"]), TORCH_NAMES[i["dtype"]]) for i in result.inputs], result.estimate.us)]
    return [
        (f"/{n}", [(shape, TORCH_NAMES[dtype]) for shape, dtype in s.inputs], s.estimate.us)
        for n, s in enumerate(result.by_size) if s.mugraph >= 0
    ]  # fmt: skip


def compared(path: Path, name: str, result: Any) -> list[Row]:
    import torch

    from mirage.codegen.interpreter import load_module
    from mirage.profile.gpu_timing import measure, random_tensor

    public, module, rows = getattr(imported(path), name), load_module(result.source, interpret=False), []
    for end, shapes, promised in sizes(result):

        def inputs(seed: int, shapes: Any = shapes) -> list[Any]:
            generator = torch.Generator("cuda").manual_seed(seed)
            return [random_tensor(shape, getattr(torch, dtype), generator) for shape, dtype in shapes]

        given = inputs(0)
        launches = launches_of(module, given)
        same = public(*given).equal(launches(*given))
        found = measure({"decorated": public, "launches": launches}, inputs)
        bare = found["launches"].cold
        host, hand = host_times([public, launches], given)
        at = f"{name}{end}"
        rows += [
            row(f"same/{at}", float(same), "", "== 1"),
            row(f"promised/{at}", promised, "us"),
            row(f"written/{at}", bare / promised, "x", "<= 1.03"),
            row(f"decorated/{at}", found["decorated"].cold / bare, "x", "<= 1.02"),
            row(f"host/{at}", host, "us"),
            row(f"hand/{at}", hand, "us"),
            row(f"dispatch/{at}", host - hand, "us", "<= 10"),
        ]
    return rows


def launches_of(module: Any, given: list[Any]) -> Any:
    """What the module runs for these inputs: the launches alone."""
    table = getattr(module, "_BY_SIZE", None)
    if table is None:
        return module._run
    run, sizes, tiles = table[tuple((tuple(x.shape), x.dtype) for x in given)]
    return lambda *tensors: run(*tensors, sizes, tiles)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"MIRAGE_HOME": str(Path(folder) / "home"), "MIRAGE_RUNTIME": "off"}
        cases = {
            "rmsnorm_linear": (ROOT / "examples" / "rmsnorm_linear.py").read_text(),
            "gqa_decode": WORKLOADS["gqa_decode"].text("gqa_decode", BATCHES),
        }
        for name, text in cases.items():
            path = Path(folder) / f"{name}.py"
            path.write_text(text)
            result, found = optimized(path, name)
            rows += found
            if result.answer == "kernel":
                rows += compared(path, name, result)
    import torch
    import triton

    report = {
        "bench": "written", "date": datetime.date.today().isoformat(), "device": torch.cuda.get_device_name(),
        "versions": {"torch": torch.__version__, "triton": triton.__version__}, "rows": rows,
    }  # fmt: skip
    if args.out:
        args.out.write_text(json.dumps(report))
    print(
        json.dumps(report)
        if args.json
        else "\n".join(f"{r['name']:32} {r['value']:10} {r['unit']:4} {r['ok']}" for r in rows)
    )
    return 0 if all(r["ok"] for r in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
