"""The module that `mirage optimize` writes for a function, made at run time."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from hostile_modules.functions import Function

Command = Callable[[list[str]], None]


def in_a_python(arguments: list[str]) -> None:
    """The command in a process of its own, as where there is no GPU; CalledProcessError with its words where it fails."""
    command = [sys.executable, "-c", "from mirage.cli import main; main()", *arguments]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})


def emitted(function: Function, folder: Path, command: Command = in_a_python) -> str:
    """The text of the function's module; `command` runs `mirage` with these arguments, and raises where it fails."""
    source, out = folder / f"{function.name}.py", folder / f"{function.name}_module.py"
    source.write_text(function.file)
    command(["optimize", str(source), "--out", str(out), "--anyway", "--no-daemon"])
    return out.read_text()
