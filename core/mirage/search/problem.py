"""The search problem, the bounds of a search, and the assembly of pieces into a µGraph. Plain data: it travels to workers."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from mirage.ir.narrowing import FREE, Narrowing
from mirage.meaning.terms import Terms
from mirage.mugraph.grammar import CustomKernel, DTensor, LibraryKernel, MuGraph
from mirage.search.kernel_pieces import Piece, Target

Cost = Callable[[MuGraph], float]


@dataclass(frozen=True)
class Bounds:
    """The search's limits; part of every cache key. `keep` µGraphs are returned."""

    systems: int = 400
    reductions: int = 8  # a program with more is searched in parts
    cuts: int = 2
    cut_candidates: int = 8
    spellings: int = 2  # further places to cut, which only another spelling of the program has
    keep: int = 64
    kernels: int = 16  # at most, in one µGraph
    loops: int = 8  # at most, in one kernel
    operators: int = 0  # at most, in one block graph (0: any number); see `operators` in kernel_pieces.py
    per_kernel: int = 48
    structures: int = 8
    tilings: int = 16
    lean: bool = True  # never carry what can leave its loop as one safe factor
    seconds: float = 20.0
    memory: int = 1536  # MiB that the process may grow by
    given: Narrowing = FREE  # what the caller asks of every kernel


@dataclass(frozen=True)
class Problem:
    """The problem of a search: the terms of the outputs and the device tensors of the inputs.

    `calls` stay PyTorch's own (`ir/opaque_calls.py`): what they give, `given`, the terms read like inputs, and what they take is
    among `outputs`, with the kind temp. `returns` names the program's outputs in their order where there are calls."""

    name: str
    t: Terms
    inputs: tuple[DTensor, ...]
    outputs: tuple[Target, ...]
    dtype: str
    given: tuple[DTensor, ...] = ()
    calls: tuple[LibraryKernel, ...] = ()
    returns: tuple[str, ...] = ()

    @property
    def takes(self) -> dict[str, tuple[str, ...]]:
        """For each tensor that a call gives, those that the call takes."""
        return {c.out: c.args for c in self.calls}


def fork(t: Terms) -> Terms:
    """A copy of an arena: what is built in it is not seen in the other one."""
    new = copy.copy(t)
    for name, value in vars(t).items():
        setattr(new, name, copy.copy(value))
    return new


def assemble(
    problem: Problem, t: Terms, targets: Sequence[Target], pieces: Sequence[Piece], *, alone: bool = False,
    kept: Mapping[str, str] | None = None, whole: bool = False,
) -> MuGraph:  # fmt: skip
    """The µGraph of the pieces. `alone`: one target by itself, what other kernels write counts as given; `kept` says in which
    dtype they write it. `whole`: with the calls that stay PyTorch's own, each after what it takes."""
    tensors: list[DTensor] = list(problem.inputs)
    steps: list[KernelStep] = []
    added: dict[str, int] = {}
    for target, piece in zip(targets, pieces, strict=True):
        tensors += piece.temps
        for made in target.tensors:
            kind = "output" if alone else made.kind
            tensors.append(DTensor(made.tensor, made.dtype, made.dims, kind=kind))  # type: ignore[arg-type]
        steps.append(KernelStep(t.inputs(target.term), {x.tensor for x in target.tensors}, piece.kernels))
        added |= dict(piece.axes)
    if whole:
        tensors += problem.given
        steps += [KernelStep(frozenset(c.args), {c.out}, (c,)) for c in problem.calls]
    tensors += read_beside(problem, t, targets, {x.name for x in tensors}, kept or {})
    axes = {a: t.sizes[a] for a in axes_of(t, targets, tensors) if a not in added}
    names = problem.returns or [o.tensor for o in problem.outputs]
    place = {name: i for i, name in enumerate(names)}  # outputs in the program's order
    tensors.sort(key=lambda x: place.get(x.name, -1))
    kernels = tuple(k for step in in_order(steps) for k in step.kernels)
    return MuGraph(problem.name, tuple(sorted((axes | added).items())), tuple(tensors), kernels)


def read_beside(
    problem: Problem, t: Terms, targets: Sequence[Target], have: Collection[str], kept: Mapping[str, str]
) -> list[DTensor]:
    """The inputs of the targets that are not among `have`: results of calls, and values that other kernels keep."""
    calls = {x.name: replace(x, kind="input") for x in problem.given}
    found: dict[str, DTensor] = {}
    for n in (n for target in targets for n in t.reads(target.term)):
        if n.name not in have and n.name not in found:
            dims = tuple(i.axes for i in n.index)
            own = DTensor(n.name, kept.get(n.name, problem.dtype), dims, kind="input")
            found[n.name] = calls.get(n.name, own)
    return list(found.values())


def axes_of(t: Terms, targets: Sequence[Target], tensors: Sequence[DTensor]) -> set[str]:
    """The axes of the tensors, and those that occur in the targets' terms, also where they are summed over."""
    found = {a for x in tensors for d in x.dims for a in d}
    return found.union(*(t.axes(target.term) for target in targets))


def calls_alone(problem: Problem) -> MuGraph:
    """The calls that stay PyTorch's own, without what makes their arguments."""
    made = tuple(DTensor(o.tensor, o.dtype, o.dims, kind="temp") for o in problem.outputs)
    axes = tuple(sorted(problem.t.sizes.items()))
    return MuGraph(problem.name, axes, (*problem.inputs, *problem.given, *made), problem.calls)


@dataclass(frozen=True)
class KernelStep:
    """Kernels that make some tensors from others."""

    reads: Set[str]
    makes: Set[str]
    kernels: Sequence[CustomKernel | LibraryKernel] = ()


def in_order(steps: Sequence[KernelStep]) -> list[KernelStep]:
    """The steps, each after those that make what it reads; otherwise as they come."""
    todo, out = list(steps), []
    missing = {x for s in steps for x in s.makes}
    while todo:
        ready = next(s for s in todo if not s.reads & missing)
        todo.remove(ready)
        missing -= ready.makes
        out.append(ready)
    return out
