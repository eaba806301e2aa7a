"""Identifiers of emitted text: readable, unique, never a keyword."""

from __future__ import annotations

import keyword
import re

RESERVED = frozenset({"tl", "triton", "torch", "range", "float", "True", "False", "None", "min", "max"})

LONGEST = 100  # characters that a name keeps


def identifier(text: str) -> str:
    """`text` as a Python identifier of bounded length: other characters become underscores."""
    name = re.sub(r"\W", "_", text[:LONGEST], flags=re.ASCII) or "v"
    if name[0].isdigit():
        name = "_" + name
    return name + "_" if keyword.iskeyword(name) or keyword.issoftkeyword(name) else name


class Identifiers:
    """Gives each name of one scope once."""

    def __init__(self, *taken: str) -> None:
        self.taken = set(RESERVED) | set(taken)

    def fresh(self, hint: str) -> str:
        """`hint` as an identifier, with a number behind it when it is taken."""
        base = identifier(hint)
        name, n = base, 1
        while name in self.taken:
            n += 1
            name = f"{base}_{n}"
        self.taken.add(name)
        return name
