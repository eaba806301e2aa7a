"""What a bench of rows prints: each row as it comes, or one JSON object, and the exit status."""

from __future__ import annotations

import argparse
import datetime
import json
import platform
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from daemonbench.rows import Row

Part = Callable[[int], Iterable[Row]]


def main(
    bench: str,
    words: str | None,
    option: str,
    times: int,
    rows: Part | Mapping[str, Part],
    on_demand: Mapping[str, Part] = MappingProxyType({}),
) -> int:
    """Runs `rows(N)`, or the parts of that name which `--only` asks for; `--option N` says how often something is tried, or how
    much. `on_demand`: parts that run only where they are named. 1 where a bound was missed."""
    usual = rows if isinstance(rows, Mapping) else {bench: rows}
    parts = {**usual, **on_demand}
    parser = argparse.ArgumentParser(description=words)
    parser.add_argument("--json", action="store_true")
    parser.add_argument(f"--{option}", dest="times", type=int, default=times)
    parser.add_argument(
        "--only", default="", help=f"parts, by comma ({', '.join(parts)}); {', '.join(usual)} when empty"
    )
    options = parser.parse_args()
    wanted = set(filter(None, options.only.split(","))) or set(usual)
    if wanted - set(parts):
        parser.error(f"there are {', '.join(parts)}")
    found = []
    for row in (row for name, part in parts.items() if name in wanted for row in part(options.times)):
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
