"""`mirage check-certificate FILE`: the independent checker as a command, and a certificate's terms as text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from mirage_certificate.certificate import main
from mirage_certificate.reading import parsed

LONGEST = 2000  # characters of a term


@click.command()
@click.argument("certificate", metavar="FILE", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--first", type=click.Path(exists=True, dir_okay=False), help="The first side's file: its digest is compared."
)
@click.option("--second", type=click.Path(exists=True, dir_okay=False), help="The second side's file, likewise.")
@click.option("--show", is_flag=True, help="Print both sides of each equation, if it holds.")
def check_certificate(certificate: str, first: str | None, second: str | None, show: bool) -> None:
    """Replay a certificate of `mirage verify --certificate`; exit code 3 if it is refused."""
    files = [x for flag, path in (("--first", first), ("--second", second)) if path is not None for x in (flag, path)]
    status = main([certificate, *files])
    if show and not status:
        click.echo("\n".join(equations(Path(certificate).read_bytes())))
    raise SystemExit(status)


def equations(certificate: bytes) -> Iterator[str]:
    """Both sides of each equation of a certificate that was replayed, as text."""
    for row in parsed(certificate)["rows"]:
        texts: list[str] = []
        for term in row["terms"]:
            text = written(texts, *term)
            texts.append(text if len(text) <= LONGEST else f"{text[:LONGEST]}…")
        for e in row["equations"]:
            yield f"{e['shows']}:\n    {texts[e['first']]}\n  = {texts[e['second']]}"


def written(texts: list[str], kind: str, *rest: Any) -> str:
    """A row as text, over those of the rows before it."""
    match kind, *rest:
        case "in", name, index:
            return f"{name}[{', '.join('*'.join(axes) + (f'{o:+d}' if o else '') for axes, o in index)}]"
        case "sum" | "max", axes, x:
            return f"{kind}_{'_'.join(axes)}({texts[x]})"
        case "add" | "mul", *parts:
            return f"({(' + ' if kind == 'add' else ' * ').join(texts[x] for x in parts)})"
        case "fn", called, *args:
            return f"{called}({', '.join(texts[x] for x in args)})"
        case "pow", x, n:
            return f"{texts[x]}**{n}"
        case "inv" | "exp" | "sqrt", x:
            return f"{kind}({texts[x]})"
        case (("num" | "lit"), text):
            return str(text)
    return "-inf" if kind == "ninf" else f"{kind}({rest[0]})"
