"""How long `mirage verify FUNCTION MODULE` takes over the examples: a process of its own for each, on a machine at rest.

python benchmarks/verify_examples.py [--json] [--modules FOLDER]

Every example is optimized first (without a daemon), unless FOLDER holds the modules already.
"""

from __future__ import annotations

import argparse
import compileall
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 3.0  # bound of the median
EVERY_S = 0.02


def mirage(*arguments: str) -> tuple[int, str, float, float]:
    """The exit status, what was printed, the seconds on the clock, and those of the processors: of the command, of its sandboxed worker and
    of that one's children, looked at every 20 ms (whoever kills a worker does not wait for it, so that the system adds it to nobody)."""
    command = [str(Path(sys.executable).with_name("mirage")), *arguments]
    with tempfile.TemporaryFile("w+") as printed:
        start, spent = time.monotonic(), 0.0
        process = subprocess.Popen(command, stdout=printed, stderr=subprocess.STDOUT, text=True, cwd=ROOT)
        while process.poll() is None:
            spent = max(spent, processor_seconds(process.pid))
            time.sleep(EVERY_S)
        took = time.monotonic() - start
        printed.seek(0)
        return process.returncode, printed.read(), took, spent


def processor_seconds(pid: int) -> float:
    """Of a process and of all below it, with those that they have waited for."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8", errors="replace").rpartition(")")[2].split()
        own = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
        children = [c for t in Path(f"/proc/{pid}/task").iterdir() for c in (t / "children").read_text("ascii").split()]
    except OSError:  # it ended meanwhile
        return 0.0
    return own + sum(processor_seconds(int(c)) for c in children)


def row(name: str, value: float, unit: str, bound: str | None = None, ok: bool = True) -> dict[str, Any]:
    return {"name": name, "value": round(value, 3), "unit": unit, "bound": bound, "ok": ok}


def rows(modules: Path) -> list[dict[str, Any]]:
    clock: dict[str, float] = {}
    processors: dict[str, float] = {}
    refused: list[str] = []
    for path in sorted((ROOT / "examples").glob("*.py")):
        module = modules / path.name
        if not module.exists():
            code, said, _, _ = mirage("optimize", str(path), "--out", str(module), "--anyway", "--no-daemon")
            if not module.exists():
                raise SystemExit(f"{path.name} gave no module (status {code}): {said[-500:]}")
        code, said, clock[path.stem], processors[path.stem] = mirage("verify", str(path), str(module))
        if code:
            refused.append(path.stem)
            print(said, file=sys.stderr)
    middle = statistics.median(clock.values())
    return [
        row("verify, examples refused", len(refused), "examples", "== 0", not refused),
        row("verify median seconds", middle, "s", f"<= {SECONDS:g}", middle <= SECONDS),
        row("verify median processor seconds", statistics.median(processors.values()), "s"),
        *(row(f"verify/{name}", took, "s") for name, took in clock.items()),
        *(row(f"processor/{name}", spent, "s") for name, spent in processors.items()),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--modules", type=Path, help="a folder with the emitted modules, each by its example's name")
    args = parser.parse_args()
    compileall.compile_dir(ROOT / "core", quiet=2)  # bytecode, as an installed package has it
    with tempfile.TemporaryDirectory() as made:
        found = rows(args.modules or Path(made))
    if args.json:
        print(json.dumps({
            "bench": "verify_examples", "date": datetime.date.today().isoformat(), "cores": os.cpu_count(),
            "device": platform.processor() or platform.machine(), "rows": found,
        }))  # fmt: skip
    else:
        for r in found:
            bound = f"{r['bound'] or ''}{'' if r['ok'] else ' **missed**'}"
            print(f"{r['name']:40} {r['value']:8.2f} {r['unit']:10} {bound}")
    return 0 if all(r["ok"] for r in found) else 1


if __name__ == "__main__":
    raise SystemExit(main())
