"""Inputs of indices: which numbers two programs take without raising an error, and the programs where both take them.

`F.cross_entropy` takes labels below the number of classes and its ignore_index; `gather` raises at the latter. What is beyond has no
value, so two programs are compared on what both take, and a verdict says so where one of them takes more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from mirage.ir.opaque_calls import is_call
from mirage.ir.program import Operation, Program
from mirage.operators.entry import Indices
from mirage.operators.table import OPERATORS
from mirage.program.integers import is_integer
from mirage.verify.semantics.arrays import Array

ALL_ELEMENTS = ("reshape", "permute", "expand", "identity")  # every element of the argument is in the result


@dataclass(frozen=True)
class Labels:
    """The numbers from 0 to below `below`, and `others`."""

    below: int
    others: frozenset[int] = frozenset()

    def __contains__(self, x: int) -> bool:
        return 0 <= x < self.below or x in self.others

    def __and__(self, other: Labels) -> Labels:
        both = {x for x in self.others | other.others if x in self and x in other}
        below = min(self.below, other.below)
        return Labels(below, frozenset(x for x in both if not 0 <= x < below))

    def drawn(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Some of them, the ends and the others as often as all that are between."""
        ends = [0, self.below - 1, *self.others]
        return np.asarray(
            np.where(rng.random(shape) < 0.3, rng.choice(ends, shape), rng.integers(0, self.below, shape))
        )

    @property
    def words(self) -> str:
        found = [f"from 0 to {self.below - 1}" if self.below > 1 else "0", *map(str, sorted(self.others))]
        return " or ".join(found)


Kind = str | Labels  # what an input holds that is drawn: a word, or labels
Ranges = Mapping[str, Labels]  # by the name of the input; another one is taken with all numbers
EVERY_INDEX: Ranges = {}


@dataclass(frozen=True)
class BothTake:
    """Two programs where both take their indices: these numbers, by the inputs' names in `a`. `only`: in words, those inputs of which one
    takes more than the other. `at_these_sizes`: this depends on the lengths of dims."""

    a: Program
    b: Program
    ranges: Ranges
    only: tuple[str, ...]
    at_these_sizes: bool


def where_both_take(a: Program, b: Program) -> BothTake:
    """The programs on what both take: a further number that an operator takes, and that no input holds, is none of its business."""
    ranges, only = together(a, b)
    one, two = _without_others(a, ranges), _without_others(b, _renamed(ranges, a, b))
    return BothTake(one, two, ranges, only, bool(only) or (one, two) != (a, b))


def together(a: Program, b: Program) -> tuple[Ranges, tuple[str, ...]]:
    """What both take, by the names of `a`, and in words those inputs of which one takes more than the other."""
    one, two = taken(a), _renamed(taken(b), b, a)
    found: dict[str, Labels] = {}
    limits = []
    for name in dict.fromkeys([*one, *two]):
        sides = [x[name] for x in (one, two) if name in x]
        found[name] = sides[0] & sides[-1]
        if len(sides) == 1 or sides[0] != sides[1]:
            limits.append(f"{name} {found[name].words}")
    return found, tuple(limits)


def _renamed(found: Ranges, old: Program, new: Program) -> Ranges:
    names = {x.name: y.name for x, y in zip(old.inputs, new.inputs, strict=True)}
    return {names[name]: x for name, x in found.items()}


def taken(p: Program) -> Ranges:
    """What each input of indices may hold: one that an operator reads as an index, all of it."""
    found: dict[str, Labels] = {}
    for at, indices, name in _read_as_indices(p):
        besides = _besides(p.nodes[at], indices)
        own = Labels(indices.below, frozenset(() if besides is None or 0 <= besides < indices.below else (besides,)))
        found[name] = found[name] & own if name in found else own
    return found


def _without_others(p: Program, ranges: Ranges) -> Program:
    nodes = list(p.nodes)
    for at, indices, name in _read_as_indices(p):
        besides = _besides(nodes[at], indices)
        if besides is not None and name in ranges and besides not in ranges[name]:
            attrs = tuple((k, None if k == indices.besides else v) for k, v in nodes[at].attrs)
            nodes[at] = replace(nodes[at], attrs=attrs)
    return p if tuple(nodes) == p.nodes else replace(p, nodes=tuple(nodes))


def _besides(node: Operation, indices: Indices) -> int | None:
    value = dict(node.attrs).get(indices.besides)
    return value if isinstance(value, int) else None


def _read_as_indices(p: Program) -> Iterator[tuple[int, Indices, str]]:
    """(the place of a node, what it says of its indices, the input that they are)."""
    for at, node in enumerate(p.nodes):
        entry = None if is_call(node.op) else OPERATORS[node.op]
        if entry is None or entry.indices is None:
            continue
        indices = entry.indices([p.type_of(x) for x in node.args], dict(node.attrs))
        x = _source(p, node.args[indices.argument])
        if x is not None:
            yield at, indices, p.inputs[x].name


def _source(p: Program, x: int) -> int | None:
    """The input that is, perhaps in other places, the whole of a value."""
    first = len(p.inputs)
    while x >= first:
        node = p.nodes[x - first]
        cast = node.op == "cast" and is_integer(node.type.dtype) and _widens(p.type_of(node.args[0]).dtype, node)
        if node.op not in ALL_ELEMENTS and not cast:
            return None
        x = node.args[0]
    return x if is_integer(p.inputs[x].dtype) else None


def _widens(before: str, node: Operation) -> bool:
    return node.type.dtype == before or (before, node.type.dtype) == ("int32", "int64")
