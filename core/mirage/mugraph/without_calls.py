"""A µGraph without the calls that stay PyTorch's own: results of calls become inputs, and arguments of calls become outputs.

If its outputs and what the calls take are right for anything that the calls may give, and the calls are the program's, then
the µGraph is right: by induction over its kernels, each of which runs after what it reads (rule order).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mirage.ir.opaque_calls import RESULT_TENSOR, is_call, sizes_of
from mirage.mugraph.grammar import LibraryKernel, MuGraph


def calls_of(m: MuGraph) -> tuple[LibraryKernel, ...]:
    """The library kernels that stay PyTorch's own, in launch order."""
    return tuple(k for k in m.kernels if isinstance(k, LibraryKernel) and is_call(k.op))


def opened(m: MuGraph) -> MuGraph:
    """The µGraph without its calls."""
    calls = calls_of(m)
    if not calls:
        return m
    made = {k.out for k in calls}
    taken = {a for k in calls for a in k.args} - made
    tensors = tuple(
        replace(t, kind="input") if t.name in made
        else replace(t, kind="output") if t.name in taken and t.kind == "temp" else t
        for t in m.tensors
    )  # fmt: skip
    return replace(m, tensors=tensors, kernels=tuple(k for k in m.kernels if k not in calls))


def other_calls(wanted: Sequence[LibraryKernel], m: MuGraph) -> str:
    """In words, where the calls of a µGraph are not those that are wanted; "" if they are. Tensors go by their names."""

    def table(calls: Sequence[LibraryKernel]) -> dict[str, tuple[str, tuple[str, ...], str]]:
        return {k.out: (k.op, k.args, repr(sorted(k.attrs))) for k in calls}

    have = calls_of(m)
    if len(have) != len(wanted):
        return f"{len(have)} calls of PyTorch's own operators, not {len(wanted)}"
    mine, want = table(have), table(wanted)
    for name, (op, args, attrs) in want.items():
        if name not in mine:
            return f"no call gives {name}"
        if mine[name] != (op, args, attrs):
            return f"{name} is {mine[name][0]}({', '.join(mine[name][1])}) {mine[name][2]}, not {op}({', '.join(args)}) {attrs}"
    return ""


def dims_of_calls(m: MuGraph) -> tuple[frozenset[str], list[tuple[str, str]]]:
    """What the calls ask of sizes: the axes that cannot change, and pairs of axes that have one size."""
    dims = {t.name: t.dims for t in m.tensors}
    fixed: set[str] = set()
    pairs: list[tuple[str, str]] = []
    for k in calls_of(m):
        tensors = {i: dims[a] for i, a in enumerate(k.args)} | {RESULT_TENSOR: dims[k.out]}
        free = {place for group in sizes_of(k.attrs) for place in group}
        fixed |= {a for i, own in tensors.items() for d, axes in enumerate(own) if (i, d) not in free for a in axes}
        for group in sizes_of(k.attrs):
            (first, d), *rest = group
            for i, e in rest:
                a, b = tensors[first][d], tensors[i][e]
                if len(a) == len(b):
                    pairs += zip(a, b, strict=True)
                else:  # cut in different places: nothing says how they would change
                    fixed |= {*a, *b}
    return frozenset(fixed), pairs
