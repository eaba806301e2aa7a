"""`mirage status` and `mirage uninstall`: which decorated functions run an installed kernel, and how to take it back."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass

import click

from mirage.cli import place_argument
from mirage.cli.init import gpu_target
from mirage.cli.place_argument import FunctionPlace
from mirage.errors import KernelUnsigned, MirageError, UntrustedFolder
from mirage.runtime import daemon_kernels, installed_kernels
from mirage.source.slice import cut

NOTHING = "nothing is installed for the text as it is now"
OTHER_VERSIONS = (
    "the kernel was made with other versions of PyTorch, Triton, NumPy or Mirage: the function as written runs"
)
NO_GPU = "this machine has no GPU (nvidia-smi is not found): the function as written runs"


@dataclass(frozen=True)
class InstalledKernel:
    """A decorated function: the module that is there for its present text ("" for none), and why a call on this machine
    does not run it ("" where nothing is in the way)."""

    function: str
    path: str
    installed: str
    why_not: str


def row(place: FunctionPlace) -> InstalledKernel:
    """What is installed for a function of a file, by the user or by a program that took it from the daemon. Raises what
    `slice.cut` does."""
    digest = cut(place.text, place.function).digest
    try:
        gpu = gpu_target()
        taken = {} if installed_kernels.lookup(digest) else daemon_kernels.taken(digest)
        name = taken.get(gpu or "") or next(iter(taken.values()), digest)
        found = installed_kernels.lookup(name)
        installed_kernels.read(name)
    except (KernelUnsigned, UntrustedFolder) as e:
        return InstalledKernel(place.function, place.path, "", e.message)
    if found is None:
        why = OTHER_VERSIONS if installed_kernels.names(digest) else NOTHING
        return InstalledKernel(place.function, place.path, "", why)
    why = "" if shutil.which("nvidia-smi") else NO_GPU
    if not why and gpu and taken and gpu not in taken:
        why = f"the kernel is for {', '.join(taken)}, and this GPU is {gpu}: the function as written runs"
    return InstalledKernel(place.function, place.path, str(found), why)


def _failed(error: MirageError) -> None:
    click.echo(str(error), err=True)


@click.command()
@click.argument("place_", metavar="FILE[::FUNCTION]|FOLDER", default=".")
@click.option("--json", "as_json", is_flag=True, help="Print the rows as JSON.")
def status(place_: str, as_json: bool) -> None:
    """Say which decorated functions run an installed kernel on this machine, and which do not and why."""
    rows = []
    for place in place_argument.places(place_, _failed):
        try:
            rows.append(row(place))
        except MirageError as e:
            _failed(e)
    if as_json:
        click.echo(json.dumps([asdict(r) for r in rows], indent=1))
        return
    for r in rows:
        click.echo(f"{r.path}::{r.function}: {'runs ' + r.installed if not r.why_not else r.why_not}")


@click.command()
@click.argument("place_", metavar="FILE[::FUNCTION]|FOLDER", required=False)
@click.option("--all", "every", is_flag=True, help="Every kernel that is installed, for whatever text it was.")
def uninstall(place_: str | None, every: bool) -> None:
    """Take installed kernels back, also those that programs took from the daemon: the functions run as they are written. The
    written modules stay."""
    if every == (place_ is not None):
        raise click.UsageError("name a file or a folder, or say --all")
    if every:
        gone = [name for name in installed_kernels.names() if installed_kernels.remove(name)]
        click.echo(f"{len(gone)} kernels were installed; none is now")
        return
    for place in place_argument.places(place_ or "", _failed):
        try:
            names = installed_kernels.names(cut(place.text, place.function).digest)
            removed = [name for name in names if installed_kernels.remove(name)]
        except MirageError as e:
            _failed(e)
            continue
        click.echo(f"{place}: {'taken back' if removed else NOTHING}")
