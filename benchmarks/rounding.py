"""Is the bound on a kernel's rounding ever exceeded, and how far above the largest error is it?

    python benchmarks/rounding.py [--json] [--runs 8] [--random 100] [--points '*'] [--jobs 1] [--out FILE]

The 21 points of the GPU benchmark (the search's best candidate, with its own tiles, at sizes of two tiles and a tail) and random
programs run in Triton's interpreter on inputs of every regime that the rounding opinion looks at, drawn anew each time. Each
element's error against float64 is compared with that element's bound. `--runs` are those of each program, at least.

Rows of each program: runs/NAME (with the number of elements), reached/NAME (the largest part of its own bound that an element used; above 1
it is exceeded), tight/NAME (the bound over the largest error that was measured), written/NAME (the bound over that of the
function as written). Then medians over all programs, over those of sums and products alone too.
"""

from __future__ import annotations

import argparse
import datetime
import fnmatch
import json
import os
import statistics
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, cast

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "core"), str(ROOT / "tests"), str(Path(__file__).resolve().parent)]
os.environ["TRITON_INTERPRET"] = "1"

from candidates import TARGET, searched  # noqa: E402
from points import BATCHES, WORKLOADS  # noqa: E402
from program.random_programs import random_programs  # noqa: E402

from mirage.codegen.emit import emit_module  # noqa: E402
from mirage.devices.table import device  # noqa: E402
from mirage.errors import MirageError  # noqa: E402
from mirage.ir.program import Program  # noqa: E402
from mirage.isolate.task_table import resolve  # noqa: E402
from mirage.mugraph.grammar import MuGraph  # noqa: E402
from mirage.pipeline.request import Request, read  # noqa: E402
from mirage.pipeline.search_problems import problem  # noqa: E402
from mirage.plan import plan  # noqa: E402
from mirage.profile.roofline import estimate  # noqa: E402
from mirage.program.lower import lower  # noqa: E402
from mirage.program.trace_task import trace_task  # noqa: E402
from mirage.results.details import FieldDetails, RegimeBound, RoundingDetails  # noqa: E402
from mirage.search.engine import Bounds, Search  # noqa: E402
from mirage.verify.emitted_module import EmittedModule  # noqa: E402
from mirage.verify.field.schedule_opinion import schedule_opinion  # noqa: E402
from mirage.verify.floats.opinion import Record, float_opinion  # noqa: E402
from mirage.verify.floats.regimes import REGIMES  # noqa: E402
from mirage.verify.rounding.opinion import BOUNDED, rounding_opinion  # noqa: E402

TIGHT, TIGHT_SUMS, CALIBRATED = 30.0, 10.0, "normal"
# Operators after which a program is more than sums and products.
FUNCTIONS = {
    "exp", "sqrt", "rsqrt", "log", "sigmoid", "tanh", "erf", "softmax", "log_softmax", "rms_norm", "layer_norm", "silu", "gelu", "div",
    "scaled_dot_product_attention", "reciprocal", "norm", "std", "logsumexp", "softplus", "normalize", "exponential", "pow", "sin", "cos",
}  # fmt: skip


def run_task(name: str, payload: dict[str, object]) -> dict[str, Any]:
    """In this process: what runs is the project's own."""
    return resolve(name)(payload, lambda event: None)


@dataclass(frozen=True)
class Subject:
    """A program and its kernels."""

    name: str
    program: Program
    graph: MuGraph
    module: str
    text: str
    function: str

    @property
    def sums(self) -> bool:
        """Is it made of sums and products alone?"""
        return not FUNCTIONS & {n.op for n in self.program.nodes}


def point(name: str, batch: int) -> Subject:
    """A point with the first of the search's candidates."""
    found = searched(name, batch)
    graph = plan(found.best[0].mugraph, device(TARGET))
    return Subject(found.point, found.program, graph, found.emit(graph), found.function.slice.text, name)


def random(seed: int) -> Subject | None:
    """A random program with the first candidate; None where it has none."""
    dev = device(TARGET)
    (written,) = random_programs(1, seed)
    try:
        function = read(Request(written.decorated(), f"random_{seed}.py", written.function))
        inputs = [{"name": i.name, "shape": list(i.shape), "dtype": i.dtype} for i in function.inputs]
        payload = {"text": function.slice.text, "function": written.function, "inputs": inputs}
        program = Program.from_dict(cast("dict[str, object]", trace_task(payload)["program"]))
        search = Search(problem(program, lower(program)), lambda g: estimate(g, dev), bounds=Bounds(keep=2, tilings=2))
        list(search.run())
    except MirageError as error:
        print(f"random/{seed}: {error}", file=sys.stderr)
        return None
    if not search.best:
        return None
    graph = plan(search.best[0].mugraph, dev)
    module = emit_module(program, graph, function.slice.text, function=written.function, header={})
    return Subject(f"random/{seed}", program, graph, module, function.slice.text, written.function)


def measured(s: Subject, runs: int) -> tuple[list[RegimeBound], int, int, str]:
    """(the figures of each run, runs of which there are at least so many, elements, why there are none)."""
    found = problem(s.program, lower(s.program))
    parameters = [i.name for i in s.program.inputs]
    emitted = EmittedModule(found.t, found.outputs, s.graph, s.module, parameters, s.text, s.function)
    regimes = [r for r in REGIMES if r.name in BOUNDED]
    schedule = schedule_opinion(found.t, found.outputs, s.graph).details
    free = isinstance(schedule, FieldDetails) and schedule.independent_of_shift is True
    rows: list[RegimeBound] = []
    elements = done = draws = 0
    while done < runs:
        record = Record()
        floats = float_opinion(emitted, run_task, seed=1000 + draws, regimes=regimes, record=record)
        if not record.runs:
            return rows, done, elements, floats.summary
        evidence = rounding_opinion(record, [x.tensor for x in found.outputs], s.program, free)
        assert isinstance(evidence.details, RoundingDetails)
        if evidence.details.unbounded:
            return rows, done, elements, evidence.details.unbounded
        rows += evidence.details.regimes
        draws, done = draws + 1, done + len(record.runs)
        elements += sum(x.size for run in record.runs for x in run.got)
    return rows, done, elements, ""


def row(
    name: str, value: float, unit: str, bound: str | None = None, ok: bool = True, **more: object
) -> dict[str, Any]:
    return {"name": name, "value": value, "unit": unit, "bound": bound, "ok": ok, **more}


def figures(s: Subject, found: list[RegimeBound], runs: int, elements: int) -> list[dict[str, Any]]:
    reached = max((r.reached for r in found), default=0.0)
    normal = [r for r in found if r.regime == CALIBRATED and r.bound is not None and r.measured]
    rows = [
        row(f"runs/{s.name}", runs, "", said=f"{elements} elements"),
        row(f"reached/{s.name}", round(reached, 4), "of the bound", "<= 1", reached <= 1),
    ]
    if normal:
        tight = max(r.bound or 0.0 for r in normal) / max(r.measured for r in normal)
        rows.append(row(f"tight/{s.name}", round(tight, 2), "x", sums=s.sums))
    ratios = [r.bound / r.written for r in found if r.bound is not None and r.written]
    if ratios:
        rows.append(row(f"written/{s.name}", round(max(ratios), 3), "x"))
    return rows


def totals(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    of = {k: [r for r in rows if r["name"].startswith(f"{k}/")] for k in ("runs", "reached", "tight", "written")}
    out = [
        row("runs", sum(r["value"] for r in of["runs"]), "runs"),
        row(
            "exceeded", sum(not r["ok"] for r in of["reached"]), "programs", "== 0", all(r["ok"] for r in of["reached"])
        ),
    ]
    for name, limit, kept in (
        ("tight", TIGHT, of["tight"]),
        ("tight of sums", TIGHT_SUMS, [r for r in of["tight"] if r["sums"]]),
    ):
        if kept:
            middle = statistics.median(r["value"] for r in kept)
            out.append(
                row(f"median {name}", round(middle, 2), "x", f"<= {limit:g}", middle <= limit, programs=len(kept))
            )
    if of["written"]:
        out.append(row("largest written", max(r["value"] for r in of["written"]), "x"))
    return out


def answered(named: tuple[str, int], runs: int) -> tuple[str, list[dict[str, Any]]]:
    """The rows of one program, and a line on it: ("", seed) is a random one, which may have no candidate."""
    name, number = named
    start = time.process_time()
    subject = point(name, number) if name else random(number)
    if subject is None:
        return f"random/{number}: no candidate", []
    found, done, elements, why = measured(subject, runs)
    rows = figures(subject, found, done, elements) if found else [row(f"none/{subject.name}", 0, "", said=why)]
    said = "  ".join(f"{r['name'].split('/')[0]} {r['value']}{r['unit']} {r.get('said', '')}" for r in rows)
    return f"{subject.name:22} {said}  ({time.process_time() - start:.1f} s)", rows


def every(names: list[tuple[str, int]], runs: int, jobs: int) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    if jobs == 1:
        yield from (answered(name, runs) for name in names)
        return
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        for one in as_completed([pool.submit(answered, name, runs) for name in names]):
            yield one.result()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--random", type=int, default=100)
    parser.add_argument("--points", default="*")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, help="write the report, anew after each program")
    args = parser.parse_args()
    names = [(n, b) for n in WORKLOADS for b in BATCHES if fnmatch.fnmatch(f"{n}/bs{b}", args.points)]
    names += [("", seed) for seed in range(1, args.random + 1)]
    report: dict[str, Any] = {"bench": "rounding", "date": datetime.date.today().isoformat(), "device": "cpu"}
    rows: list[dict[str, Any]] = []
    for line, more in every(names, args.runs, args.jobs):
        rows += more
        if not args.json:
            print(line, flush=True)
        if args.out:
            args.out.write_text(json.dumps({**report, "rows": rows + totals(rows)}))
    rows += totals(rows)
    if args.json:
        print(json.dumps({**report, "rows": rows}))
    else:
        for r in rows[-5:]:
            print(f"{r['name']:20} {r['value']:10} {r['unit']:12} {r['bound'] or '':8} {'' if r['ok'] else 'NOT OK'}")
    return 0 if all(r["ok"] for r in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
