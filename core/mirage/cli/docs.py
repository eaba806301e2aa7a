"""`mirage docs [PAGE|CODE|WORDS]`: the pages of the documentation, where the package is installed and no network is needed."""

from __future__ import annotations

import re

import click

from mirage.errors import MirageError
from mirage.results import documentation


def entry(code: str) -> str:
    """What the table of errors says of a code such as MIR201."""
    found = MirageError.registry[code]
    return f"{code}: {found.title}\nnext: {found.default_next_step}"


def search(words: list[str]) -> list[tuple[str, str]]:
    """(page, heading) of the sections that hold all of the words: those with most of them in the heading first, then those with
    most of them."""
    found = []
    for name in documentation.pages():
        path = documentation.page(name)
        for section in re.split(r"^(?=#+ )", path.read_text("utf-8") if path else "", flags=re.M):
            low = section.lower()
            if section.strip() and all(w in low for w in words):
                heading = section.strip().splitlines()[0].lstrip("# ")
                named = sum(w in re.findall(r"\w+", heading.lower()) for w in words)
                found.append((-named, -sum(low.count(w) for w in words), name, heading))
    return [(name, heading) for _, _, name, heading in sorted(found)]


@click.command()
@click.argument("what", nargs=-1, metavar="[PAGE | CODE | WORDS...]")
def docs(what: tuple[str, ...]) -> None:
    """Print a page, what an error code means, or the sections that hold some words; without any, the list of pages."""
    if not documentation.pages():
        raise click.ClickException("the pages are not installed with this package")
    if not what:
        return click.echo("\n".join(documentation.pages()))
    if len(what) == 1 and what[0].upper() in MirageError.registry:
        return click.echo(entry(what[0].upper()))
    path = documentation.page(what[0].removeprefix("docs/").removesuffix(".md")) if len(what) == 1 else None
    if path is not None:
        return click.echo(path.read_text("utf-8"))
    found = search(" ".join(what).lower().split())
    if not found:
        raise click.ClickException(f"no page says {' '.join(what)}; `mirage docs` lists the pages")
    for name, heading in found[:10]:
        click.echo(f"{name:22} {heading}   (mirage docs {name})")
