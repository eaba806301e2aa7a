from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

WAITING = re.compile(r"^\w+: [A-Za-z ]+, \d+ s( · .*)?\n", re.M)  # lines of progress, which only a slow machine sees
RUN = "import sys; sys.argv[0] = 'mirage'; from mirage.cli import main; main()"


@pytest.fixture(scope="session")
def daemon_home() -> Iterator[Path]:
    """A home for a daemon of these tests alone (short enough for a socket's path); it is stopped at their end."""
    home = Path(tempfile.mkdtemp(prefix="mirage-cli-"))
    patch = pytest.MonkeyPatch()
    patch.setenv("MIRAGE_HOME", str(home))
    patch.setenv("MIRAGE_IDLE_S", "120")
    yield home
    subprocess.run([sys.executable, "-c", RUN, "daemon", "stop"], capture_output=True, timeout=60)
    patch.undo()
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
def mirage(daemon_home: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """`mirage(*arguments, cwd=None)` is one run of the command line in a process of its own; progress is taken out of what it
    says on standard error."""

    def run(*arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", RUN, *map(str, arguments)]
        env = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
        done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=env, timeout=200)
        done.stderr = WAITING.sub("", done.stderr)
        return done

    return run
