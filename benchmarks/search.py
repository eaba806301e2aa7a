"""How long the search takes: to the structure fixpoint, to 64 checked µGraphs, and to the first candidate.

    python benchmarks/search.py [--json] [--only NAMES] [--profile NAME]

The workloads are those of tests/workloads/terms.py, searched under the default bounds for an H200. The fixpoint is every
reduction system of every kernel of every cut set that the search tries. Bounds hold for processor seconds; wall seconds are
given beside them, because another process may share the cores.
"""

from __future__ import annotations

import argparse
import datetime
import gc
import json
import platform
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "core"), str(ROOT / "tests")]

from workloads.terms import problem  # noqa: E402

from mirage.profile.devices import DEVICES, Device  # noqa: E402
from mirage.profile.roofline import estimate  # noqa: E402
from mirage.search.engine import Bounds, Search  # noqa: E402
from mirage.search.kernels import KernelSpace  # noqa: E402

SMALL, MIDDLE, LARGE = (1.0, 5.0, 0.3), (3.0, 10.0, 1.0), (20.0, 60.0, 5.0)  # fixpoint, 64 µGraphs, first candidate
WORKLOADS: dict[str, tuple[float, float, float]] = {
    "rmsnorm_linear": SMALL,
    "rmsnorm_linear_with_gain": SMALL,
    "gated_mlp": SMALL,
    "low_rank_adapter": SMALL,
    "grouped_query_attention": SMALL,
    "qknorm_attention": SMALL,
    "normalized_step": MIDDLE,
    "layernorm_linear": MIDDLE,
    "norm_mlp": MIDDLE,
    "attention_block": LARGE,
}


class Clock:
    """Processor and wall seconds since it was made."""

    def __init__(self) -> None:
        gc.collect()
        self.cpu, self.wall = time.process_time(), time.perf_counter()

    def read(self) -> tuple[float, float]:
        return time.process_time() - self.cpu, time.perf_counter() - self.wall


def fixpoint(name: str, tried: list[tuple[int, ...]]) -> tuple[tuple[float, float], int]:
    """The seconds to every reduction system of the kernels of the cut sets `tried`, and how many systems there are."""
    clock = Clock()
    search = Search(problem(name), lambda _: 0.0)
    seen, found = set(), 0
    for chosen in tried:
        for target in search.targets(c for c in search.cuts if c.number in chosen):
            key = (target.term, target.dims)
            if key not in seen:
                seen.add(key)
                found += len(KernelSpace(search.problem.t, target, search.cancel, limit=search.bounds.systems).systems)
    return clock.read(), found


def measured(name: str, device: Device) -> dict[str, Any]:
    """The figures of one workload."""
    clock = Clock()
    search = Search(problem(name), lambda g: estimate(g, device), bounds=Bounds(seconds=60.0))
    first: tuple[float, float] | None = None
    for _ in search.run():
        first = first or clock.read()
    whole = clock.read()
    base, systems = fixpoint(name, search.tried)
    return {"first": first or whole, "whole": whole, "fixpoint": base, "systems": systems, "search": search}


def rows(name: str, bounds: tuple[float, float, float], device: Device) -> list[dict[str, Any]]:
    found = measured(name, device)
    search: Search = found["search"]
    out: list[dict[str, Any]] = []

    def row(what: str, value: float, unit: str, bound: str | None, ok: bool) -> None:
        out.append({"name": f"{name}: {what}", "value": round(value, 3), "unit": unit, "bound": bound, "ok": ok})

    for what, key, most in zip(
        ("structure fixpoint", "64 µGraphs", "first candidate"), ("fixpoint", "whole", "first"), bounds, strict=True
    ):
        cpu, wall = found[key]
        row(what, cpu, "s", f"<= {most:g}", cpu <= most)
        row(f"{what}, wall", wall, "s", None, True)
    row("reduction systems", found["systems"], "", None, True)
    row("structures", search.counts.structures, "", None, True)
    distinct = len({c.mugraph for c in search.best})
    row("µGraphs", distinct, "", "== 64", distinct == 64)
    row("best estimate", search.best[0].us if search.best else float("inf"), "us", "< inf", bool(search.best))
    return out


def table(report: dict[str, Any]) -> str:
    """The rows that docs/search.md shows: a line for each workload, processor seconds (wall seconds)."""
    by_name = {r["name"]: r for r in report["rows"]}
    lines = [
        "| workload | systems | structures | fixpoint | 64 µGraphs | first candidate |", "|---|---|---|---|---|---|"
    ]  # fmt: skip
    for name in dict.fromkeys(r["name"].split(":")[0] for r in report["rows"]):
        cells = [str(int(by_name[f"{name}: {w}"]["value"])) for w in ("reduction systems", "structures")]
        for what in ("structure fixpoint", "64 µGraphs", "first candidate"):
            r, wall = by_name[f"{name}: {what}"], by_name[f"{name}: {what}, wall"]
            cells.append(f"{r['value']:.2f} ({wall['value']:.2f}){'' if r['ok'] else ' **missed**'}")
        lines.append(f"| {name.replace('_', ' ')} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", default="", help="names of workloads, by comma; all when empty")
    parser.add_argument("--profile", default="", help="profile the search of one workload instead")
    args = parser.parse_args()
    device = DEVICES["sm_90"]
    if args.profile:
        import cProfile
        import pstats

        profile = cProfile.Profile()
        profile.runcall(lambda: list(Search(problem(args.profile), lambda g: estimate(g, device)).run()))
        pstats.Stats(profile).sort_stats("cumulative").print_stats(45)
        return 0
    wanted = set(filter(None, args.only.split(",")))
    report: dict[str, Any] = {
        "bench": "search", "date": datetime.date.today().isoformat(), "device": platform.processor() or platform.machine(),
        "versions": {"python": platform.python_version()}, "rows": [],
    }  # fmt: skip
    for name, bounds in WORKLOADS.items():
        if wanted and name not in wanted:
            continue
        report["rows"] += rows(name, bounds, device)
    print(json.dumps(report, ensure_ascii=False) if args.json else table(report))
    missed = [r for r in report["rows"] if not r["ok"]]
    for r in missed:
        print(f"missed: {r['name']}: {r['value']} {r['unit']}, {r['bound']}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
