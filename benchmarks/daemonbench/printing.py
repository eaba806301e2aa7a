"""What a bench of rows prints: each row as it comes, or one JSON object, and the exit status."""

from __future__ import annotations

import argparse
import datetime
import json
import platform
from collections.abc import Callable, Iterable

from daemonbench.rows import Row


def main(bench: str, words: str | None, option: str, times: int, rows: Callable[[int], Iterable[Row]]) -> int:
    """Runs `rows(N)`, where `--option N` says how often something is tried; 1 where a bound was missed."""
    parser = argparse.ArgumentParser(description=words)
    parser.add_argument("--json", action="store_true")
    parser.add_argument(f"--{option}", dest="times", type=int, default=times)
    options = parser.parse_args()
    found = []
    for row in rows(options.times):
        found.append(row)
        if not options.json:
            mark = "" if row["bound"] is None else f"  {'ok' if row['ok'] else 'MISSED'} ({row['bound']})"
            print(f"{row['name']:52} {row['value']:>12g} {row['unit']}{mark}", flush=True)
    if options.json:
        versions = {"python": platform.python_version(), "system": platform.platform()}
        date = datetime.date.today().isoformat()
        print(
            json.dumps({"bench": bench, "date": date, "device": "cpu", "versions": versions, "rows": found}, indent=1)
        )
    return 0 if all(r["ok"] for r in found) else 1
