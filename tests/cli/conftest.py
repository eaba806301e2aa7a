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
from click.testing import CliRunner

from mirage.cli import main

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


@pytest.fixture(scope="module", autouse=True)
def stay(workers_stay: None) -> None:
    """Each run of a command in this process starts workers of its own."""


@pytest.fixture(scope="session")
def mirage_process(daemon_home: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """`mirage_process(*arguments)` is one run of the command line in a process of its own; progress is taken out of what it says
    on standard error."""

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", RUN, *map(str, arguments)]
        env = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
        done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=200)
        done.stderr = WAITING.sub("", done.stderr)
        return done

    return run


@pytest.fixture(scope="session")
def mirage(daemon_home: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """The same in this process, which has imported what it needs: for what commands say, not for how a process starts and ends."""

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        given = list(map(str, arguments))
        done = CliRunner().invoke(main, given, prog_name="mirage")
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return subprocess.CompletedProcess(given, done.exit_code, done.stdout, WAITING.sub("", done.stderr))

    return run
