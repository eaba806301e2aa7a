from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

RUN = "import sys; sys.argv[0] = 'mirage'; from mirage.cli import main; main()"


@pytest.fixture(scope="session")
def mirage() -> Callable[..., subprocess.CompletedProcess[str]]:
    """`mirage(*arguments, cwd=None)` is one run of the command line in a process of its own."""

    def run(*arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", RUN, *map(str, arguments)]
        env = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
        return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=env, timeout=200)

    return run
