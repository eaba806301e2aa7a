"""The original's quickstart as it stands: a script of its README, run, and every Triton file that it writes run beside it.

The script is a process of its own. Each file is then imported and called as a user would call it, at the quickstart's own
sizes, in Triton's CPU interpreter (accesses checked). The first batch of the inputs is normal, the second ten times that; each is
compared with the program in float64, within the float opinion's budget for float16. Where the program as written overflows
in float64 too (its exponentials have no shift), its shifted form says what is meant. About 15 minutes on two cores, alone.

    python benchmarks/original.py [--json] [--sample N] [--keep FOLDER]
"""

from __future__ import annotations

import argparse
import datetime
import json
import multiprocessing
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "core"), str(ROOT / "tests"), str(ROOT / "benchmarks")]

Row = dict[str, Any]
Shapes = tuple[tuple[int, ...], ...]
WANTED, PROCESSES, SEED = 69, 2, 0
SHAPES: Shapes = ((2, 256, 64), (2, 64, 4096), (2, 4096, 64))
REGIMES = ("normal", "times 10")
QUICKSTART = """\
import mirage as mi
graph = mi.new_graph()
Q = graph.new_input(dims=(2, 256, 64), dtype=mi.float16)
K = graph.new_input(dims=(2, 64, 4096), dtype=mi.float16)
V = graph.new_input(dims=(2, 4096, 64), dtype=mi.float16)
A = graph.matmul(Q, K)
E = graph.exp(A)
S = graph.reduction(E, 2)
D = graph.div(E, S)
O = graph.matmul(D, V)

new_graphs = mi.superoptimize(graph, griddims=[(2, 16, 1), (2, 16, 4)])

for i, mugraph in enumerate(new_graphs):
    mugraph.generate_triton_program("generated_program_{}.py".format(i))
"""
SAID = re.compile(r"mirage: (\d+) µGraphs found and verified, (\d+) structures")


def script(folder: Path) -> tuple[int, int, list[Path], float]:
    """Runs the quickstart in `folder`: (µGraphs, structures) as it prints them, the files, seconds."""
    path = folder / "quickstart.py"
    path.write_text(QUICKSTART)
    env = os.environ | {"PYTHONPATH": str(ROOT / "core"), "PYTHONIOENCODING": "utf-8"}
    start = time.monotonic()
    done = subprocess.run([sys.executable, path.name], cwd=folder, env=env, capture_output=True, encoding="utf-8")
    seconds = time.monotonic() - start
    said = SAID.search(done.stdout)
    if done.returncode or said is None:
        raise SystemExit(f"the quickstart ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    files = sorted(folder.glob("generated_program_*.py"), key=lambda p: int(p.stem.rpartition("_")[2]))
    return int(said[1]), int(said[2]), files, seconds


@cache
def case(shapes: Shapes) -> tuple[Any, Any]:
    """Inputs in float16, one regime a batch, and what the program gives for them in float64."""
    import numpy as np
    import torch

    from mirage.verify.floats.regimes import REGIMES as KINDS

    rng = np.random.default_rng(SEED)
    draws = [next(r.draw for r in KINDS if r.name == name) for name in REGIMES]
    inputs = [
        torch.from_numpy(np.stack([draws[i % len(draws)](rng, s[1:], "fp16", s[-1]) for i in range(s[0])])).half()
        for s in shapes
    ]
    q, k, v = (x.double() for x in inputs)
    e = torch.exp(q @ k)
    written = (e / e.sum(-1, keepdim=True)) @ v
    shifted = torch.softmax(q @ k, -1) @ v
    known = written.isfinite()
    assert torch.allclose(written[known], shifted[known], rtol=1e-9, atol=1e-9)
    return inputs, torch.where(known, written, shifted).numpy()


def run(path: Path, shapes: Shapes = SHAPES) -> tuple[float, str]:
    """A file's worst error as a part of what is allowed, and what is wrong with it ("" if nothing is)."""
    os.environ["TRITON_INTERPRET"] = "1"
    import torch

    from mirage.codegen.interpreter import float_interpreter, load_module
    from mirage.verify.floats.error_limits import Compared, judge

    torch.set_num_threads(1)
    worst = 0.0
    try:
        inputs, want = case(shapes)
        program = load_module(path.read_text()).program
        with float_interpreter():
            made = program(*(x.clone() for x in inputs))
        assert made.dtype == torch.float16 and made.shape == want.shape, f"{made.dtype} {tuple(made.shape)}"
    except Exception as error:  # whatever a written file raises is its fault
        return float("inf"), f"{path.name}: {type(error).__name__}: {error}"[:500]
    for i, (got, right) in enumerate(zip(made.double().numpy(), want, strict=True)):
        figures, at = judge(Compared(got, right, None, right, "fp16"), shapes[1][-1], False)
        worst = max(worst, figures["error"] / figures["allowed"])
        if at is not None:
            return worst, f"{path.name}, {REGIMES[i % len(REGIMES)]}: {figures['why']}"
    return worst, ""


def rows(folder: Path, sample: int) -> Iterator[Row]:
    def row(name: str, value: float, unit: str = "", bound: str | None = None, ok: bool = True) -> Row:
        return {"name": f"quickstart: {name}", "value": round(value, 3), "unit": unit, "bound": bound, "ok": ok}

    mugraphs, structures, files, seconds = script(folder)
    yield row("it takes", seconds, "s")
    yield row("distinct µGraphs, found and verified", mugraphs, "", f">= {WANTED}", mugraphs >= WANTED)
    yield row("their structures (sizes erased)", structures)
    yield row("files written", len(files), "", f"== {mugraphs}", len(files) == mugraphs)
    bodies = {re.sub(r"(?m)^# .*$", "", p.read_text()) for p in files}
    yield row("files with a text of their own", len(bodies), "", f"== {mugraphs}", len(bodies) == mugraphs)
    chosen: Sequence[Path] = files if not sample else files[:: max(1, len(files) // sample)][:sample]
    start = time.monotonic()
    with ProcessPoolExecutor(PROCESSES, multiprocessing.get_context("spawn")) as pool:
        found = list(pool.map(run, chosen))
    for _, why in found:
        if why:
            print(why, file=sys.stderr)
    equal = sum(not why for _, why in found)
    yield row("files run in the interpreter", len(found), "", f"== {len(chosen)}", len(found) == len(chosen))
    yield row("files run in the interpreter, equal to the program", equal, "", f"== {len(found)}", equal == len(found))
    yield row("largest error / allowed", max((e for e, _ in found), default=0.0), "", "<= 1", equal == len(found))
    yield row("running the files takes", time.monotonic() - start, "s")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--sample", type=int, default=0, help="run this many of the files; 0: every one")
    parser.add_argument("--keep", type=Path, help="a folder for the script and its files; else one that is removed")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        found = list(rows(folder, args.sample))
    if args.json:
        report = {
            "bench": "original", "date": datetime.date.today().isoformat(),
            "device": platform.processor() or platform.machine(),
            "versions": {"python": platform.python_version()}, "rows": found,
        }  # fmt: skip
        print(json.dumps(report, ensure_ascii=False))
    else:
        print("| row | value | bound |\n|---|---|---|")
        for r in found:
            missed = "" if r["ok"] else " **missed**"
            print(f"| {r['name']} | {r['value']:g} {r['unit']} | {r['bound'] or ''}{missed} |")
    return 0 if all(r["ok"] for r in found) else 1


if __name__ == "__main__":
    raise SystemExit(main())
