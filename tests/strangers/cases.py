"""Every case that a stranger wrote, as the two files that `mirage verify` compares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from strangers import pairs
from strangers.edit_table import BASES, without_mugraph
from strangers.pair import Pair, drawn, source
from strangers.text_table import TEXTS


@dataclass(frozen=True)
class Case:
    """`name`: family, class and its own name; `wanted`, `judged`: the texts of both files; `wrong`: do they differ;
    `why`; `scope`: words of a verdict that leave out all inputs on which they differ."""

    name: str
    wanted: str
    judged: str
    wrong: bool
    why: str
    scope: str = ""


def of_pairs() -> Iterator[Case]:
    """Two functions each."""
    for kind, found in pairs.WRONG.items():
        for p in found:
            yield Case(f"pairs/{kind}/{p.name}", source(p, "a"), source(p, "b"), True, p.why, _scope(p))
    for p in pairs.EQUAL:
        yield Case(f"pairs/equal/{p.name}", source(p, "a"), source(p, "b"), False, p.why)


def _scope(pair: Pair) -> str:
    """What a verdict has to say where the pair is told apart by inputs that are not finite."""
    floats = [x for x in drawn(pair).values() if x.is_floating_point()]
    return "" if all(bool(x.isfinite().all()) for x in floats) else "finite inputs"


def of_texts() -> Iterator[Case]:
    """A function and a module with a kernel for it, right and wrong."""
    for x in TEXTS:
        yield Case(f"texts/right/{x.name}", x.function, x.right, False, "the same function")
        yield Case(f"texts/wrong/{x.name}", x.function, x.wrong, True, x.why)


def of_edits() -> Iterator[Case]:
    """A function and an edited module: by its text alone (`bare`), and the wrong ones with the µGraph that it carries."""
    for base in BASES:
        kind = base.pair.name
        yield Case(
            f"edits/bare/{kind}/as_emitted", base.function, without_mugraph(base.text), False, "nothing is edited"
        )
        for edit in base.edits:
            text = edit.applied(base.text)
            yield Case(
                f"edits/bare/{kind}/{edit.name}",
                base.function,
                without_mugraph(text),
                not edit.right,
                edit.why,
                edit.scope,
            )
            if not edit.right:
                yield Case(f"edits/carried/{kind}/{edit.name}", base.function, text, True, edit.why, edit.scope)


def all_cases() -> list[Case]:
    """All of them, in a fixed order."""
    return [*of_pairs(), *of_texts(), *of_edits()]
