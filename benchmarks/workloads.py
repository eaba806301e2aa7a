"""The original's workloads and its hand-written µGraphs, with its own builder: each workload optimizes, each reference is
valid, right, compiled, and equal to its program in Triton's interpreter, and a wrong one of each is rejected.

    python benchmarks/workloads.py [--json] [--only workloads,references] [--name NAME]

About 15 minutes on two cores. References are judged at the original's sizes (algebra and schedule) and run at small ones.
"""

from __future__ import annotations

import argparse
import datetime
import json
import platform
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "core"), str(ROOT / "tests" / "original")]

from references import REFERENCES, WORKLOADS, Reference, interpreted  # noqa: E402

import mirage  # noqa: E402
from mirage.errors import MirageError  # noqa: E402
from mirage.pipeline.processes import Tools  # noqa: E402
from mirage.profile.roofline import baseline  # noqa: E402
from mirage.results.versions import package_versions  # noqa: E402
from mirage_original.hand_written import written  # noqa: E402
from mirage_original.superoptimize import DEFAULTS  # noqa: E402

TARGET = "sm_90"
SECONDS = 120.0  # of one search with its verification
ACCEPTED = ("PROVED", "TESTED")
FREE: dict[str, Any] = dict.fromkeys(DEFAULTS)  # as the original's method searches


Row = dict[str, Any]


def row(name: str, value: float, unit: str = "", bound: str | None = None, ok: bool = True) -> Row:
    return {"name": name, "value": round(value, 3), "unit": unit, "bound": bound, "ok": ok}


def at_least(name: str, value: float, least: float) -> Row:
    return row(name, value, "", f">= {least:g}", value >= least)


def exactly(name: str, value: float, want: float, unit: str = "") -> Row:
    return row(name, value, unit, f"== {want:g}", value == want)


def workload(name: str) -> Iterator[Row]:
    """Is a verified µGraph found; how its estimate compares with the operators as written."""
    build, sizes = WORKLOADS[name]
    began = time.process_time()
    with redirect_stdout(sys.stderr):
        found = mirage.superoptimize(build(**sizes), **FREE, max_num_new_graphs=2, search_time_limit_sec=SECONDS)
    yield at_least(f"{name}: µGraphs found and verified", len(found), 1)
    if found and found[0].found is not None:
        best = found[0].found
        dev = best.searched.device
        yield row(f"{name}: estimate over as written", best.us / baseline(best.searched.program, dev), "")
    yield row(f"{name}: processor seconds of this process", time.process_time() - began, "s")


def verdict(r: Reference, sizes: dict[str, Any], tools: Tools, **wrong: Any) -> str:
    try:
        return str(written(r.build(**sizes, **wrong), r.wanted(sizes), tools).verify(text=False)["word"])
    except MirageError as e:
        return e.code


def compiles(text: str, tools: Tools) -> bool:
    kernels = tools.compiler.call("compile", {"text": text, "target": TARGET}, timeout_s=240.0)["kernels"]
    return all(k["shared"] <= k["limit"] for k in kernels)


def reference(name: str, tools: Tools) -> Iterator[Row]:
    r = REFERENCES[name]
    valid = sum(bool(r.build(**s).check()) for s in r.sizes)
    yield exactly(f"{name}: valid at the original's sizes", valid, len(r.sizes))
    words = [verdict(r, s, tools) for s in r.sizes]
    yield exactly(f"{name}: proved or tested", sum(w in ACCEPTED for w in words), len(words))
    fits = sum(compiles(written(r.build(**s), r.wanted(s), tools).text, tools) for s in r.sizes)
    yield exactly(f"{name}: compiled for {TARGET}, within its shared memory", fits, len(r.sizes))
    yield exactly(f"{name}: a wrong one rejected", verdict(r, r.small, tools, **r.wrong) not in ACCEPTED, 1)
    with tempfile.TemporaryDirectory() as folder:
        program = r.wanted(r.small)
        equal, said = interpreted(Path(folder), [(written(r.build(**r.small), program, tools), program)])
    if not equal:
        print(said, file=sys.stderr)
    yield exactly(f"{name}: equal in the interpreter", equal, 1)


def rows(only: list[str], name: str) -> Iterator[Row]:
    if "workloads" in only:
        for w in WORKLOADS:
            if name in ("", w):
                yield from workload(w)
    if "references" in only:
        with Tools() as tools:
            for w in REFERENCES:
                if name in ("", w):
                    yield from reference(w, tools)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", default="workloads,references")
    parser.add_argument("--name", default="", help="one workload or reference")
    args = parser.parse_args()
    found = []
    if not args.json:
        print("| row | value | bound |\n|---|---|---|")
    for r in rows(args.only.split(","), args.name):
        found.append(r)
        if not args.json:
            missed = "" if r["ok"] else " **missed**"
            print(f"| {r['name']} | {r['value']:g} {r['unit']} | {r['bound'] or ''}{missed} |", flush=True)
    if args.json:
        print(json.dumps({
            "bench": "workloads", "date": datetime.date.today().isoformat(), "device": platform.processor() or "cpu",
            "versions": package_versions(), "rows": found,
        }, indent=1))  # fmt: skip
    return 0 if all(r["ok"] for r in found) else 1


if __name__ == "__main__":
    raise SystemExit(main())
