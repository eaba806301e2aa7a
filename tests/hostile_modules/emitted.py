"""The module that `mirage optimize` writes for a function, made at run time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from hostile_modules.functions import Function


def emitted(function: Function, folder: Path) -> str:
    """The text of the function's module; CalledProcessError with the tool's words where it writes none."""
    source, out = folder / f"{function.name}.py", folder / f"{function.name}_module.py"
    source.write_text(function.file)
    options = ["--out", str(out), "--anyway", "--no-daemon"]
    subprocess.run(
        [str(Path(sys.executable).with_name("mirage")), "optimize", str(source), *options],
        check=True,
        capture_output=True,
    )
    return out.read_text()
