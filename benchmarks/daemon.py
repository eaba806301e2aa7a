"""The daemon measured: what it keeps, contains, shares. Each part is a file of benchmarks/daemonbench.

python benchmarks/daemon.py [--json] [--only PARTS] [--rounds N]
"""

from __future__ import annotations

import argparse
import datetime
import json
import platform
import sqlite3
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "core"), str(ROOT), str(ROOT / "tests"), str(ROOT / "benchmarks")]

from daemonbench import damage, faults, kills, places, planted, races, resuming, sharing, wire  # noqa: E402
from daemonbench.rows import Row  # noqa: E402

# A part: its rows for a number of rounds, and how many those are where none is asked for.
PARTS: dict[str, tuple[Callable[[int], Iterator[Row]], int]] = {
    "sharing": (sharing.rows, 1),
    "resuming": (resuming.rows, 1),
    "kills": (kills.rows, 200),
    "faults": (faults.rows, 500),
    "damage": (damage.rows, damage.FLIPS),
    "races": (races.rows, races.RACES),
    "places": (places.rows, 1),
    "planted": (planted.rows, planted.TRIES),
    "wire": (wire.rows, 1),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", default="", help=f"parts, by comma ({', '.join(PARTS)}); all when empty")
    parser.add_argument("--rounds", type=int, default=0, help="rounds of each part, 0 for its own number")
    args = parser.parse_args()
    wanted = set(filter(None, args.only.split(","))) or set(PARTS)
    if wanted - set(PARTS):
        parser.error(f"no part {', '.join(sorted(wanted - set(PARTS)))}; there are {', '.join(PARTS)}")
    report: dict[str, Any] = {
        "bench": "daemon", "date": datetime.date.today().isoformat(), "device": platform.processor() or platform.machine(),
        "versions": {"python": platform.python_version(), "sqlite": sqlite3.sqlite_version}, "rows": [],
    }  # fmt: skip
    if not args.json:
        print("| row | value | bound |\n|---|---|---|")
    for name, (rows, rounds) in PARTS.items():
        for r in rows(args.rounds or rounds) if name in wanted else ():
            report["rows"].append(r)
            if not args.json:
                missed = "" if r["ok"] else " **missed**"
                print(f"| {r['name']} | {r['value']:g} {r['unit']} | {r['bound'] or ''}{missed} |", flush=True)
    if args.json:
        print(json.dumps(report, ensure_ascii=False))
    return 0 if all(r["ok"] for r in report["rows"]) else 1


if __name__ == "__main__":
    sys.exit(main())
