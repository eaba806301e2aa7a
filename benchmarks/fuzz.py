"""The daemon's door under a million random and mutated frames: no crash, no hang, nothing left behind.

    python benchmarks/fuzz.py [--json] [--frames 1000000]

All frames go through the server's own code in memory, a fiftieth of them again over the socket to a daemon process.
"""

from __future__ import annotations

import argparse
import datetime
import json
import platform
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "core"), str(ROOT), str(ROOT / "benchmarks")]

from daemonbench import fuzz  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--frames", type=int, default=fuzz.FRAMES)
    options = parser.parse_args()
    rows = []
    for row in fuzz.rows(options.frames):
        rows.append(row)
        if not options.json:
            mark = "" if row["bound"] is None else f"  {'ok' if row['ok'] else 'MISSED'} ({row['bound']})"
            print(f"{row['name']:52} {row['value']:>12g} {row['unit']}{mark}", flush=True)
    if options.json:
        versions = {"python": platform.python_version(), "system": platform.platform()}
        date = datetime.date.today().isoformat()
        print(
            json.dumps({"bench": "fuzz", "date": date, "device": "cpu", "versions": versions, "rows": rows}, indent=1)
        )
    return 0 if all(r["ok"] for r in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
