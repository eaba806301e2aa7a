"""What it costs to be watched, to be called, and to ask again: projects, the runtime link, `mirage optimize`.

python benchmarks/projects.py [--json]
"""

from __future__ import annotations

import argparse
import asyncio
import datetime
import importlib.util
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "core"), str(ROOT), str(ROOT / "benchmarks")]

from daemonbench.rows import Row, at_most, row  # noqa: E402

HEAD = "import torch\nimport mirage\n\n\n"
FUNCTION = '@mirage.optimize(inputs=[((16, 64), "fp16")])\ndef {}(x):\n    return torch.softmax(x * {}, dim=-1)\n'
FOLDERS, EACH, IGNORED = 100, 100, 2000
SAVES, REST_S, CALLS = 20, 5.0, 20_000


def tree(root: Path) -> None:
    """10,000 Python files, 100 of them with a decorated function, beside an environment of 2,000 folders."""
    for i in range(FOLDERS):
        (root / f"d{i}").mkdir()
        for j in range(EACH):
            body = HEAD + FUNCTION.format(f"f{i}", 2) if j == 0 else "import os\n\n\ndef g():\n    return os.sep\n" * 20
            (root / f"d{i}" / f"m{j}.py").write_text(body)
    for i in range(IGNORED):
        (root / ".venv" / "lib" / f"p{i}").mkdir(parents=True)


async def watching(root: Path) -> list[Row]:
    from mirage_daemon.watch_projects import Watcher

    came: list[float] = []

    async def submit(change: Any) -> None:
        came.append(time.monotonic())

    watcher = Watcher(submit)
    start = time.monotonic()
    first = await watcher.add(str(root), sys.executable, "sm_90")
    registered = time.monotonic() - start
    for i in range(FOLDERS):
        for j in range(0, EACH, 10):
            path = root / f"d{i}" / f"m{j}.py"
            path.write_text("# words\n" + path.read_text())
    await asyncio.sleep(3.0)
    comments = len(came)
    delays = []
    for n in range(SAVES):
        path, before, saved = root / f"d{n}" / "m0.py", len(came), time.monotonic()
        path.write_text(HEAD + FUNCTION.format(f"f{n}", 3 + n))
        while len(came) == before and time.monotonic() - saved < 5:
            await asyncio.sleep(0.002)
        delays.append(came[-1] - saved if len(came) > before else 5.0)
    processor = time.process_time()
    await asyncio.sleep(REST_S)
    processor = time.process_time() - processor
    await watcher.close()
    return [
        row("watch: files", first["files"], "", f"== {FOLDERS * EACH}", first["files"] == FOLDERS * EACH),
        row("watch: folders watched, 2,000 others ignored", first["folders"], "", f"== {FOLDERS + 1}",
            first["folders"] == FOLDERS + 1),
        at_most("watch: to register 10,000 files", registered, "s", 10.0),
        at_most("watch: submitted after 1,000 saves of comments", comments, "", 0),
        at_most("watch: from a save to its submission, median", statistics.median(delays), "s", 0.5),
        at_most("watch: processor time of 5 s at rest", processor, "s", 0.05),
    ]  # fmt: skip


def calls(folder: Path) -> list[Row]:
    """What recording adds to a call, beside the same function with it switched off; no daemon, and one that listens."""
    import torch

    from mirage.runtime.daemon_thread import SWITCH
    from mirage.runtime.observed_calls import Observer

    path = folder / "called.py"
    path.write_text("import mirage\n\n\n@mirage.optimize\ndef f(x, w):\n    return x\n")
    x, w = torch.ones(4), torch.ones(4)

    def load(switch: str) -> Callable[..., Any]:
        os.environ[SWITCH] = switch
        spec = importlib.util.spec_from_file_location(f"called_{switch}", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for _ in range(1000):
            module.f(x, w)
        return module.f  # type: ignore[no-any-return]

    functions = [load("off"), load("on")]
    best = [float("inf")] * len(functions)
    for _ in range(30):
        for i, function in enumerate(functions):
            start = time.perf_counter()
            for _ in range(CALLS):
                function(x, w)
            best[i] = min(best[i], (time.perf_counter() - start) / CALLS)
    looks = []
    observer = Observer(functions[1].__wrapped__, lambda kernel: None)  # type: ignore[attr-defined]
    for _ in range(2000):
        start = time.perf_counter()
        observer((x, w), {})
        looks.append(time.perf_counter() - start)
    return [
        row("runtime: a call without recording", best[0] * 1e9, "ns"),
        at_most("runtime: added by recording", (best[1] - best[0]) * 1e9, "ns", 100.0),
        row("runtime: a call that is looked at (1 of 256), median", statistics.median(looks) * 1e6, "us"),
    ]


def asked_twice(folder: Path) -> list[Row]:
    file = folder / "model.py"
    file.write_text(HEAD + FUNCTION.format("f", 3))
    code = "import sys; sys.argv[0] = 'mirage'; from mirage.cli import main; main()"
    command = [sys.executable, "-c", code, "optimize", str(file), "--json", "--anyway"]
    times, outputs = [], []
    for _ in range(6):
        start = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True)
        times.append(time.monotonic() - start)
        outputs.append((done.returncode, done.stdout))
    subprocess.run([sys.executable, "-c", code, "daemon", "stop"], capture_output=True)
    same = all(o == outputs[0] for o in outputs) and outputs[0][0] == 0
    return [
        row("optimize: the first run, daemon and workers started", times[0], "s"),
        at_most("optimize: run again, median of 5", statistics.median(times[1:]), "s", 0.5),
        row("optimize: run again, the same answer", int(same), "", "== 1", same),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    home, root = Path(tempfile.mkdtemp(prefix="mirage-bench-")), Path(tempfile.mkdtemp(prefix="mirage-tree-"))
    os.environ["MIRAGE_HOME"] = str(home)
    try:
        tree(root)
        rows = [*asyncio.run(watching(root)), *calls(home), *asked_twice(home)]
    finally:
        shutil.rmtree(home, ignore_errors=True)
        shutil.rmtree(root, ignore_errors=True)
    report: dict[str, Any] = {
        "bench": "projects", "date": datetime.date.today().isoformat(), "device": platform.processor() or platform.machine(),
        "versions": {"python": platform.python_version()}, "rows": rows,
    }  # fmt: skip
    if args.json:
        print(json.dumps(report, ensure_ascii=False))
    else:
        print("| row | value | bound |\n|---|---|---|")
        for r in rows:
            print(
                f"| {r['name']} | {r['value']:g} {r['unit']} | {r['bound'] or ''}{'' if r['ok'] else ' **missed**'} |"
            )
    return 0 if all(r["ok"] for r in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
