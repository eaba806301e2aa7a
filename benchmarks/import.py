"""Files of saved graphs in the original's form, each with several hundred graphs of one program, right ones and wrong ones:
how long `mirage verify PROGRAM --mugraphs FILE` takes on two cores, and whether every verdict is as it must be.

    python benchmarks/import.py [--json] [--graphs 400] [--only NAME] [--changes 600]
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "core"), str(ROOT / "tests" / "original")]

import space  # noqa: E402
import written  # noqa: E402

CORES = 2
VARIANTS = ("2024-05", "2024-12", "2025")


def workloads() -> dict[str, space.Workload]:
    return {
        "gated MLP": space.mlp(8, 4096, 4096),
        "RMSNorm linear": space.rms(16, 4096, 6144),
        "attention": space.attention(2, 256, 64, 4096),
    }


def file_of(w: space.Workload, most: int, seed: int = 0) -> tuple[list[Any], list[bool]]:
    """A file's graphs in random order, and whether each is right: every right one (at most `most` * 2/3) and wrong ones."""
    r = random.Random(seed)
    right = list(w.graphs())
    r.shuffle(right)
    right = right[: most * 2 // 3]
    wrong = [g for t in w.twists for g in w.graphs(t)]
    r.shuffle(wrong)
    every = [(g, True) for g in right] + [(g, False) for g in wrong[: most - len(right)]]
    r.shuffle(every)
    return [g for g, _ in every], [ok for _, ok in every]


def verify(program: str, file: Path, folder: Path) -> tuple[dict[str, Any], float, float]:
    """(the answer of `mirage verify`, seconds, seconds of processors) on two cores."""
    path = folder / "program.py"
    path.write_text(program)
    command = [
        sys.executable,
        "-c",
        "from mirage.cli import main; main()",
        "verify",
        str(path),
        "--mugraphs",
        str(file),
        "--json",
    ]
    if hasattr(os, "sched_setaffinity"):
        command = ["taskset", "-c", ",".join(map(str, sorted(os.sched_getaffinity(0))[:CORES])), *command]
    before, began = os.times(), time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT / "core")})
    seconds, after = time.monotonic() - began, os.times()
    if done.returncode not in (0, 3):
        raise SystemExit(f"mirage verify: {done.stderr[-2000:]}")
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return json.loads(done.stdout), seconds, used


def row(name: str, value: float, unit: str, bound: str | None = None) -> dict[str, Any]:
    ok = True
    if bound is not None:
        operator, limit = bound.split()
        ok = {"<=": value <= float(limit), ">=": value >= float(limit), "==": value == float(limit)}[operator]
    return {"name": name, "value": round(value, 3), "unit": unit, "bound": bound, "ok": ok}


def rows_of(name: str, w: space.Workload, most: int, folder: Path) -> list[dict[str, Any]]:
    graphs, right = file_of(w, most)
    file = folder / "graphs.json"
    file.write_text(json.dumps(graphs))
    data, seconds, used = verify(w.source, file, folder)
    accepted = [g["word"] in ("PROVED", "TESTED") for g in data["graphs"]]
    judged = [g["seconds"] for g in data["graphs"] if g["same_as"] is None]
    proved = sum(g["verdict"]["links"]["algebra"]["word"] == "PROVED" for g, ok in zip(data["graphs"], accepted) if ok)
    return [
        row(f"{name}: graphs", len(graphs), "graphs", ">= 200"),
        row(f"{name}: seconds on 2 cores", seconds, "s", "<= 600"),
        row(f"{name}: seconds of processors", used, "s"),
        row(f"{name}: median of a graph", 1e3 * statistics.median(judged), "ms"),
        row(
            f"{name}: right graphs not accepted", sum(ok and not a for ok, a in zip(right, accepted)), "graphs", "== 0"
        ),
        row(f"{name}: right graphs", sum(right), "graphs"),
        row(f"{name}: of them with a proof of the algebra", proved, "graphs"),
        row(f"{name}: wrong graphs", right.count(False), "graphs", ">= 50"),
        row(f"{name}: wrong graphs accepted", sum(a and not ok for ok, a in zip(right, accepted)), "graphs", "== 0"),
    ]


def variants(folder: Path) -> list[dict[str, Any]]:
    """One attention in the form of each version: the verdicts are the same."""
    w, file = space.attention(2, 32, 16, 64), folder / "variant.json"
    good = 0
    for style in VARIANTS:
        rows = written.attention(style)
        file.write_text(json.dumps(written.checkpoint(rows) if style == "2024-05" else [rows]))
        data, _, _ = verify(w.source, file, folder)
        good += [g["word"] for g in data["graphs"]] == ["TESTED"]
    return [row("versions of the file with the right verdict", good, "versions", f"== {len(VARIANTS)}")]


def changes(count: int) -> list[dict[str, Any]]:
    """Graphs with one thing changed at random: a verdict must be what floats say."""
    from mirage.cli import verify_subjects
    from mirage.isolate.runner import Worker
    from mirage_original import judge_task, list_saved, saved_files

    r = random.Random(11)
    loads = [space.mlp(4, 64, 64), space.rms(4, 64, 96), space.attention(2, 32, 16, 128)]
    pools, lefts = [list(w.graphs()) for w in loads], []
    with tempfile.TemporaryDirectory() as name, Worker() as worker:
        for i, w in enumerate(loads):
            (Path(name) / f"program{i}.py").write_text(w.source)
            lefts.append(verify_subjects.load(f"{name}/program{i}.py", worker))
    judged, equal, odd = 0, 0, 0
    for seed in range(count):
        i = r.randrange(len(loads))
        (entry,) = saved_files.entries([space.changed(r.choice(pools[i]), r)], "changed")
        _, graph, made = list_saved.row(entry, "changed")
        program = lefts[i].program
        if graph is None or made is None or program is None:
            continue
        wanted = {"text": lefts[i].text, "function": lefts[i].function}
        accepted = judge_task.judged(graph, program, wanted, False).accepted
        same = space.computes(graph, loads[i].source, seed)
        judged, equal, odd = judged + 1, equal + same, odd + (same != accepted)
    return [
        row("random changes: valid graphs judged", judged, "graphs"),
        row("random changes: of them equal in floats", equal, "graphs"),
        row("random changes: verdicts that floats contradict", odd, "graphs", "== 0"),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--graphs", type=int, default=400)
    parser.add_argument("--only", help="one workload")
    parser.add_argument("--changes", type=int, default=600)
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        for what, w in workloads().items():
            if options.only in (None, what):
                rows += rows_of(what, w, options.graphs, Path(name))
        rows += variants(Path(name))
    rows += changes(options.changes)
    if options.json:
        versions = {"python": platform.python_version()}
        print(
            json.dumps(
                {"bench": "import", "date": datetime.date.today().isoformat(), "device": platform.machine(),
                 "versions": versions, "rows": rows}
            )
        )  # fmt: skip
    else:
        for r in rows:
            print(f"{r['name']:52} {r['value']:10} {r['unit']:9} {r['bound'] or '':8} {'' if r['ok'] else 'MISSED'}")
    return 0 if all(r["ok"] for r in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
