"""The search measured: times, and what else it must show. Each part is a file of benchmarks/searching.

python benchmarks/search.py [--json] [--only PARTS] [--profile WORKLOAD]
"""

from __future__ import annotations

import argparse
import datetime
import json
import platform
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "core"), str(ROOT / "tests"), str(ROOT / "benchmarks")]

from searching import blocks, cancelling, complete, memory, original, processes, sizes, times  # noqa: E402
from searching.rows import Row, search_for  # noqa: E402

from mirage.devices.table import DEVICES, Device  # noqa: E402

# A part: its rows for a device, one by one, and how a person reads them (None: a line for each row).
Part = tuple[Callable[[Device], Iterator[Row]], Callable[[list[Row]], str] | None]
PARTS: dict[str, Part] = {
    "times": (times.rows, times.table),
    "blocks": (blocks.rows, times.table),
    "sizes": (sizes.rows, None),
    "cancelling": (cancelling.rows, None),
    "complete": (complete.rows, None),
    "memory": (memory.rows, None),
    "processes": (processes.rows, None),
    "original": (original.rows, None),
}  # fmt: skip


def lines(rows: list[Row]) -> str:
    """One line for each row."""
    out = ["| row | value | bound |", "|---|---|---|"]
    for r in rows:
        out.append(
            f"| {r['name']} | {r['value']:g} {r['unit']} | {r['bound'] or ''}{'' if r['ok'] else ' **missed**'} |"
        )
    return "\n".join(out)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", default="", help=f"parts, by comma ({', '.join(PARTS)}); all when empty")
    parser.add_argument("--profile", default="", help="profile the search of one workload instead")
    args = parser.parse_args()
    device = DEVICES["sm_90"]
    if args.profile:
        import cProfile
        import pstats

        profile = cProfile.Profile()
        profile.runcall(lambda: list(search_for(args.profile, device).run()))
        pstats.Stats(profile).sort_stats("cumulative").print_stats(45)
        return 0
    wanted = set(filter(None, args.only.split(","))) or set(PARTS)
    if wanted - set(PARTS):
        parser.error(f"no part {', '.join(sorted(wanted - set(PARTS)))}; there are {', '.join(PARTS)}")
    report: dict[str, Any] = {
        "bench": "search", "date": datetime.date.today().isoformat(), "device": platform.processor() or platform.machine(),
        "versions": {"python": platform.python_version()}, "rows": [],
    }  # fmt: skip
    for name, (rows, table) in PARTS.items():
        if name not in wanted:
            continue
        found = list(rows(device))
        report["rows"] += found
        if not args.json:
            print((table or lines)(found), flush=True)
    if args.json:
        print(json.dumps(report, ensure_ascii=False))
    missed = [r for r in report["rows"] if not r["ok"]]
    for r in missed:
        print(f"missed: {r['name']}: {r['value']} {r['unit']}, {r['bound']}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
