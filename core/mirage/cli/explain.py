"""`mirage explain MODULE`: what a written kernel computes, by which laws and tiles, what is known of it, and how to check it again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from mirage.cli import named_text, place_argument
from mirage.cli.check import project
from mirage.cli.command_options import target_of
from mirage.codegen import module_header
from mirage.derivation.infix import written
from mirage.devices.table import Device, device
from mirage.errors import ModuleUnreadable
from mirage.meaning.terms import Terms
from mirage.mugraph.grammar import MuGraph
from mirage.pipeline.tile_reasons import why
from mirage.verify.semantics.denote import denote
from mirage.verify.structure.belonging import WrittenModule, written_module
from mirage.verify.structure.emitted_again import carries, read_rows


def modules(place: str) -> list[WrittenModule]:
    """The module that a file is, or those of the functions of a file, which lie beside it."""
    path, _, wanted = place.partition("::")
    found = written_module(path, named_text.read(path))
    if found is not None:
        return [found]
    names = place_argument.functions(place)[2]
    beside = [Path(path).with_name(f"{name}_mirage.py") for name in names]
    texts = [(str(p), named_text.read(str(p))) for p in beside if p.is_file()]
    there = [m for p, text in texts if (m := written_module(p, text)) is not None]
    if not there:
        raise ModuleUnreadable(
            f"no kernel is written for {wanted or ', '.join(names)}",
            path=path,
            next_step=f"run `mirage optimize {place}`",
        )
    return there


def formula(mugraph: MuGraph) -> str:
    """What a µGraph means, an output a line."""
    t = Terms()
    rows = denote(t, mugraph).outputs.items()
    return "\n".join(f"{name} = {written(t, term)}" for name, (term, _) in rows)


def rows(module: WrittenModule, dev: Device) -> Iterator[tuple[str, str]]:
    """What is said, a label and a text a line."""
    said = module_header.read(module.text)
    graphs = [g for _, g in read_rows(module.text).mugraphs] if carries(module.text) else []
    first = graphs[0] if graphs else None
    for label, text in (
        ("formula", said.get("formula") or (formula(first) if first else "")),
        ("laws", said.get("laws", "")),
        ("runs", said.get("runs", "")),
        ("tiles", "\n".join(map(module_header.tiles, graphs))),
        ("why", "\n".join(line for g in graphs for line in why(g, dev))),
        ("verdict", said.get("verdict", "")),
        ("time", said.get("time", "")),
    ):
        for line in text.splitlines():
            yield label, line
    yield "check", f"`mirage verify {function_place(module)} {module.path}` judges it anew"
    yield "check", f"`mirage check {module.path}` says whether both texts still belong together"


def function_place(module: WrittenModule) -> str:
    """FILE::FUNCTION of the function that a module belongs to, as far as a file beside it has it."""
    owner = project((module.path,)).owner(module)
    return f"{owner.path if owner else 'FILE'}::{module.function}"


@click.command()
@click.argument("place_", metavar="MODULE | FILE[::FUNCTION]")
@click.option(
    "--target", callback=target_of, default="sm_90", show_default=True, help="The GPU that the estimates are for."
)
def explain(place_: str, target: str) -> None:
    """Say of a kernel that `mirage optimize` wrote what it computes, by which laws and tiles and why, and how to check it again."""
    dev = device(target)
    for module in modules(place_):
        click.echo(f"{module.function}: {module.path}")
        for label, line in rows(module, dev):
            click.echo(f"  {label:8} {line}")
