"""What limits a point: the profiler's counters of its best kernel's longest launch (Nsight Compute, `ncu`, must be there).

    python benchmarks/limits.py [--json] [--points P,P] [--results FILE] [--out FILE]

The kernels are the texts of --results (what `gpu.py --out` wrote). Rows limit/POINT/COUNTER, per cent of what the unit can
sustain while the kernel runs: dram, l2 (bytes), tensor (matrix pipe), fma, alu, xu (exponentials), issue (warp schedulers), warps
(that are resident, of the most); and us/ of the launch under the profiler, with cold caches.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import io
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(Path(__file__).resolve().parent)]

from points import fastest  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results" / "h200-points.json"
POINTS = "lora/bs1,gqa_rows/bs8,gqa_rows/bs16"
COUNTERS = {
    "us": "gpu__time_duration.sum",
    "dram": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "l2": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "tensor": "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active",
    "tensor_cycles": "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
    "fma": "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active",
    "alu": "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active",
    "xu": "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active",
    "issue": "sm__inst_issued.avg.pct_of_peak_sustained_active",
    "warps": "sm__warps_active.avg.pct_of_peak_sustained_active",
}
RUN = """
import importlib.util, sys, torch
spec = importlib.util.spec_from_file_location("kernel", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
given = [(torch.randn(*s, device="cuda") * 0.5).to(d) for s, d in module._EXPECTED]
for _ in range(3):
    module._run(*given)
torch.cuda.synchronize()
"""


def counters(text: str, name: str) -> dict[str, float]:
    """Of the longest launch of the third call."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.py"
        path.write_text(text)
        done = subprocess.run(
            ["ncu", "--csv", "--page", "raw", "--clock-control", "none", "--cache-control", "all",
             "--kernel-name", f"regex:_{name}_", "--metrics", ",".join(COUNTERS.values()),
             sys.executable, "-c", RUN, str(path)],
            capture_output=True, text=True, timeout=240,
        )  # fmt: skip
    lines = [x for x in done.stdout.splitlines() if x.startswith('"')]
    if not lines:
        print(done.stdout[-2000:], done.stderr[-2000:], file=sys.stderr)
        return {}
    found = list(csv.DictReader(io.StringIO("\n".join(lines))))
    units, launches = found[0], found[1:]
    scale = {"ns": 1e-3, "nsecond": 1e-3, "us": 1.0, "usecond": 1.0}.get(units[COUNTERS["us"]], 1.0)
    each = [{k: number(x.get(m, "")) for k, m in COUNTERS.items()} for x in launches[2 * len(launches) // 3 :]]
    longest = max(each, key=lambda x: x["us"])
    return {**longest, "us": longest["us"] * scale}


def number(text: str) -> float:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return float("nan")  # a counter that this GPU does not have


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--points", default=POINTS)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    report = json.loads(args.results.read_text())
    texts = fastest(report)
    rows: list[dict[str, Any]] = []
    for point in args.points.split(","):
        for key, value in counters(texts[point], point.partition("/")[0]).items():
            if value == value:
                unit = "us" if key == "us" else "%"
                row = {
                    "name": f"limit/{point}/{key}",
                    "value": round(value, 2),
                    "unit": unit,
                    "bound": None,
                    "ok": True,
                }
                rows.append(row)
    out = {
        "bench": "limits", "date": datetime.date.today().isoformat(), "device": report["device"], "versions": report["versions"],
        "rows": rows,
    }  # fmt: skip
    if args.out:
        args.out.write_text(json.dumps(out))
    print(json.dumps(out) if args.json else "\n".join(f"{r['name']:36} {r['value']:10} {r['unit']}" for r in rows))
    return 0 if rows else 1


if __name__ == "__main__":
    raise SystemExit(main())
