"""A daemon process of its own home, with a job that answers at once, for measurements and attacks."""

from __future__ import annotations

import json
import operator
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

from mirage.errors import DaemonUnavailable
from mirage.link import Client

Row = dict[str, Any]
TEXT = """\
import mirage
import torch


@mirage.optimize(inputs=[((16, 64), "fp16")])
def f(x):
    return torch.softmax(x, dim=-1)
"""
_BOUNDS = {"<=": operator.le, ">=": operator.ge, "==": operator.eq, "<": operator.lt, ">": operator.gt}
# What a search gives for TEXT has some 10 kB; this one's parts have the same sizes.
_CHILD = """
import sys
from mirage.results.codec import unstructure
from mirage.results.result import Result
from mirage.results.verdict import LINKS, Evidence, Verdict
from mirage_daemon.lifecycle import main
said = [Evidence(link=link, opinion="field", word="TESTED", summary="e" * 400, bound=1e-9) for link in LINKS]
def kernel(name, source, **more):
    return {"result": unstructure(Result(name, "kernel", "2x", (), "p" * 64, source=source, **more))}
def job(payload, progress, cancel):
    graph = {"version": 1, "mugraph": {"name": payload["function"], "body": [{"op": "exp", "dims": ["m", "n"], "i": i}
             for i in range(60)]}}
    return kernel(payload["function"], "# kernel\\n" * 300, mugraphs=(graph,), verdict=Verdict((*said, *said)))
def heavy(payload, progress, cancel):
    return kernel("f", "# " + str(len({"torch", "triton"} & set(sys.modules))))
sys.exit(main(job=lambda p, *rest: (heavy if p["function"] == "loaded" else job)(p, *rest)))
"""


def row(name: str, value: float, unit: str, bound: str | None = None) -> Row:
    ok = True if bound is None else bool(_BOUNDS[bound.split()[0]](value, float(bound.split()[1])))
    return {"name": name, "value": round(float(value), 4), "unit": unit, "bound": bound, "ok": ok}


def rss_bytes(pid: int, field: str = "VmRSS") -> int:
    """A process's memory: VmRSS now, VmHWM at its highest."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(field + ":"))


class Home:
    """A private home, named in this process's environment as long as it lasts."""

    def __enter__(self) -> Home:
        self.folder = Path(tempfile.mkdtemp(prefix="mirage-bench-"))
        self._before = os.environ.get("MIRAGE_HOME")
        os.environ["MIRAGE_HOME"] = str(self.folder)
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        os.environ.pop("MIRAGE_HOME")
        if self._before is not None:
            os.environ["MIRAGE_HOME"] = self._before
        shutil.rmtree(self.folder, ignore_errors=True)


class Daemon(Home):
    """A daemon process in a home of its own, killed at the end."""

    def __init__(self, script: str = _CHILD) -> None:
        self._script = script

    def __enter__(self) -> Daemon:
        super().__enter__()
        self.process = subprocess.Popen([sys.executable, "-c", self._script], cwd="/")
        self.pid, until = self.process.pid, time.monotonic() + 30
        while True:
            try:
                Client.connect(start_daemon=False).close()
                return self
            except DaemonUnavailable:
                if time.monotonic() > until or self.process.poll() is not None:
                    raise
                time.sleep(0.02)

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self.process.kill()
        self.process.wait()
        super().__exit__(kind, value, tb)

    def learn(self, text: str = TEXT, function: str = "f") -> dict[str, Any]:
        """Have it find what is asked for later."""
        with Client.connect(start_daemon=False) as client:
            outcome = client.subscribe(client.submit(text, "a.py", function)["job"])
        assert outcome["state"] == "done", json.dumps(outcome)[:300]
        return outcome

    def heavy(self) -> int:
        """How many of torch and triton the process has loaded, by its own word."""
        found = self.learn(TEXT.replace("def f", "def loaded"), "loaded")
        return int(found["result"]["source"].removeprefix("# "))
