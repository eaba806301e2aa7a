"""`mirage docs [PAGE|CODE|WORDS]`: the pages of the documentation, where the package is installed and no network is needed."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

import click

from mirage.errors import MirageError
from mirage.results import documentation


def entry(code: str) -> str:
    """What the table of errors says of a code such as MIR201."""
    found = MirageError.registry[code]
    return f"{code}: {found.title}\nnext: {found.default_next_step}"


@dataclass(frozen=True)
class Section:
    """A part of a page under its heading."""

    page: str
    heading: str
    text: str  # in small letters, the heading with it

    def score(self, weights: Mapping[str, float]) -> float:
        """How much it says of some words: a word in the heading counts three times, one that comes again a little more."""
        named = re.findall(r"\w+", self.heading.lower())
        times = ((weight, word, self.text.count(word)) for word, weight in weights.items())
        return sum(w * (1 + math.log(n) / 10 + 2 * (word in named)) for w, word, n in times if n)


def sections() -> list[Section]:
    found = []
    for name in documentation.pages():
        path = documentation.page(name)
        for part in re.split(r"^(?=#+ )", path.read_text("utf-8") if path else "", flags=re.M):
            if part.strip():
                found.append(Section(name, part.strip().splitlines()[0].lstrip("# "), part.lower()))
    return found


def search(question: str) -> list[tuple[str, str]]:
    """(page, heading) of the sections that have words of a question, best first. A word weighs the more, the fewer sections have it;
    words that no page has are left out."""
    every = sections()
    having = {w: sum(w in s.text for s in every) for w in re.findall(r"\w+", question.lower())}
    weights = {w: math.log((1 + len(every)) / n) for w, n in having.items() if n}
    scored = sorted(((-s.score(weights), i) for i, s in enumerate(every)))
    return [(every[i].page, every[i].heading) for score, i in scored if score]


@click.command()
@click.argument("what", nargs=-1, metavar="[PAGE | CODE | WORDS...]")
def docs(what: tuple[str, ...]) -> None:
    """Print a page, what an error code means, or the sections that answer some words; without any, the list of pages."""
    if not documentation.pages():
        raise click.ClickException("the pages are not installed with this package")
    if not what:
        return click.echo("\n".join(documentation.pages()))
    if len(what) == 1 and what[0].upper() in MirageError.registry:
        return click.echo(entry(what[0].upper()))
    path = documentation.page(what[0].removeprefix("docs/").removesuffix(".md")) if len(what) == 1 else None
    if path is not None:
        return click.echo(path.read_text("utf-8"))
    words = " ".join(what)
    found = [] if "/" in words and " " not in words else search(words)  # a path is the name of a page, or of nothing
    if not found:
        raise click.ClickException(f"no page says {words}; `mirage docs` lists the pages")
    for name, heading in found[:10]:
        click.echo(f"{name:22} {heading}   (mirage docs {name})")
