"""What a hostile hand tries, again and again: code in every text of µGraphs, cache and kernel files. None of it runs.

python benchmarks/trust.py [--json] [--rounds 100000]
"""

from __future__ import annotations

import argparse
import datetime
import json
import platform
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "core"), str(ROOT), str(ROOT / "tests"), str(ROOT / "benchmarks")]

from daemonbench import forged  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=forged.ROUNDS)
    options = parser.parse_args()
    rows = []
    for row in forged.rows(options.rounds):
        rows.append(row)
        if not options.json:
            mark = "" if row["bound"] is None else f"  {'ok' if row['ok'] else 'MISSED'} ({row['bound']})"
            print(f"{row['name']:52} {row['value']:>12g} {row['unit']}{mark}", flush=True)
    if options.json:
        versions = {"python": platform.python_version(), "system": platform.platform()}
        date = datetime.date.today().isoformat()
        print(
            json.dumps({"bench": "trust", "date": date, "device": "cpu", "versions": versions, "rows": rows}, indent=1)
        )
    return 0 if all(r["ok"] for r in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
