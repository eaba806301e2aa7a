"""The scope of a proof: all sizes, or only these.

It holds for all sizes only if the program itself is the same at all sizes, as far as two traces show, and no number in it is a
size in disguise."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Literal

from mirage.ir.opaque_calls import RESULT, SIZES, is_call
from mirage.ir.program import Program
from mirage.meaning.nodes import Const, FloatLiteral, Input
from mirage.meaning.terms import Terms

Scope = Literal["all sizes", "these sizes"]
RELATIVE = 1e-6  # literals this close to a function of a size are taken for it


def numbers(t: Terms, roots: Iterable[int]) -> set[float]:
    """The numbers that stand in terms, -1 and 1 aside."""
    found: set[float] = set()
    for r in roots:
        for x in t.walk(r):
            n = t.node(x)
            if isinstance(n, Const):
                found.add(abs(float(n.value)))
            elif isinstance(n, FloatLiteral):
                found.add(abs(float(n.text)))
    return {v for v in found if v not in (0.0, 1.0) and math.isfinite(v)}


def disguises(sizes: Iterable[int]) -> dict[float, str]:
    """The numbers that a size may be written as: n, n - 1, n1 n2, the roots and inverses of these, and log n."""
    lengths = sorted({n for n in sizes if n > 1})
    bases = {float(n): str(n) for n in lengths}
    bases |= {float(n - 1): f"{n} - 1" for n in lengths if n > 2}
    bases |= {float(a * b): f"{a} * {b}" for a, b in combinations(lengths, 2)}
    bases |= {float(n * n): f"{n} * {n}" for n in lengths}
    out: dict[float, str] = {}
    for value, text in bases.items():
        for power, shape in ((1.0, "{}"), (-1.0, "1 / ({})"), (0.5, "sqrt({})"), (-0.5, "1 / sqrt({})")):
            out.setdefault(value**power, shape.format(text))
        if value > 1:
            out.setdefault(math.log(value), f"log({text})")
            out.setdefault(math.log2(value), f"log2({text})")
    return {v: text for v, text in out.items() if v not in (0.0, 1.0)}


def disguised(t: Terms, roots: Iterable[int], sizes: Iterable[int]) -> list[str]:
    """In words: the numbers of terms that may be sizes."""
    known = disguises(sizes)
    return [
        f"the number {v:.6g} may be the size {text}"
        for v in sorted(numbers(t, roots))
        for u, text in known.items() if abs(u - v) <= RELATIVE * v
    ]  # fmt: skip


def named_lengths(t: Terms, roots: Iterable[int], lengths: Iterable[int]) -> set[int]:
    """The lengths that numbers of terms may be, by themselves or two of them together."""
    values, known = numbers(t, roots), set(lengths)

    def among(some: Sequence[int]) -> bool:
        return any(abs(u - v) <= RELATIVE * v for u in disguises(some) for v in values)

    single = {n for n in known if among([n])}
    pairs = combinations(sorted(known - single), 2)
    return single | {n for pair in pairs if among(pair) for n in pair}


def specialised(program: Program) -> list[str]:
    """In words: the dims of a program for which no second trace speaks. A dim without a name was not traced again."""
    out = []
    for i in program.inputs:
        names = (*i.names, *("",) * (len(i.type.shape) - len(i.names)))
        for d, name in enumerate(names[: len(i.type.shape)]):
            if not name or name.isdigit():
                out.append(f"dim {d} of {i.name} has no name")
            elif name not in program.generic:
                out.append(f"the function is made for this size of {name}")
    return out


def cut(t: Terms, roots: Iterable[int]) -> list[str]:
    """In words: dims that are cut into parts, or read at an offset: where the cut falls is a matter of sizes."""
    out = set()
    for r in roots:
        for x in t.walk(r):
            n = t.node(x)
            if isinstance(n, Input):
                out |= {f"a dim of {n.name} is cut or read in part" for d in n.index if len(d.axes) > 1 or d.offset}
    return sorted(out)


def in_calls(program: Program, sizes: Iterable[int]) -> list[str]:
    """In words: the calls that stay PyTorch's own and are given a number that may be a size."""
    known = disguises(sizes)

    def inside(value: object) -> list[float]:
        if isinstance(value, tuple):
            return [x for v in value for x in inside(v)]
        return [abs(float(value))] if isinstance(value, int | float) and not isinstance(value, bool) else []

    return [
        f"the number {v:.6g} that {n.op} is given may be the size {known[v]}"
        for n in program.nodes if is_call(n.op)
        for k, value in n.attrs if k not in (RESULT, SIZES)
        for v in inside(value) if v in known
    ]  # fmt: skip


def all_sizes(programs: Sequence[Program], t: Terms, roots: Sequence[int]) -> tuple[Scope, tuple[str, ...]]:
    """The scope of a proof about programs (`roots`: their outputs' terms), and the reasons why it is not all sizes.
    Several programs were lowered together, at one size only: none of their dims may be cut."""
    reasons = [why for p in programs for why in specialised(p)]
    if not any(i.type.shape for p in programs for i in p.inputs):
        reasons.append("no input has a dim")
    if len(programs) > 1:
        reasons += cut(t, roots)
    lengths = [n for p in programs for i in p.inputs for n in i.type.shape]
    reasons += disguised(t, roots, [*lengths, *t.sizes.values()])
    reasons += [a.words for p in programs for a in p.assumptions if a.kind == "size"]
    reasons += [why for p in programs for why in in_calls(p, [*lengths, *t.sizes.values()])]
    return ("these sizes", tuple(dict.fromkeys(reasons))) if reasons else ("all sizes", ())
