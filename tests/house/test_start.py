"""The command line starts quickly, because nothing heavy is loaded for it."""

from __future__ import annotations

import resource
import subprocess
import sys

HEAVY = ("torch", "triton", "z3", "numpy", "pygls", "mirage_daemon.server", "mirage.search")
RUN = f"""
import sys
sys.argv = ["mirage", "--help"]
from mirage.cli import main
try:
    main()
except SystemExit as end:
    print("exit", end.code)
print([m for m in {HEAVY!r} if m in sys.modules])
"""


def test_help_loads_nothing_heavy() -> None:
    done = subprocess.run([sys.executable, "-c", RUN], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.strip().splitlines()
    assert "optimize" in done.stdout
    assert lines[-2:] == ["exit 0", "[]"]


def test_the_check_would_see_a_heavy_import() -> None:
    done = subprocess.run([sys.executable, "-c", "import numpy\n" + RUN], capture_output=True, text=True)
    assert done.stdout.strip().splitlines()[-1] == "['numpy']"


def processor_seconds(code: str) -> float:
    """The processor time of a Python process: what else runs on the machine does not count."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-c", code, "--help"], capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stderr
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_help_takes_less_than_150_ms() -> None:
    quickest = min(processor_seconds("from mirage.cli import main; main()") for _ in range(9))
    assert quickest < 0.150, f"{quickest * 1e3:.0f} ms"


def test_a_slow_start_would_be_seen() -> None:
    assert processor_seconds("import time\nwhile time.process_time() < 0.2: pass") > 0.150
