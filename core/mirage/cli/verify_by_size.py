"""Pairs the rows of two sides of `mirage verify` that are each made for one or more sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mirage.codegen.size_table import headline
from mirage.errors import ModuleUnreadable

if TYPE_CHECKING:
    from mirage.cli.verify_subjects import Subject


def pairs(
    lefts: Sequence[Subject], rights: Sequence[Subject]
) -> tuple[list[tuple[Subject, Subject]], list[tuple[str, str]]]:
    """(the rows of both sides that are for the same inputs, those of one side alone as its shapes and the other side's
    label). Kernels without sizes of their own go with every row, and so does a module that is refused. Where no two are for the
    same inputs, the last of both: what judges them says why they do not fit. Raises ModuleUnreadable where nothing can be judged
    by the left side, since it is such a module."""
    first = lefts[-1]
    if first.refused is not None:
        raise ModuleUnreadable(f"{first.label} is no module to judge by: {first.refused.summary}", path=first.label)
    if rights[-1].kind == "kernels" or rights[-1].refused is not None:  # for any inputs
        return [(a, rights[-1]) for a in lefts], []
    found = [(a, b) for a in lefts for b in rights if alike(a, b)]
    if not found:
        return [(lefts[-1], rights[-1])], []
    missing = [(shapes(a), rights[-1].label) for a in lefts if not any(a is x for x, _ in found)]
    missing += [(shapes(b), lefts[-1].label) for b in rights if not any(b is x for _, x in found)]
    return found, missing


def alike(a: Subject, b: Subject) -> bool:
    """Are both for inputs of the same shapes and dtypes, by name, or else by place?"""
    x, y = a.inputs, b.inputs
    if set(y) <= set(x):
        return all(x[n] == y[n] for n in y)
    return list(x.values()) == list(y.values())


def shapes(s: Subject) -> str:
    return headline(list(s.inputs.values()))
