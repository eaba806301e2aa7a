"""Application of the laws that lead from a program to a candidate: one function for each row of the table of laws.

A law is applied to one term and gives the other side, or refuses. Nothing here trusts what a search or a derivation says:
each function looks at the term itself and checks its side conditions. Equalities hold where both sides are defined (no
division by zero); terms are equal up to associativity, commutativity and numbers, which building a term applies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from mirage.ir.index import DimIndex
from mirage.meaning.axis_split import split_axis
from mirage.meaning.exp_shift import unguarded
from mirage.meaning.laws import (
    CANCEL,
    DERIVATION,
    DISTRIBUTE,
    EXCHANGE,
    EXP,
    GUARD,
    INSIDE,
    INVERSE,
    LET,
    LINEAR,
    ORDER,
    PULL,
    SAME_FORM,
    SHIFT,
    SPLIT,
    Law,
    used_by,
)
from mirage.meaning.nodes import Add, Exp, Input, Inv, Mul, Reduce
from mirage.meaning.normal_form import Normalizer
from mirage.meaning.reserved_names import SHIFT as FREE_SHIFT
from mirage.meaning.reserved_names import is_running
from mirage.meaning.terms import Terms

Args = tuple[int | str, ...]
Rule = Callable[[Terms, int, Args], int]
MOST = 600  # factors times terms of one distribution


class Broken(Exception):
    """The law does not hold at this term, and why."""


@dataclass(frozen=True)
class StepLaw:
    """A law of the table and how it is applied. A step may use it in either direction: `apply(terms, term, args)` gives the
    right side for a left side or raises Broken."""

    law: Law
    apply: Rule


def need(condition: bool, why: str) -> None:
    if not condition:
        raise Broken(why)


def ids(args: Args) -> list[int]:
    need(all(isinstance(a, int) for a in args), "an argument that is no term")
    return [int(a) for a in args]


def without(xs: list[int], gone: list[int]) -> list[int]:
    """`xs` less `gone`, each as often as it is there."""
    left = Counter(xs)
    left.subtract(gone)
    need(all(n >= 0 for n in left.values()), "a factor that is not there")
    return list(left.elements())


def total(t: Terms, x: int) -> tuple[str, int]:
    """The axis and body of a sum."""
    n = t.node(x)
    if not isinstance(n, Reduce) or n.op != "sum" or n.updates:
        raise Broken("not a sum")
    return n.axis, n.body


def pull(t: Terms, x: int, args: Args) -> int:
    """`args`: the factors that go out; all that can, if none is given."""
    axis, body = total(t, x)
    inside = t.factors(body)
    out = ids(args) or [f for f in inside if axis not in t.dims(f)]
    need(bool(out), f"no factor is free of {axis}")
    need(all(axis not in t.dims(f) for f in out), f"a factor that leaves the sum varies along {axis}")
    return t.mul(*out, t.sum(axis, t.mul(*without(inside, out))))


def linear(t: Terms, x: int, _: Args) -> int:
    axis, body = total(t, x)
    need(isinstance(t.node(body), Add), "the body is not a sum of terms")
    return t.add(*(t.sum(axis, k) for k in t.kids(body)))


def exchange(t: Terms, x: int, _: Args) -> int:
    axis, body = total(t, x)
    inner, rest = total(t, body)
    need(axis != inner, "both sums are over one axis")
    return t.sum(inner, t.sum(axis, rest))


def summands(t: Terms, x: int) -> tuple[int, ...]:
    """The terms of a sum of terms; anything else is its own only one."""
    n = t.node(x)
    return n.parts if isinstance(n, Add) else (x,)


def expanded(t: Terms, x: int) -> list[int]:
    """The terms of a product whose factors are sums of terms."""
    terms = [t.const(1)]
    for f in t.factors(x):
        parts = summands(t, f)
        need(len(terms) * len(parts) <= MOST, "too many terms")
        terms = [t.mul(a, b) for a in terms for b in parts]
    return terms


def distribute(t: Terms, x: int, _: Args) -> int:
    """A product, or every product among the terms of a sum."""
    need(isinstance(t.node(x), (Mul, Add)), "not a product")
    products = summands(t, x)
    terms = [y for p in products for y in expanded(t, p)]
    need(len(terms) > len(products), "no factor is a sum of terms")
    return t.add(*terms)


def exponent(t: Terms, x: int, why: str) -> int:
    n = t.node(x)
    if not isinstance(n, Exp):
        raise Broken(why)
    return n.arg


def exp_of_sum(t: Terms, x: int, _: Args) -> int:
    scale: list[int] = []
    sums: list[Add] = []
    for f in t.factors(exponent(t, x, "not an exponential")):
        n = t.node(f)
        if isinstance(n, Add):
            sums.append(n)
        else:
            scale.append(f)
    need(len(sums) == 1 and all(t.is_plain(f) for f in scale), "its argument is not a sum of terms")
    return t.mul(*(t.exp(t.mul(*scale, k)) for n in sums for k in n.parts))


def inverse_of_exp(t: Terms, x: int, _: Args) -> int:
    why = "not the inverse of an exponential"
    n = t.node(x)
    if not isinstance(n, Inv):
        raise Broken(why)
    return t.exp(t.neg(exponent(t, n.arg, why)))


def cancel(t: Terms, x: int, _: Args) -> int:
    left = t.factors(x)
    for f in list(left):
        if f not in left:
            continue
        n = t.node(f)
        if isinstance(n, Exp):
            g = t.exp(t.neg(n.arg))
        elif isinstance(n, Inv) and not t.is_boolean(n.arg):
            g = n.arg
        else:
            continue
        if g in left and g != f:
            left.remove(f)
            left.remove(g)
    need(len(left) < len(t.factors(x)), "nothing cancels")
    return t.mul(*left)


def unguard(t: Terms, x: int, _: Args) -> int:
    inside = unguarded(t, x)
    need(inside != x, "not a guard")
    n = t.node(inside)
    running = isinstance(n, Input) and is_running(n.name)  # of an accumulator, in its update law
    need(running or t.is_maximum(inside), "it guards no maximum")
    return inside


def swap_all(t: Terms, x: int, old: int, new: int, memo: dict[int, int] | None = None) -> int:
    """`x` with every occurrence of `old` replaced, inside reductions too."""
    memo = {} if memo is None else memo
    if x == old:
        return new
    if x not in memo:
        kids = t.kids(x)
        memo[x] = t.rebuild(x, tuple(swap_all(t, k, old, new, memo) for k in kids)) if kids else x
    return memo[x]


def shift(t: Terms, x: int, args: Args) -> int:
    """`args`: an exponential of `x` and what its argument is shifted by. The value must be the same with a free tensor in
    the shift's place."""
    need(len(args) == 2, "it names no exponential and no shift")
    e, by = ids(args)
    why = "it shifts no exponential of the term"
    need(e in set(t.walk(x)), why)
    arg = exponent(t, e, why)
    need(t.dims(by) < t.dims(arg), "the shift varies along every axis of the argument")
    free = t.input(FREE_SHIFT, tuple(DimIndex((a,)) for a in sorted(t.dims(by))))
    moved = swap_all(t, x, e, t.exp(t.sub(arg, free)))
    need(bool(Normalizer(t).equal(x, moved)), "the value depends on the shift")
    return swap_all(t, x, e, t.exp(t.sub(arg, by)))


def split(t: Terms, x: int, args: Args) -> int:
    """`args`: the axis, the axis of its parts, the axis within a part. Every sum and maximum over it becomes two; where the value
    varies along the axis itself, its elements are named by both."""
    names = all(isinstance(a, str) for a in args)
    need(names and len(args) == 3 and len(set(args)) == 3, "it names no axis, parts and rest")
    axis, part, rest = map(str, args)
    used = {a for y in t.walk(x) for a in t.dims(y)}
    need(any(t.reduction(r).axis == axis for r in t.closure(x)), f"there is no reduction over {axis}")
    need(not {part, rest} & used, "the new axes are in use")
    return split_axis(t, x, axis, part, rest)


def inline(t: Terms, x: int, args: Args) -> int:
    """`args`: names, their terms and the axes of their dimensions (a space between two), in the order in which they are
    defined; every read of a name becomes its term, at the axes of the read."""
    definitions = bindings(args)
    need(len(definitions) > 0, "it names no value")
    for d in reversed(definitions):
        need(
            set(d.axes) == t.dims(d.term) and len(d.axes) == len(set(d.axes)), f"{d.name} has other axes than its term"
        )
        reads = {n.index for n in map(t.node, t.walk(x)) if isinstance(n, Input) and n.name == d.name}
        for index in sorted(reads, key=repr):
            at = [a for i in index for a in i.axes]
            need(len(at) == len(d.axes) and not any(i.offset for i in index), f"{d.name} is read at another shape")
            x = swap_all(t, x, t.input(d.name, index), renamed(t, d.term, dict(zip(d.axes, at, strict=True))))
    return x


@dataclass(frozen=True)
class KeptValue:
    """A kept value: its name, the term that it names, and the axes of its tensor's dimensions."""

    name: str
    term: int
    axes: tuple[str, ...]


def bindings(args: Args) -> list[KeptValue]:
    """The values that a step names, as its arguments give them: name, term and axes (a space between two) of each."""
    need(len(args) % 3 == 0, "it names no value")
    rows = zip(args[::3], ids(args[1::3]), args[2::3], strict=True)
    return [KeptValue(str(name), term, tuple(str(axes).split())) for name, term, axes in rows]


def as_args(definitions: Iterable[KeptValue]) -> Args:
    """The arguments of a step that names values: what `bindings` reads."""
    return tuple(x for d in definitions for x in (d.name, d.term, " ".join(d.axes)))


def renamed(t: Terms, x: int, names: dict[str, str]) -> int:
    """`x` at other axes of the same sizes."""
    names = {a: b for a, b in names.items() if a != b}
    used = {a for y in t.walk(x) for a in t.dims(y)}
    need(not used & set(names.values()) and len(set(names.values())) == len(names), "a renamed axis is in use")
    need(all(t.sizes.get(a) == t.sizes.get(b) for a, b in names.items()), "a renamed axis has another size")
    return t.rename(x, names) if names else x


def same_normal_form(t: Terms, x: int, args: Args) -> int:
    """`args`: the other side."""
    need(len(args) == 1 and bool(Normalizer(t).equal(x, *ids(args))), "the normal forms differ")
    (other,) = ids(args)
    return other


def grouped(t: Terms, x: int, args: Args) -> int:
    raise Broken("a group of steps has no rule of its own")


APPLIED: dict[str, Rule] = {
    PULL: pull, LINEAR: linear, EXCHANGE: exchange, DISTRIBUTE: distribute, EXP: exp_of_sum, INVERSE: inverse_of_exp,
    CANCEL: cancel, GUARD: unguard, SHIFT: shift, SPLIT: split, LET: inline, SAME_FORM: same_normal_form, ORDER: grouped,
    INSIDE: grouped,
}  # fmt: skip
STEPS: dict[str, StepLaw] = {law.name: StepLaw(law, APPLIED[law.name]) for law in used_by(DERIVATION)}
GROUPS: dict[str, frozenset[str]] = {ORDER: frozenset({PULL, EXCHANGE, CANCEL, INSIDE}), INSIDE: frozenset(STEPS)}
