"""The kernels that a GPU chose, judged: is each of them one that the verifier accepts?

    python benchmarks/accepted.py [--json] [--points h200-points.json] [--match 'gqa*']

The fastest measured module of each point, as the file of results keeps it, gets the verdict that `mirage verify` gives: its µGraph is
found again by a search, and all of algebra, schedule and text are judged. No GPU is needed; 21 points take about three minutes.

Rows: accepted/POINT (1 or 0; the verdict's headline beside it).
"""

from __future__ import annotations

import argparse
import datetime
import fnmatch
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "core"), str(Path(__file__).resolve().parent)]

from click.testing import CliRunner  # noqa: E402
from points import WORKLOADS  # noqa: E402

from mirage.cli.verify import verify  # noqa: E402


def judged(point: str, module: str, folder: Path) -> dict[str, Any]:
    name, batch, *dtype = point.split("/")
    function, written = folder / f"{name}.py", folder / f"{name}_written.py"
    function.write_text(WORKLOADS[name].text(name, (int(batch.removeprefix("bs")),), *dtype))
    written.write_text(module)
    result = CliRunner().invoke(verify, [str(function), str(written)])
    said = result.output.strip().splitlines() or [repr(result.exception)]
    return {
        "name": f"accepted/{point}", "value": int(result.exit_code == 0), "unit": "", "bound": "== 1",
        "ok": result.exit_code == 0, "said": said[0].rpartition(": ")[2],
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--points", default="h200-points.json", help="a file of benchmarks/results")
    parser.add_argument("--match", default="*")
    args = parser.parse_args()
    report = json.loads((ROOT / "benchmarks" / "results" / args.points).read_text())
    kept = {
        v["point"]: v["text"] for v in report["variants"] if "text" in v and fnmatch.fnmatch(v["point"], args.match)
    }
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for point, module in kept.items():
            rows.append(judged(point, module, Path(folder)))
            if not args.json:
                print(f"{rows[-1]['name']:34} {rows[-1]['value']} {rows[-1]['said']}", flush=True)
    if args.json:
        print(json.dumps({"bench": "accepted", "date": datetime.date.today().isoformat(), "rows": rows}))
    return 0 if rows and all(r["ok"] for r in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
