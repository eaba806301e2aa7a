"""Names for axes: those of the annotations first, then single letters, others for what is only summed over."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Iterator

from mirage.ir.program import Program

_KEPT = "mnpquvwxyzacdefgh"  # axes of a result
_SUMMED = "kjlrstoi"  # axes that are reduced

_WORD = re.compile(r"[a-z_][a-z0-9_]*")


def readable(name: str) -> str:
    """A dim's name of an annotation as an axis name, or "" if it cannot be one."""
    text = re.sub(r"\W+", "_", name.strip().lower()).strip("_")
    return text if _WORD.fullmatch(text) and not keyword.iskeyword(text) else ""


def output_names(program: Program) -> list[str]:
    """The names of the outputs' tensors: none of them an input's."""
    taken = {i.name for i in program.inputs}
    names = []
    for i in range(len(program.outputs)):
        name = "out" if len(program.outputs) == 1 else f"out{i}"
        while name in taken:
            name += "_"
        taken.add(name)
        names.append(name)
    return names


class AxisNames:
    """Gives names that are not taken."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)

    def give(self, wish: str, *, summed: bool) -> str:
        """`wish` if it is free, else with a number; without a wish a letter."""
        for name in self._candidates(wish, summed):
            if name not in self._taken:
                self._taken.add(name)
                return name
        raise AssertionError("the candidates never end")

    def _candidates(self, wish: str, summed: bool) -> Iterator[str]:
        stems = [wish] if wish else list(_SUMMED if summed else _KEPT)
        yield from stems
        n = 2
        while True:
            yield from (f"{s}{n}" for s in stems)
            n += 1
