"""The kernels that a GPU chose, judged: is each of them one that the verifier accepts?

    python benchmarks/accepted.py [--json] [--points h200-points.json] [--match 'gqa*']

The fastest measured module of each point, as the file of results keeps it, gets the verdict that `mirage verify` gives. A module
that was measured before modules carried their µGraph is completed first: the one among the search's candidates that emits
the very same kernels and launcher. All of algebra, schedule and text are judged. Where it is refused, the next one that was timed in full
is judged, as the path does. No GPU is needed; 21 points take about three minutes.

Rows: accepted/POINT (1: the fastest, else 0; the verdict's headline, or why not), us/POINT and speedup/POINT (of the fastest that is
accepted), and geomean over all of them.
"""

from __future__ import annotations

import argparse
import datetime
import fnmatch
import json
import math
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "core"), str(Path(__file__).resolve().parent)]

from candidates import TARGET, Found, searched  # noqa: E402
from click.testing import CliRunner  # noqa: E402
from points import WORKLOADS  # noqa: E402

from mirage.cli.verify import verify  # noqa: E402
from mirage.cli.verify_subjects import tables  # noqa: E402
from mirage.codegen.emit import assemble, split_parts  # noqa: E402
from mirage.devices.table import device  # noqa: E402
from mirage.plan import plan  # noqa: E402
from mirage.profile.launch_variants import with_launch  # noqa: E402
from mirage.verify.cases import matches  # noqa: E402


@cache
def searched_once(point: str) -> Found:
    name, batch, *dtype = point.split("/")
    return searched(name, int(batch.removeprefix("bs")), *dtype)


def completed(variant: dict[str, Any]) -> str:
    """The variant's module with the µGraph that it was emitted from; as it is where no candidate emits it."""
    module = variant["text"]
    parts = split_parts(module)
    if "mugraph" in parts:
        return str(module)
    found = searched_once(variant["point"])
    sizes, tiles = tables(module, variant["point"])
    warps, stages, dev = int(variant["warps"]), int(variant["stages"]), device(TARGET)
    for candidate in found.best:
        if not matches(candidate.mugraph, sizes, tiles):
            continue
        planned = plan(candidate.mugraph, dev)
        for graph in (with_launch(planned, warps, stages), planned):
            emitted = split_parts(found.emit(graph))
            if all(emitted[name] == parts[name] for name in ("kernels", "launcher")):
                whole = {**parts, "mugraph": emitted["mugraph"]}
                return assemble({name: text.split("\n") if text else [] for name, text in whole.items()})
    return str(module)


def judged(point: str, module: str, folder: Path) -> tuple[bool, str]:
    """Whether the module is accepted, and the verdict's headline or the first reason."""
    name, batch, *dtype = point.split("/")
    function, written = folder / f"{name}.py", folder / f"{name}_written.py"
    function.write_text(WORKLOADS[name].text(name, (int(batch.removeprefix("bs")),), *dtype))
    written.write_text(module)
    result = CliRunner().invoke(verify, [str(function), str(written)])
    said = result.output.strip().splitlines() or [repr(result.exception)]
    why = [line.strip() for line in said if "REJECTED" in line]
    return result.exit_code == 0, (why[-1] if why else said[0].rpartition(": ")[2])


def rows_of(point: str, timed: list[dict[str, Any]], speedup: float, folder: Path) -> list[dict[str, Any]]:
    """`timed` are the variants with a text, `speedup` what the fastest one has over the best peer."""
    timed = sorted(timed, key=lambda v: float(v["cold"]))
    rows = []
    for n, v in enumerate(timed):
        ok, said = judged(point, completed(v), folder)
        if not n:
            rows.append(
                {"name": f"accepted/{point}", "value": int(ok), "unit": "", "bound": "== 1", "ok": ok, "said": said}
            )
        if ok:
            rows.append({"name": f"us/{point}", "value": round(v["cold"], 3), "unit": "us", "ok": True})
            gained = speedup * timed[0]["cold"] / v["cold"]
            rows.append({"name": f"speedup/{point}", "value": round(gained, 4), "unit": "x", "ok": True})
            break
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--points", default="h200-points.json", help="a file of benchmarks/results")
    parser.add_argument("--match", default="*")
    args = parser.parse_args()
    report = json.loads((ROOT / "benchmarks" / "results" / args.points).read_text())
    measured = {r["name"]: r["value"] for r in report["rows"]}
    kept: dict[str, list[dict[str, Any]]] = {}
    for v in report["variants"]:
        if "text" in v and fnmatch.fnmatch(v["point"], args.match):
            kept.setdefault(v["point"], []).append(v)
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for point, timed in kept.items():
            found = rows_of(point, timed, measured[f"speedup/{point}"], Path(folder))
            rows += found
            if not args.json:
                print("  ".join(f"{r['name']} {r['value']}{r['unit']} {r.get('said', '')}" for r in found), flush=True)
    gained = [r["value"] for r in rows if r["name"].startswith("speedup/")]
    if len(gained) == len(kept) and gained:
        geomean = math.exp(sum(map(math.log, gained)) / len(gained))
        rows.append({"name": "geomean", "value": round(geomean, 4), "unit": "x", "ok": True})
    if args.json:
        print(json.dumps({"bench": "accepted", "date": datetime.date.today().isoformat(), "rows": rows}))
    elif gained:
        print(f"geomean {rows[-1]['value']}" if rows[-1]["name"] == "geomean" else "a point has no accepted kernel")
    return 0 if rows and all(r["ok"] for r in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
