"""The language server measured from outside, as an editor sees it: a process, its standard input and output, its memory.

python benchmarks/lsp.py [--json]

The daemon is scripted (no search takes the processor's time) but talks as one at work does: while requests are timed it
has more jobs at work than a daemon's workers take, and sends an event for each of them as often as the daemon does.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import shutil
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "lsp")]

from lsp_client import FULL, URI, Editor  # noqa: E402
from lsp_daemon import FakeDaemon, wait_until  # noqa: E402
from lsp_samples import HEAD, result  # noqa: E402

FUNCTIONS, LINES, STARTS, REQUESTS, STROKES = 50, 5000, 7, 400, 40
DEBOUNCE_MS = 50
AT_WORK, QUIET_S = 10, 0.05  # jobs that run at once, the others are queued; seconds between a job's events


def text(lines: int = LINES, functions: int = FUNCTIONS) -> str:
    """A file of that many lines with that many decorated functions, each with a helper, between plain ones."""
    plain = "def plain{}(a, b):\n    total = a\n    for k in range(3):\n        total = total + k * b\n    return total\n\n\n"
    out = [HEAD]
    for i in range(functions):
        out.append(f"def helper{i}(x):\n    return x * {i}.5\n\n\n")
        out.append(
            f'@mirage.optimize\ndef f{i}(x: Float16[Tensor, "16 64"]) -> Tensor:\n    return helper{i}(x) + x\n\n\n'
        )
    missing = (lines - "".join(out).count("\n")) // plain.count("\n")
    per = -(-missing // functions)
    body = [
        "".join(plain.format(f"{i}_{k}") for k in range(min(per, missing - i * per)))
        + "".join(out[1 + 2 * i : 3 + 2 * i])
        for i in range(functions)
    ]
    return HEAD + "".join(body)


def p99(times: list[float]) -> float:
    """The 99th percentile, in ms."""
    return sorted(times)[min(len(times) - 1, int(len(times) * 0.99))] * 1e3


def row(name: str, value: float, unit: str, bound: float) -> dict[str, Any]:
    return {"name": name, "value": round(value, 2), "unit": unit, "bound": f"<= {bound:g}", "ok": value <= bound}


def memory_mb(pid: int, what: str) -> float:
    """A line of the process's status, in MB."""
    status = Path(f"/proc/{pid}/status").read_text("utf-8")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith(what + ":")) / 1024


def processor_s(pid: int) -> float:
    """Seconds of processor time that a process has used: what is left of its time on a machine that is busy."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def starts(home: Path) -> list[dict[str, Any]]:
    """From the start of the process to the answer, and what is in the process then."""
    times, worked, heavy = [], [], 0
    for _ in range(STARTS):
        begin = time.perf_counter()
        editor = Editor(home)
        editor.initialize()
        times.append(time.perf_counter() - begin)
        worked.append(processor_s(editor.process.pid))
        maps = Path(f"/proc/{editor.process.pid}/maps").read_text("utf-8")
        heavy += any(name in maps for name in ("libtorch", "libtriton"))
        editor.leave()
        editor.kill()
    load = {
        "name": "load average of the machine",
        "value": round(os.getloadavg()[0], 1),
        "unit": "",
        "bound": None,
        "ok": True,
    }
    free = {
        "name": "initialize, processor time",
        "value": round(min(worked) * 1e3),
        "unit": "ms",
        "bound": None,
        "ok": True,
    }
    return [
        load,
        free,
        row("initialize, median", statistics.median(times) * 1e3, "ms", 500),
        row("initialize, slowest", max(times) * 1e3, "ms", 500),
        row("processes with torch or triton in them", heavy, "processes", 0),
    ]


class Searches:
    """A daemon at work: every job that the server follows gets an event every QUIET_S."""

    def __init__(self, daemon: FakeDaemon, jobs: int) -> None:
        self._daemon, self._jobs, self._stop = daemon, jobs, threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        count = 0
        while not self._stop.wait(QUIET_S):
            count += 1
            for job in range(1, self._jobs + 1):
                self._daemon.event(f"job-{job}", "searching", values=count, mugraphs=count)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


def timed(editor: Editor, method: str, params: dict[str, Any], count: int) -> list[float]:
    times = []
    for _ in range(count):
        before = len(editor.messages)
        begin = time.perf_counter()
        ident = editor.start_request(method, params)
        while not any("method" not in m and m.get("id") == ident for m in editor.messages[before:]):
            time.sleep(0.0002)
        times.append(time.perf_counter() - begin)
        time.sleep(0.003)
    return times


def busy(home: Path) -> list[dict[str, Any]]:
    """A large file, all its functions being searched: requests, keystrokes, memory."""
    daemon = FakeDaemon(home)
    editor = Editor(home)
    try:
        editor.initialize(capabilities=FULL, trusted=True, debounceMs=DEBOUNCE_MS)
        whole = text()
        editor.open(whole)
        daemon.wait("subscribe", FUNCTIONS, 60)
        line = whole[: whole.index("def f25(")].count("\n")
        here = {"textDocument": {"uri": URI}}
        at = {"line": line, "character": 4}
        context = {"diagnostics": []}
        with Searches(daemon, AT_WORK):
            hover = timed(editor, "textDocument/hover", {**here, "position": at}, REQUESTS)
            action = timed(
                editor,
                "textDocument/codeAction",
                {**here, "range": {"start": at, "end": at}, "context": context},
                REQUESTS,
            )
        for job in range(1, FUNCTIONS + 1):
            daemon.finish(f"job-{job}", "done", result(function=f"f{job - 1}"))
        wait_until(lambda: sum("1.8x" in t for t in editor.titles()) == FUNCTIONS, "all results", 60)
        times = [stroke(editor, whole, n) - DEBOUNCE_MS / 1e3 for n in range(STROKES)]
        rows = [
            row("hover while searching, p99", p99(hover), "ms", 20),
            row("code action while searching, p99", p99(action), "ms", 20),
            row("keystroke to updated lens after the debounce, median", statistics.median(times) * 1e3, "ms", 100),
            row("keystroke to updated lens after the debounce, slowest", max(times) * 1e3, "ms", 100),
            row("server memory, peak", memory_mb(editor.process.pid, "VmHWM"), "MB", 120),
        ]
        lines = {"name": "lines of the file", "value": whole.count("\n"), "unit": "lines", "bound": None, "ok": True}
        return [lines, *rows]
    finally:
        editor.kill()
        daemon.close()


def stroke(editor: Editor, whole: str, number: int) -> float:
    """Seconds from a keystroke within a function to the lens that says so, the debounce included."""
    place = whole.index("return helper25(x) + x") + len("return helper25(x) + x")
    start = {"line": whole[:place].count("\n"), "character": place - whole.rindex("\n", 0, place) - 1}
    refreshes = len(editor.sent("workspace/codeLens/refresh"))
    editor.versions[URI] += 1
    document = {"uri": URI, "version": editor.versions[URI]}
    change = {"range": {"start": start, "end": start}, "text": f" + {number}" if number else " "}
    begin = time.perf_counter()
    editor.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [change]})
    while len(editor.sent("workspace/codeLens/refresh")) == refreshes:
        time.sleep(0.001)
    title = next(t for t in editor.titles() if "queued" in t or "before" in t) if number else ""
    seconds = time.perf_counter() - begin
    assert number == 0 or "queued" in title, title
    back = {"start": start, "end": {**start, "character": start["character"] + len(change["text"])}}
    editor.versions[URI] += 1
    document = {"uri": URI, "version": editor.versions[URI]}
    editor.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [{"range": back, "text": ""}]})
    wait_until(lambda: sum("1.8x" in t and "queued" not in t for t in editor.titles()) == FUNCTIONS, "the old text", 60)
    time.sleep(0.1)
    return seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="mblsp-"))
    try:
        rows = [*starts(home), *busy(home)]
    finally:
        shutil.rmtree(home, ignore_errors=True)
    if args.json:
        report = {
            "bench": "lsp", "date": datetime.date.today().isoformat(), "device": platform.processor() or platform.machine(),
            "versions": {"python": platform.python_version()}, "rows": rows,
        }  # fmt: skip
        print(json.dumps(report, ensure_ascii=False))
    else:
        print("| row | value | bound |\n|---|---|---|")
        for r in rows:
            missed = "" if r["ok"] else " **missed**"
            print(f"| {r['name']} | {r['value']:g} {r['unit']} | {r['bound'] or ''}{missed} |")
    return 0 if all(r["ok"] for r in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
