"""The kernels that a GPU chose, judged: does the verifier accept what this version emits for each of them?

    python benchmarks/accepted.py [--json] [--points h200-points.json] [--match 'gqa*']

The fastest measured module of each point, as the file of results keeps it, says what was chosen: its µGraph, with the tiles, warps and
stages that were timed. That is planned and emitted again, and the text gets the verdict that `mirage verify` gives: all of
algebra, schedule and text. Of a module that was measured before modules carried their µGraph, the choice is the one
among the search's candidates that emits its kernels. Where it is refused, the next one that was timed in full is judged, as the path
does. No GPU is needed; 21 points take about three minutes.

Rows: accepted/POINT (1: the fastest, else 0; the verdict's headline, or why not), us/POINT and speedup/POINT (as recorded of the fastest
that is accepted; where the recorded kernels are not those that are emitted now, names apart, they say the first line that
differs), and geomean over all of them.
"""

from __future__ import annotations

import argparse
import datetime
import fnmatch
import json
import math
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "core"), str(Path(__file__).resolve().parent)]

from candidates import TARGET, searched, traced  # noqa: E402
from click.testing import CliRunner  # noqa: E402
from points import WORKLOADS  # noqa: E402
from same_kernels import first_difference  # noqa: E402

from mirage.cli.verify import verify  # noqa: E402
from mirage.cli.verify_subjects import tables  # noqa: E402
from mirage.codegen.carried_mugraph import read_carried  # noqa: E402
from mirage.codegen.emit import emit_module, split_parts  # noqa: E402
from mirage.devices.table import device  # noqa: E402
from mirage.mugraph.grammar import MuGraph  # noqa: E402
from mirage.plan import plan  # noqa: E402
from mirage.profile.launch_variants import with_launch  # noqa: E402
from mirage.verify.cases import matches  # noqa: E402
from mirage.verify.structure.emitted_again import carries  # noqa: E402


@dataclass(frozen=True)
class Emitted:
    """What this version emits for a recorded choice, and where the kernels or their launches differ from the recorded ones, names
    apart: "" where they do not, so that the recorded time is this text's."""

    module: str
    differs: str


traced_once, searched_once = cache(traced), cache(searched)


def point_of(text: str) -> tuple[str, int, str]:
    name, batch, *dtype = text.split("/")
    return name, int(batch.removeprefix("bs")), dtype[0] if dtype else "fp16"


def emitted(variant: dict[str, Any]) -> Emitted:
    """The variant's choice as this version emits it; the recorded module itself where nothing says what was chosen."""
    module = str(variant["text"])
    name, batch, dtype = point_of(variant["point"])
    function, program = traced_once(name, batch, dtype)
    for graph in choices(variant):
        again = emit_module(program, graph, function.slice.text, function=name, header={})
        other = first_difference(module, again)
        if other is None or carries(module):
            return Emitted(again, "" if other is None else f"`{other[0].strip()}`, now `{other[1].strip()}`")
    return Emitted(module, "")


def choices(variant: dict[str, Any]) -> Iterator[MuGraph]:
    """The µGraph that a recorded module carries, planned; without one, the search's candidates of the same sizes and tiles."""
    module, dev = str(variant["text"]), device(TARGET)
    if carries(module):
        yield from (plan(graph, dev) for graph in read_carried(split_parts(module)["mugraph"], 1))
        return
    name, batch, dtype = point_of(variant["point"])
    sizes, tiles = tables(module, variant["point"])
    for candidate in searched_once(name, batch, dtype).best:
        if matches(candidate.mugraph, sizes, tiles):
            planned = plan(candidate.mugraph, dev)
            yield from (with_launch(planned, int(variant["warps"]), int(variant["stages"])), planned)


def judged(point: str, module: str, folder: Path) -> tuple[bool, str]:
    """Whether the module is accepted, and the verdict's headline or the first reason."""
    name, batch, dtype = point_of(point)
    function, written = folder / f"{name}.py", folder / f"{name}_written.py"
    function.write_text(WORKLOADS[name].text(name, (batch,), dtype))
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
        text = emitted(v)
        ok, said = judged(point, text.module, folder)
        if not n:
            rows.append(
                {"name": f"accepted/{point}", "value": int(ok), "unit": "", "bound": "== 1", "ok": ok, "said": said}
            )
        if ok:
            whose = {"said": "timed with another text"} if text.differs else {}
            full = {"said": f"timed with another text: {text.differs}"} if text.differs else {}
            gained = speedup * timed[0]["cold"] / v["cold"]
            rows.append({"name": f"us/{point}", "value": round(v["cold"], 3), "unit": "us", "ok": True, **full})
            rows.append({"name": f"speedup/{point}", "value": round(gained, 4), "unit": "x", "ok": True, **whose})
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
        other = sum("said" in r for r in rows if r["name"].startswith("speedup/"))
        said = (
            f"{other} of {len(gained)} timed with another text" if other else "each timed with the text that is judged"
        )
        rows.append({"name": "geomean", "value": round(geomean, 4), "unit": "x", "ok": True, "said": said})
    if args.json:
        print(json.dumps({"bench": "accepted", "date": datetime.date.today().isoformat(), "rows": rows}))
    elif gained:
        print(
            f"geomean {rows[-1]['value']} ({rows[-1]['said']})"
            if rows[-1]["name"] == "geomean"
            else "a point has no accepted kernel"
        )
    return 0 if rows and all(r["ok"] for r in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
