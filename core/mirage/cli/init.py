"""`mirage init`: the project's settings, what the machine has for them, and what to do next."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import click

from mirage.cli import doctor, place_argument, project_settings
from mirage.devices.table import DEVICES, device
from mirage.errors import CannotWrite, MirageError

EDITORS = {
    # the program: what connects it to `mirage lsp`
    "code": "VS Code: install the extension (`mirage docs editor`)",
    "nvim": "Neovim: `mirage docs editor` has the few lines",
    "emacs": "Emacs: `mirage docs editor` has the few lines",
    "hx": "Helix: `mirage docs editor` has the few lines",
}
DEFAULT = "sm_90"
ASK = ("nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader")
EXAMPLE = """@mirage.optimize(inputs=[((16, 4096), "fp16")])"""


def gpu_target() -> str | None:
    """The target of this machine's first GPU; None where there is none that is known."""
    if shutil.which(ASK[0]) is None:
        return None
    try:
        said = subprocess.run(ASK, capture_output=True, text=True, timeout=20).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return None
    first = re.match(r"(\d+)\.(\d+)", said)
    target = f"sm_{first[1]}{first[2]}" if first else ""
    return target if target in DEVICES else None


def settings(target: str) -> str:
    """The table that is written."""
    return f'[tool.mirage]\ntarget = "{target}"  # {device(target).name}; also seconds, kernels, loops\n'


def write(path: Path, text: str) -> None:
    """Add the table to a pyproject.toml; the file is made where there is none. Raises CannotWrite."""
    try:
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        gap = "" if not before else "\n" if before.endswith("\n") else "\n\n"
        path.write_text(before + gap + text, encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        raise CannotWrite(f"{path} cannot be changed: {e}", path=str(path)) from None


def decorated(folder: str) -> int:
    """How many functions of the folder can be optimized."""

    def ignored(error: MirageError) -> None:
        click.echo(str(error), err=True)

    try:
        return len(place_argument.places(folder, ignored))
    except MirageError:
        return 0


@click.command()
def init() -> None:
    """Write `[tool.mirage]` into this folder's pyproject.toml, check what the machine has, and say what to do next."""
    path = Path(project_settings.FILE)
    if path.is_file() and project_settings.has_table(path):
        project_settings.read(path)
        click.echo(f"kept    {path} has [tool.mirage] already")
    else:
        target = gpu_target() or DEFAULT
        write(path, settings(target))
        click.echo(f"wrote   [tool.mirage] into {path}: target {target} ({device(target).name})")
    rows = doctor.check()
    for r in rows:
        if r["name"] in ("torch", "triton", "gpu", "sandbox") or not r["ok"]:
            step = f"  -> {r['next']}" if not r["ok"] else ""
            click.echo(f"{'ok' if r['ok'] else 'NO':7} {r['name']}: {r['value']}{step}")
    found = [how for program, how in EDITORS.items() if shutil.which(program)]
    for how in found or ["none found; any editor with a language client runs `mirage lsp` (`mirage docs editor`)"]:
        click.echo(f"editor  {how}")
    click.echo(f"next    {next_step(rows, decorated('.'))}")


def next_step(rows: list[dict[str, str | bool]], functions: int) -> str:
    """The one thing to do now."""
    missing = next((r for r in rows if not r["ok"]), None)
    if missing is not None:
        return str(missing["next"])
    if not functions:
        return f"write `{EXAMPLE}` above a function, with the shapes of its tensors; then run `mirage optimize .`"
    return f"run `mirage optimize .`: {functions} decorated function{'s' if functions > 1 else ''} here"
