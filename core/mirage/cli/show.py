"""`mirage show PLACE`: a µGraph as text, JSON or a picture, or the derivation of one."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import click

from mirage.cli import derivation_text, named_text, place_argument
from mirage.cli.command_options import target_of
from mirage.errors import MugraphSyntax, ProtocolError
from mirage.mugraph import draw, json_form
from mirage.mugraph import text as printed
from mirage.mugraph.grammar import MuGraph
from mirage.mugraph.parse import parse
from mirage.results.codec import structure
from mirage.results.verdict import Verdict


def load(where: str, target: str) -> list[MuGraph]:
    """The µGraphs of a file: a result or a µGraph as JSON, a µGraph as text, or a Python file, which is optimized. A result's
    notes say its verdict, the range of its inputs, and what is known of its memory accesses."""
    path = where.partition("::")[0]
    if path.endswith(".py"):
        from mirage.pipeline.optimize import optimize
        from mirage.pipeline.request import Request
        from mirage.results.progress import CancelToken

        path, text, names = place_argument.functions(where)
        graphs = []
        for name in names:
            result = optimize(Request(text, str(Path(path).resolve()), name, target), lambda _: None, CancelToken())
            graphs += [noted(json_form.from_json(g), result.verdict) for g in result.mugraphs]
        return graphs
    text = named_text.read(path)
    if not text.lstrip().startswith("{"):
        return [parse(text)]
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as e:
        raise MugraphSyntax(f"{path} is not JSON: {e}", path=path) from None
    return [noted(json_form.from_json(g), verdict_of(data)) for g in data.get("mugraphs", [data])]


def verdict_of(data: dict[str, object]) -> Verdict | None:
    """The verdict of a result as JSON; None where it has none, or one of another version."""
    try:
        return structure(data["verdict"], Verdict) if data.get("verdict") else None
    except ProtocolError:
        return None


def noted(graph: MuGraph, verdict: Verdict | None) -> MuGraph:
    """The µGraph with what its verdict says among its notes."""
    if verdict is None:
        return graph
    said = [f"verdict: {verdict.headline}"]
    for opinion in ("range", "memory"):
        said += [f"{opinion} ({e.link}): {e.summary}" for e in verdict.evidence if e.opinion == opinion]
    return replace(graph, notes=(*graph.notes, *said))


@click.command()
@click.argument("where", metavar="FILE[::FUNCTION]")
@click.option("--format", "form", type=click.Choice(["text", "svg", "json"]), default="text", show_default=True)
@click.option(
    "--target",
    callback=target_of,
    default="sm_90",
    show_default=True,
    help="The GPU architecture, when FILE is a program.",
)
@click.option("--derivation", is_flag=True, help="Show the steps from the program to the µGraph.")
def show(where: str, form: str, target: str, derivation: bool) -> None:
    """Show the µGraph of a result (JSON), of a µGraph file, or of a decorated function."""
    if derivation:
        return derivation_text.show(where, target, form)
    for g in load(where, target):
        if form == "text":
            click.echo(printed.to_text(g))
        elif form == "svg":
            click.echo(draw.svg(g))
        else:
            click.echo(json.dumps(json_form.to_json(g), indent=1))
