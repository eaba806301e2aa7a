"""An edited module, and families of edits: rules over the text of any emitted module, of which each place gives one mutant."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

Group = Literal["text", "precision", "launcher", "state", "graph", "equal"]
# wrong: to be refused whatever a run shows. certify: wrong where a run differs from the module's (certify_module.py).
# equal: computes the same, bit for bit.
Expected = Literal["wrong", "certify", "equal"]
Edit = Callable[[str], Iterator[tuple[str, str]]]
Replacement = str | Callable[[re.Match[str]], str]


@dataclass(frozen=True)
class Mutant:
    """A module's text after one edit: `name` is the family and the place."""

    name: str
    family: str
    group: Group
    text: str
    expected: Expected


@dataclass(frozen=True)
class Family:
    """An edit of a module's text: `edit` gives the name of each place and the whole text with the edit there."""

    name: str
    group: Group
    expected: Expected
    edit: Edit

    def mutants(self, text: str) -> Iterator[Mutant]:
        """The distinct mutants of the module, without those that leave it as it is."""
        seen = {text}
        for place, edited in self.edit(text):
            if edited not in seen:
                seen.add(edited)
                yield Mutant(f"{self.name}@{place}", self.name, self.group, edited, self.expected)


def section(text: str, name: str) -> tuple[int, int]:
    """From where to where the part between the marks `# mirage:begin NAME` and `# mirage:end NAME` goes; (0, 0) without it."""
    begin, end = f"# mirage:begin {name}\n", f"# mirage:end {name}\n"
    if begin not in text or end not in text:
        return 0, 0
    return text.index(begin) + len(begin), text.index(end)


def line_of(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def places(text: str, part: str, pattern: str) -> Iterator[re.Match[str]]:
    """The matches of a pattern within a part of the module ("" is all of it)."""
    begin, end = section(text, part) if part else (0, len(text))
    for match in re.compile(pattern, re.MULTILINE).finditer(text, begin, end):
        if match.end() > match.start():
            yield match


def expanded(match: re.Match[str], replacement: Replacement) -> str:
    return match.expand(replacement) if isinstance(replacement, str) else replacement(match)


def each(part: str, pattern: str, *replacements: Replacement) -> Edit:
    """Every match alone by every replacement."""

    def edit(text: str) -> Iterator[tuple[str, str]]:
        for k, match in enumerate(places(text, part, pattern)):
            for n, replacement in enumerate(replacements):
                new = text[: match.start()] + expanded(match, replacement) + text[match.end() :]
                yield f"{line_of(text, match.start())}.{k}.{n}", new

    return edit


def every(part: str, pattern: str, *replacements: Replacement) -> Edit:
    """All matches together, by one replacement after the other."""

    def edit(text: str) -> Iterator[tuple[str, str]]:
        for n, replacement in enumerate(replacements):
            new, last = [], 0
            for match in places(text, part, pattern):
                new += [text[last : match.start()], expanded(match, replacement)]
                last = match.end()
            yield f"all.{n}", "".join(new) + text[last:]

    return edit


def together(*edits: Edit) -> Edit:
    """One edit after the other in the same text, each at all its places: `edits` give one text each."""

    def edit(text: str) -> Iterator[tuple[str, str]]:
        now = text
        for one in edits:
            after = [new for _, new in one(now)]
            if not after or after[0] == now:
                return
            now = after[0]
        yield "all", now

    return edit


def inserted(part: str, after: str, lines: Sequence[tuple[str, str]]) -> Edit:
    """Each of the named lines after every match of a pattern, as far in as the match's group 1."""

    def edit(text: str) -> Iterator[tuple[str, str]]:
        for match in places(text, part, after):
            margin = match.group(1) if match.re.groups else ""
            for name, line in lines:
                block = "".join(f"{margin}{x}\n" if x else "\n" for x in line.splitlines())
                yield f"{line_of(text, match.start())}.{name}", text[: match.end()] + block + text[match.end() :]

    return edit


def exchanged(part: str, pattern: str) -> Edit:
    """Every two neighbouring matches in the other order."""

    def edit(text: str) -> Iterator[tuple[str, str]]:
        found = list(places(text, part, pattern))
        for a, b in pairwise(found):
            middle = text[a.end() : b.start()]
            yield (
                f"{line_of(text, a.start())}.{line_of(text, b.start())}",
                (text[: a.start()] + b.group() + middle + a.group() + text[b.end() :]),
            )

    return edit


def of(group: Group, expected: Expected, rows: Sequence[tuple[str, Edit]]) -> tuple[Family, ...]:
    """A table of edits that share their group and what is expected of them."""
    return tuple(Family(name, group, expected, edit) for name, edit in rows)
