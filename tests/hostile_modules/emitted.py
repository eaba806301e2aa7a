"""The module that `mirage optimize` writes for a function, made at run time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from hostile_modules.functions import Function


def emitted(function: Function, folder: Path) -> str:
    """The text of the function's module, as where there is no GPU; CalledProcessError with the tool's words where it writes none."""
    source, out = folder / f"{function.name}.py", folder / f"{function.name}_module.py"
    source.write_text(function.file)
    options = ["--out", str(out), "--anyway", "--no-daemon"]
    command = [sys.executable, "-c", "from mirage.cli import main; main()", "optimize", str(source), *options]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})
    return out.read_text()
