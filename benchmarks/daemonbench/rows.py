"""What every part of the benchmark uses: a row, texts to submit, and a daemon process of its own that can be killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from mirage.errors import MirageError
from mirage.link import Client

Row = dict[str, Any]
SERVED = Path(__file__).with_name("served.py")
ROOT = SERVED.parents[2]
START_S = 60.0


def row(name: str, value: float, unit: str = "", bound: str | None = None, ok: bool = True) -> Row:
    """One line of the report. `bound` is a text such as "<= 1.0", None where the figure is only given."""
    return {"name": name, "value": round(value, 3), "unit": unit, "bound": bound, "ok": ok}


def at_most(name: str, value: float, unit: str, most: float) -> Row:
    return row(name, value, unit, f"<= {most:g}", value <= most)


def at_least(name: str, value: float, unit: str, least: float) -> Row:
    return row(name, value, unit, f">= {least:g}", value >= least)


def text(name: str) -> str:
    """A file with one decorated function; another name is another function."""
    return (
        "import mirage\nimport torch\n\n\n"
        f"@mirage.optimize(inputs=[((16, 64), 'fp16')])\ndef {name}(x):\n    return torch.relu(x) + {len(name)}\n"
    )


class Daemon:
    """A daemon process in a home of its own; a context manager. `mode` names what its jobs do (served.py), "" the real
    thing."""

    def __init__(self, mode: str, **settings: str) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="mirage-bench-"))
        self.log = self.home / "jobs.txt"  # what the jobs did, a line each
        self.mode, self._before = mode, os.environ.get("MIRAGE_HOME")
        self._settings = settings
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Daemon:
        os.environ["MIRAGE_HOME"] = str(self.home)
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        if self._before is None:
            del os.environ["MIRAGE_HOME"]
        else:
            os.environ["MIRAGE_HOME"] = self._before
        shutil.rmtree(self.home, ignore_errors=True)

    def start(self) -> float:
        """Start it; the time (time.monotonic) at which that began."""
        began = time.monotonic()
        command = [sys.executable, str(SERVED), self.mode, str(self.log)]
        self.process = subprocess.Popen(
            command if self.mode else [sys.executable, "-m", "mirage_daemon"],
            env={**os.environ, **self._settings, "MIRAGE_IDLE_S": "3600", "PYTHONPATH": f"{ROOT}/core:{ROOT}"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        return began

    def client(self) -> Client:
        """A connection, as soon as it listens."""
        deadline = time.monotonic() + START_S
        while True:
            try:
                return Client.connect(start_daemon=False)
            except MirageError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.005)

    def kill(self) -> None:
        """kill -9, at once."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()

    def lines(self) -> list[list[str]]:
        """What the jobs did."""
        return [line.split() for line in self.log.read_text().splitlines()] if self.log.exists() else []

    def workers(self) -> list[int]:
        """The processes that carry this home's mark: workers, and what they started."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with suppress(OSError):
                    if f"MIRAGE_LOCKS={self.home}".encode() in (entry / "environ").read_bytes():
                        found.append(int(entry.name))
        return found

    def memory(self) -> float:
        """MiB that the daemon's process has in memory."""
        assert self.process is not None
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def processor(self) -> float:
        """Seconds of processor time that the daemon's process took."""
        assert self.process is not None
        facts = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(facts[11]) + int(facts[12])) / os.sysconf("SC_CLK_TCK")

    def said(self, words: str) -> int:
        """How often the daemon's log has these words."""
        return sum(path.read_text("utf-8", "replace").count(words) for path in self.home.glob("data/daemon.log*"))

    def descriptors(self) -> int:
        assert self.process is not None
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))
