"""`mirage status` and `mirage uninstall`: which decorated functions run an installed kernel, and how to take it back."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass

import click

from mirage.cli import place_argument
from mirage.cli.place_argument import FunctionPlace
from mirage.errors import KernelUnsigned, MirageError, UntrustedFolder
from mirage.runtime import installed_kernels
from mirage.source.slice import cut

NO_GPU = "this machine has no GPU (nvidia-smi is not found): the function as written runs"


@dataclass(frozen=True)
class InstalledKernel:
    """A decorated function: the module that is installed for its present text ("" for none), and why a call on this machine
    does not run it ("" where nothing is in the way)."""

    function: str
    path: str
    installed: str
    why_not: str


def row(place: FunctionPlace) -> InstalledKernel:
    """What is installed for a function of a file. Raises what `slice.cut` does."""
    digest = cut(place.text, place.function).digest
    try:
        found = installed_kernels.lookup(digest)
        installed_kernels.read(digest)
    except (KernelUnsigned, UntrustedFolder) as e:
        return InstalledKernel(place.function, place.path, "", e.message)
    if found is None:
        return InstalledKernel(place.function, place.path, "", "nothing is installed for the text as it is now")
    return InstalledKernel(place.function, place.path, str(found), "" if shutil.which("nvidia-smi") else NO_GPU)


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
    """Take installed kernels back: the functions run as they are written. The written modules stay."""
    if every == (place_ is not None):
        raise click.UsageError("name a file or a folder, or say --all")
    if every:
        digests = installed_kernels.digests()
        gone = [d for d in digests if installed_kernels.remove(d)]
        click.echo(f"{len(gone)} kernels were installed; none is now")
        return
    for place in place_argument.places(place_ or "", _failed):
        try:
            removed = installed_kernels.remove(cut(place.text, place.function).digest)
        except MirageError as e:
            _failed(e)
            continue
        click.echo(f"{place}: {'taken back' if removed else 'nothing was installed for the text as it is now'}")
