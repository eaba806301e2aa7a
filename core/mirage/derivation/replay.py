"""Steps of a derivation, and their replay: every step is applied again by its law and must give what was recorded."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from mirage.derivation.laws import GROUPS, STEPS, Args, Broken
from mirage.errors import DerivationBroken
from mirage.meaning.laws import INSIDE
from mirage.meaning.nodes import Add, Mul
from mirage.meaning.terms import Terms


@dataclass(frozen=True)
class SubtermSteps:
    """A part of a term and what steps make of it."""

    before: int
    after: int
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Step:
    """`law` leads from `before` to `after` (or from `after` to `before`: not `forward`). A group has parts instead."""

    law: str
    before: int
    after: int
    forward: bool = True
    args: Args = ()
    parts: tuple[SubtermSteps, ...] = ()


def turned(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The steps from the end to the beginning."""
    return tuple(
        replace(
            s, before=s.after, after=s.before, forward=not s.forward,
            parts=tuple(SubtermSteps(p.after, p.before, turned(p.steps)) for p in s.parts),
        )
        for s in reversed(steps)
    )  # fmt: skip


def put(t: Terms, x: int, parts: tuple[SubtermSteps, ...]) -> int:
    """`x` with its parts replaced: operands, or some factors of a product (terms of a sum) together."""
    kids = t.kids(x)
    mapping = {p.before: p.after for p in parts}
    if mapping and all(k in kids for k in mapping):
        return t.rebuild(x, tuple(mapping.get(k, k) for k in kids))
    whole = t.node(x)
    if len(parts) != 1 or not isinstance(whole, (Add, Mul)):
        raise Broken("a part that is not there")
    (part,) = parts
    some = t.node(part.before)
    left = Counter(kids)
    left.subtract(some.kids)
    if type(some) is not type(whole) or any(n < 0 for n in left.values()):
        raise Broken("a part that is not there")
    return (t.add if isinstance(whole, Add) else t.mul)(*left.elements(), part.after)


def replay_steps(
    t: Terms, start: int, steps: tuple[Step, ...], place: str, allowed: frozenset[str] = frozenset(STEPS)
) -> int:
    """The term to which the steps lead from `start`. Raises DerivationBroken, naming the step, where one does not hold."""
    here = start
    for i, s in enumerate(steps, 1):
        name = f"{place} step {i} ({s.law})"
        if s.before != here:
            raise DerivationBroken(f"{name} does not begin where the step before it ended")
        try:
            if s.law not in STEPS:
                raise Broken("there is no such law")
            if s.law not in allowed:
                raise Broken("a step that this group may not have")
            here = _replay(t, s, name)
        except Broken as e:
            raise DerivationBroken(f"{name} does not hold: {e}") from None
        if here != s.after:
            raise DerivationBroken(f"{name} leads to another term than it says")
    return here


def _replay(t: Terms, s: Step, name: str) -> int:
    law = STEPS[s.law]
    if s.law in GROUPS:
        if not s.parts:
            raise Broken("a group without steps")
        for p in s.parts:
            if replay_steps(t, p.before, p.steps, f"{name},", GROUPS[s.law]) != p.after:
                raise Broken("its steps lead elsewhere")
        if s.law == INSIDE:
            if s.forward:
                return put(t, s.before, s.parts)
            if put(t, s.after, tuple(SubtermSteps(p.after, p.before, ()) for p in s.parts)) != s.before:
                raise Broken("its parts are not those of the term")
            return s.after
        if [p.before for p in s.parts] != [s.before]:
            raise Broken("a group of steps at one term")
        (part,) = s.parts
        return part.after
    if s.forward:
        return law.apply(t, s.before, s.args)
    if law.apply(t, s.after, s.args) != s.before:
        raise Broken("it leads elsewhere")
    return s.after
