"""What is searched for, within which bounds, and the µGraph that pieces make together. Plain data: it travels to workers."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from mirage.meaning.terms import Terms
from mirage.mugraph.grammar import CustomKernel, DTensor, LibraryKernel, MuGraph
from mirage.narrow import FREE, Narrowing
from mirage.search.kernels import Piece, Target

Cost = Callable[[MuGraph], float]


@dataclass(frozen=True)
class Bounds:
    """The search's limits; part of every cache key. `keep` µGraphs are returned."""

    systems: int = 400
    reductions: int = 8  # a program with more is searched in parts
    cuts: int = 2
    cut_candidates: int = 8
    keep: int = 64
    kernels: int = 16  # at most, in one µGraph
    loops: int = 8  # at most, in one kernel
    operators: int = 0  # at most, in one block graph (0: any number); see `operators` in kernels.py
    per_kernel: int = 48
    structures: int = 8
    tilings: int = 16
    lean: bool = True  # never carry what can leave its loop as one safe factor
    seconds: float = 20.0
    memory: int = 1536  # MiB that the process may grow by
    given: Narrowing = FREE  # what the caller asks of every kernel


@dataclass(frozen=True)
class Problem:
    """What to compute: the terms of the outputs and the device tensors of the inputs."""

    name: str
    t: Terms
    inputs: tuple[DTensor, ...]
    outputs: tuple[Target, ...]
    dtype: str


def fork(t: Terms) -> Terms:
    """A copy of an arena: what is built in it is not seen in the other one."""
    new = copy.copy(t)
    for name, value in vars(t).items():
        setattr(new, name, copy.copy(value))
    return new


def assemble(
    problem: Problem, t: Terms, targets: Sequence[Target], pieces: Sequence[Piece], *, alone: bool = False,
    kept: Mapping[str, str] | None = None,
) -> MuGraph:  # fmt: skip
    """The µGraph of the pieces. `alone`: one target by itself, what other kernels write counts as given; `kept` says in which
    dtype they write it."""
    tensors: list[DTensor] = list(problem.inputs)
    kernels: list[CustomKernel | LibraryKernel] = []
    axes: dict[str, int] = {}
    added: dict[str, int] = {}
    for target, piece in zip(targets, pieces, strict=True):
        tensors += piece.temps
        for made in target.tensors:
            kind = "output" if alone else made.kind
            tensors.append(DTensor(made.tensor, made.dtype, made.dims, kind=kind))  # type: ignore[arg-type]
        kernels += piece.kernels
        added |= dict(piece.axes)
    have = {x.name for x in tensors}
    for target in targets:
        for y in t.walk(target.term):
            if t.kind(y) == "in" and t.node(y)[1] not in have:
                d = tuple(i.axes for i in t.node(y)[2])
                name = t.node(y)[1]
                tensors.append(DTensor(name, (kept or {}).get(name, problem.dtype), d, kind="input"))
                have.add(name)
    for x in tensors:
        for d in x.dims:
            axes |= {a: t.sizes[a] for a in d if a not in added}
    for target in targets:
        axes |= {a: t.sizes[a] for y in t.walk(target.term) for a in t.dims(y) if a not in added}
        axes |= {t.node(r)[2]: t.sizes[t.node(r)[2]] for r in t.closure(target.term) if t.node(r)[2] not in added}
    place = {o.tensor: i for i, o in enumerate(problem.outputs)}  # outputs in the program's order
    tensors.sort(key=lambda x: place.get(x.name, -1))
    return MuGraph(problem.name, tuple(sorted((axes | added).items())), tuple(tensors), tuple(kernels))
