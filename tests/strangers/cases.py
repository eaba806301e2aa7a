"""Every case that a stranger wrote, as the two files that `mirage verify` compares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from strangers import pairs
from strangers.pair import source
from strangers.text_table import TEXTS


@dataclass(frozen=True)
class Case:
    """`name`: family, class and its own name; `wanted`, `judged`: the texts of both files; `wrong`: do they differ; `why`."""

    name: str
    wanted: str
    judged: str
    wrong: bool
    why: str


def of_pairs() -> Iterator[Case]:
    """Two functions each."""
    for kind, found in pairs.WRONG.items():
        for p in found:
            yield Case(f"pairs/{kind}/{p.name}", source(p, "a"), source(p, "b"), True, p.why)
    for p in pairs.EQUAL:
        yield Case(f"pairs/equal/{p.name}", source(p, "a"), source(p, "b"), False, p.why)


def of_texts() -> Iterator[Case]:
    """A function and a module with a kernel for it, right and wrong."""
    for x in TEXTS:
        yield Case(f"texts/right/{x.name}", x.function, x.right, False, "the same function")
        yield Case(f"texts/wrong/{x.name}", x.function, x.wrong, True, x.why)


def all_cases() -> list[Case]:
    """All of them, in a fixed order."""
    return [*of_pairs(), *of_texts()]
