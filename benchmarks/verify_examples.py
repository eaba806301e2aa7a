"""How long `mirage verify FUNCTION MODULE` takes: a process of its own for each function, on a machine at rest.

python benchmarks/verify_examples.py [--json] [--over examples,points,random] [--count 100] [--modules FOLDER] [--out FILE] [--daemon]

Over the examples, the points of points.py, `--count` random programs. Every function is optimized first (without a daemon), unless
FOLDER holds its module already; what stands in FILE is not judged again. `--daemon`: a daemon of the benchmark's own judges, which has
judged before and has had time to make the next worker ready.
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
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "benchmarks")]

from points import BATCHES, WORKLOADS  # noqa: E402
from program.random_programs import random_programs  # noqa: E402

SECONDS = 3.0  # bound of the median
LATE_S = 20.0  # bound of the 95th percentile
WORST = 10  # slowest ones that are named
FAMILIES = "examples,points,random"
EVERY_S = 0.02
REST_S = 8.0  # between two verdicts of a daemon: its next worker imports meanwhile what the last one had imported


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


@dataclass(frozen=True)
class Judged:
    """One verdict: the command's exit status (0: accepted, 3: not), its seconds on the clock, and those of the processors. A
    function without a module (no kernel was found) has the status -1."""

    name: str
    code: int
    clock: float = 0.0
    processors: float = 0.0


def functions(families: list[str], count: int, folder: Path) -> Iterator[Path]:
    """The files of functions; those of points.py and of the random programs are written into the folder."""
    if "examples" in families:
        yield from sorted((ROOT / "examples").glob("*.py"))
    texts = dict[str, str]()
    if "points" in families:
        texts |= {f"{name}_bs{b}": w.text(name, (b,)) for name, w in WORKLOADS.items() for b in BATCHES}
    if "random" in families:
        texts |= {f"random_{p.seed}": p.decorated() for p in random_programs(count)}
    for name, text in texts.items():
        path = folder / f"{name}.py"
        path.write_text(text, "utf-8")
        yield path


def judged(path: Path, module: Path, by_daemon: bool) -> Judged:
    """The verdict on the module that is made of a function, if it is not there yet."""
    if not module.exists():
        code, said, _, _ = mirage("optimize", str(path), "--out", str(module), "--anyway", "--no-daemon")
        if not module.exists():
            print(f"{path.name} gave no module (status {code}): {said[-500:]}", file=sys.stderr)
            return Judged(path.stem, -1)
    if by_daemon:
        time.sleep(REST_S)
    code, said, clock, processors = mirage("verify", str(path), str(module), *([] if by_daemon else ["--no-daemon"]))
    if code:
        print(said, file=sys.stderr)
    return Judged(path.stem, code, clock, processors)


def every(paths: Iterable[Path], modules: Path, out: Path | None, by_daemon: bool) -> list[Judged]:
    """Those that stand in `out` are not judged again."""
    kept = [Judged(**json.loads(x)) for x in out.read_text("utf-8").splitlines()] if out and out.exists() else []
    known = {x.name: x for x in kept}
    for path in paths:
        if path.stem not in known:
            known[path.stem] = judged(path, modules / path.name, by_daemon)
            if out:
                with out.open("a", encoding="utf-8") as lines:
                    print(json.dumps(asdict(known[path.stem])), file=lines)
    return list(known.values())


@contextmanager
def daemon_that_has_judged() -> Iterator[None]:
    """Of a home of its own. The first question finds no worker, and has one made ready."""
    with tempfile.TemporaryDirectory(prefix="m") as home:
        os.environ["MIRAGE_HOME"] = home
        try:
            example = str(ROOT / "examples" / "softmax.py")
            for asked in (("daemon", "start"), ("verify", example, example)):
                code, said, _, _ = mirage(*asked)
                if code:
                    raise SystemExit(f"mirage {asked[0]} ended with {code}: {said[-500:]}")
            time.sleep(2 * REST_S)
            yield
        finally:
            mirage("daemon", "stop")
            del os.environ["MIRAGE_HOME"]


def rows(found: list[Judged]) -> list[dict[str, Any]]:
    with_module = [x for x in found if x.code >= 0]
    if len(with_module) < 2:
        raise SystemExit("fewer than two modules were made")
    refused = sum(x.code != 0 for x in with_module)
    clock = [x.clock for x in with_module]
    middle, late = statistics.median(clock), statistics.quantiles(clock, n=20, method="inclusive")[-1]
    slowest = sorted(with_module, key=lambda x: -x.clock)[:WORST]
    return [
        row("verify, verdicts", len(with_module), "functions"),
        row("verify, functions without a module", len(found) - len(with_module), "functions"),
        row("verify, refused", refused, "functions", "== 0", not refused),
        row("verify median seconds", middle, "s", f"<= {SECONDS:g}", middle <= SECONDS),
        row("verify 95th percentile seconds", late, "s", f"<= {LATE_S:g}", late <= LATE_S),
        row("verify median processor seconds", statistics.median(x.processors for x in with_module), "s"),
        *(row(f"slowest/{x.name}", x.clock, "s") for x in slowest),
        *(row(f"verify/{x.name}", x.clock, "s") for x in with_module),
        *(row(f"processor/{x.name}", x.processors, "s") for x in with_module),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--modules", type=Path, help="a folder with the emitted modules, each by its function's name")
    parser.add_argument("--over", default="examples", help=f"families of functions: {FAMILIES}")
    parser.add_argument("--count", type=int, default=100, help="random programs")
    parser.add_argument("--daemon", action="store_true", help="by a daemon that has judged before")
    parser.add_argument("--out", type=Path, help="the verdicts line by line; those that it holds already are kept")
    args = parser.parse_args()
    families = args.over.split(",")
    if not set(families) <= set(FAMILIES.split(",")):
        parser.error(f"--over takes some of {FAMILIES}")
    compileall.compile_dir(ROOT / "core", quiet=2)  # bytecode, as an installed package has it
    served = daemon_that_has_judged() if args.daemon else nullcontext()
    with tempfile.TemporaryDirectory() as made, tempfile.TemporaryDirectory() as written, served:
        paths = functions(families, args.count, Path(written))
        found = rows(every(paths, args.modules or Path(made), args.out, args.daemon))
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
