"""The fastest kernels under NVIDIA's compute-sanitizer: no access out of bounds, no race in shared memory, no read of nothing.

    python benchmarks/sanitized.py [--json] [--match 'gqa*'] [--results FILE] [--jobs N] [--out FILE]

The kernels are the texts of --results (what `gpu.py --out` wrote), each called twice at its own shape, with the caching
allocator off, so that each tensor is an allocation of its own and an access beside it is seen. `compute-sanitizer` must be there.

Rows: TOOL/POINT, the errors that it reported (memcheck: accesses, racecheck: hazards in shared memory, initcheck: reads of device memory
that nothing wrote), and planted/TOOL, 1 where it reports a fault that was planted.
"""

from __future__ import annotations

import argparse
import datetime
import fnmatch
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(Path(__file__).resolve().parent)]

from points import fastest  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results" / "h200-points.json"
TOOLS = ("memcheck", "racecheck", "initcheck")
LIMIT_S = 240
SUMMARY = re.compile(r"(?:ERROR SUMMARY|RACECHECK SUMMARY): (\d+)")
RUN = """
import importlib.util, sys, torch
spec = importlib.util.spec_from_file_location("kernel", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
torch.manual_seed(0)
given = [(torch.randn(*s) * 0.5).to(d).cuda() if d.is_floating_point else torch.randint(0, 2, s).to(d).cuda()
         for s, d in module._EXPECTED]
for _ in range(2):
    module._run(*given)
torch.cuda.synchronize()
"""
HEAD = """
import torch, triton
import triton.language as tl
_EXPECTED = [((1000,), torch.float32)]
"""
PLANTED = {  # each is a fault that its tool must report
    "memcheck": HEAD
    + """
@triton.jit
def kernel(x, y):
    i = tl.arange(0, 1024)
    tl.store(y + i * 4096, tl.load(x + i * 4096))
def _run(x):
    y = torch.empty_like(x)
    kernel[(1,)](x, y)
    return y
""",
    "initcheck": HEAD
    + """
@triton.jit
def kernel(x, y):
    i = tl.arange(0, 512)
    tl.store(y + i, tl.load(x + i) + 1.0)
def _run(x):
    z, y = torch.empty_like(x), torch.empty_like(x)
    kernel[(1,)](z, y)
    return y
""",
}


def errors(tool: str, text: str) -> tuple[float, str]:
    """How many errors the tool reports of a module, and the last lines that it printed; NaN where it did not run to its end."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.py"
        path.write_text(text)
        command = ["compute-sanitizer", "--tool", tool, sys.executable, "-c", RUN, str(path)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=LIMIT_S, cwd=folder,
                env={**os.environ, "PYTORCH_NO_CUDA_MEMORY_CACHING": "1"},
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return float("nan"), f"not done after {LIMIT_S} s"
    said = done.stdout + done.stderr
    found = SUMMARY.findall(said)
    if not found:
        return float("nan"), said[-600:]
    return float(found[-1]), said[-600:]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--match", default="*")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--tools", default=",".join(TOOLS))
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    tools = args.tools.split(",")
    every = fastest(json.loads(args.results.read_text()))
    texts = {point: text for point, text in every.items() if fnmatch.fnmatch(point, args.match)}
    work = [(f"planted/{tool}", tool, text) for tool, text in PLANTED.items() if tool in tools]
    work += [(f"{tool}/{point}", tool, text) for tool in tools for point, text in texts.items()]
    with ThreadPoolExecutor(args.jobs) as pool:
        found = list(pool.map(lambda w: errors(w[1], w[2]), work))
    rows: list[dict[str, Any]] = []
    for (name, _, _), (count, said) in zip(work, found, strict=True):
        planted = name.startswith("planted/")
        ok = count > 0 if planted else count == 0
        value = float(count > 0) if planted else count
        rows.append({"name": name, "value": value, "unit": "errors", "bound": "== 1" if planted else "== 0", "ok": ok})
        if not ok:
            print(f"{name}: {count:g} errors\n{said}", file=sys.stderr, flush=True)
    report = {"bench": "sanitized", "date": datetime.date.today().isoformat(), "rows": rows}
    if args.out:
        args.out.write_text(json.dumps(report, allow_nan=True))
    if args.json:
        print(json.dumps(report, allow_nan=True))
    else:
        for r in rows:
            print(f"{r['name']:40} {r['value']:6g} {'' if r['ok'] else '(MISSED)'}", flush=True)
    return 0 if rows and all(r["ok"] for r in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
