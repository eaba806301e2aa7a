"""The parts of a search: each is the search for the kernels that compute one target tensor.

Every part works in its own copy of the arena, so that its result depends on the problem and the part alone: not on earlier parts,
the process, or the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from mirage.meaning.terms import Terms
from mirage.mugraph.capacity import room
from mirage.mugraph.check import SM_90, Limits
from mirage.mugraph.grammar import Accumulate, BlockGraph, Compute, CustomKernel, Loop, MuGraph, Statement
from mirage.results.progress import CancelToken
from mirage.search.cuts import Cut, apply, kept_dtype, loads, tensor_name
from mirage.search.kernel_pieces import MAIN, KernelSpace, Piece, Structure, Target
from mirage.search.library_pieces import calls
from mirage.search.limits import Stopped
from mirage.search.multiple_outputs import groupings, joint
from mirage.search.problem import Bounds, Cost, Problem, assemble, calls_alone, fork

BOOKKEEPING = {"const", "size", "index", "mask"}  # positions and numbers, which are no operators of a block graph
ARITHMETIC = {"add", "sub", "mul", "div"}


@dataclass(frozen=True)
class Key:
    """Names a part: the tensors that are made, and the numbers of the cuts whose values are read."""

    tensors: tuple[str, ...]
    reads: tuple[int, ...]

    def __str__(self) -> str:
        return f"{'+'.join(self.tensors)}({','.join(map(str, self.reads))})"


@dataclass(frozen=True)
class Part:
    """The pieces of one target by their estimate (µs), best first, and what the search for them met."""

    pieces: tuple[tuple[float, Piece], ...] = ()
    values: int = 0
    systems: int = 0
    structures: int = 0
    mugraphs: int = 0
    limits: tuple[str, ...] = ()
    stopped: str = ""  # the bound that ended it early


def operators(block: BlockGraph) -> int:
    """The operators of a block graph as the paper counts them: input iterators, operators, accumulators, output savers. The sum of
    a tile belongs to its accumulator, and a number that is added or multiplied to the operator whose value it changes."""
    flat = [x for s in block.body for x in (s.body if isinstance(s, Loop) else (s,))]
    numbers = {x.out for x in flat if isinstance(x, Compute) and x.op in ("const", "size")}
    summed = {x.arg for x in flat if isinstance(x, Accumulate)}

    def counts(x: Statement | Loop) -> bool:
        if not isinstance(x, Compute):
            return True
        inside = x.op in BOOKKEEPING or (x.op in ("sum", "max") and x.out in summed)
        return not inside and not (x.op in ARITHMETIC and numbers & set(x.args))

    return sum(map(counts, flat))


def best(ranked: Iterable[tuple[float, int, Piece]], most: int) -> Iterator[tuple[float, Piece]]:
    """The first `most` pieces, and after them the best one of each other structure."""
    seen: set[str] = set()
    for i, (us, _, piece) in enumerate(ranked):
        if i < most or piece.structure not in seen:
            seen.add(piece.structure)
            yield us, piece


class Pricing:
    """Asks of the pieces of one target whether the device has the shared memory that they need, and what they cost."""

    def __init__(self, work: SharedWork, t: Terms, target: Target) -> None:
        self.work, self.t, self.target = work, t, target
        self._last: tuple[Piece, MuGraph] | None = None  # a piece is priced right after it was found to fit

    def fits(self, piece: Piece) -> bool:
        return room(self.mugraph(piece), self.work.limits)

    def us(self, piece: Piece) -> float:
        return self.work.cost(self.mugraph(piece))

    def mugraph(self, piece: Piece) -> MuGraph:
        if self._last is None or self._last[0] is not piece:
            work = self.work
            self._last = piece, assemble(work.problem, self.t, [self.target], [piece], kept=work.kept)
        return self._last[1]


@dataclass(frozen=True)
class SharedWork:
    """The data that the parts of one search share. `problem.t` is the arena as it was when all cuts were known; it is only copied."""

    problem: Problem
    outputs: tuple[Target, ...]
    cuts: tuple[Cut, ...]
    bounds: Bounds
    cost: Cost
    limits: Limits = SM_90

    @property
    def prefix(self) -> str:
        """Begins the names of the tensors that go from kernel to kernel."""
        prefix = "tmp"
        while any(x.name.startswith(prefix) for x in (*self.problem.inputs, *self.problem.given)):
            prefix += "_"
        return prefix

    @cached_property
    def kept(self) -> dict[str, str]:
        """The dtype of each tensor that may go from kernel to kernel."""
        t = self.problem.t
        return {tensor_name(self.prefix, c.number): kept_dtype(t, c, self.problem.dtype) for c in self.cuts}

    def targets(self, t: Terms, chosen: Iterable[Cut]) -> list[Target]:
        """The kernels to find for a cut set, in launch order."""
        return apply(t, list(self.outputs), tuple(chosen), self.problem.dtype, self.prefix)

    def groupings(self, t: Terms, chosen: Iterable[Cut]) -> list[list[Target]]:
        """The same, one kernel a tensor first, then with several tensors from one kernel."""
        return groupings(t, self.targets(t, chosen), self.problem.takes)

    @cached_property
    def calls_us(self) -> float:
        """The arguments of the calls that stay PyTorch's own: the same in every answer."""
        return self.cost(calls_alone(self.problem)) if self.problem.calls else 0.0

    def key(self, t: Terms, target: Target, chosen: Iterable[Cut]) -> Key:
        below = set(t.walk(target.term))
        outputs, prefix = list(self.outputs), self.prefix
        reads = (c.number for c in chosen if c.instead or below & set(loads(t, c, outputs, prefix).values()))
        return Key(tuple(x.tensor for x in target.tensors), tuple(reads))

    def target(self, t: Terms, key: Key) -> Target:
        """The target that `key` names, built in `t`."""
        chosen = [c for c in self.cuts if c.number in key.reads or tensor_name(self.prefix, c.number) in key.tensors]
        found = [x for x in self.targets(t, chosen) if x.tensor in key.tensors]
        if len(found) == 1:
            return found[0]
        together = joint(t, found)
        assert together is not None  # it was when the part was named
        return together

    def name(self, target: Target) -> str:
        only = tuple(x.tensor for x in target.tensors) == tuple(o.tensor for o in self.outputs)
        return MAIN if only else f"make_{target.tensor}"

    def space(self, t: Terms, target: Target, guard: CancelToken) -> KernelSpace:
        b = self.bounds
        return KernelSpace(t, target, guard, limit=b.systems, lean=b.lean, given=b.given)

    def allowed(self, piece: Piece) -> bool:
        """True if the piece is within the bounds on kernels, loops and operators."""
        b = self.bounds
        own = [k for k in piece.kernels if isinstance(k, CustomKernel)]
        loops = max(sum(isinstance(x, Loop) for x in k.block.body) for k in own)
        if len(piece.kernels) > b.kernels or loops > b.loops:
            return False
        blocks = [x for k in own for x in (k.block, k.tail) if x is not None]
        return not b.operators or max(map(operators, blocks)) <= b.operators

    def calls(self, t: Terms, target: Target) -> Iterator[Piece]:
        """PyTorch's own calls that compute the target; none where the caller says what kernels must be like."""
        if self.bounds.given:
            return
        dtypes = {x.name: x.dtype for x in self.problem.inputs}
        dtypes |= self.kept | {x.name: x.dtype for x in self.problem.given}
        whole = (*self.problem.inputs, *self.problem.given)
        rigid = {x.name for x in whole if any(n is not None for n in x.rigid)}
        yield from calls(t, target, self.name(target), {n: d for n, d in dtypes.items() if n not in rigid})

    def has_call(self, t: Terms, chosen: Iterable[Cut]) -> bool:
        """True if PyTorch has a call of its own for one of the kernels of a cut set."""
        return any(True for target in self.targets(t, chosen) for _ in self.calls(t, target))

    def first(self, key: Key, guard: CancelToken) -> Iterator[tuple[float, Piece]]:
        """One tiling of each structure, before any is ranked."""
        t = fork(self.problem.t)
        target = self.target(t, key)
        space, pricing = self.space(t, target, guard), Pricing(self, t, target)
        for structure in space.structures():
            for piece in space.pieces(self.name(target), structure, 1, pricing.fits):
                if self.allowed(piece):
                    yield pricing.us(piece), replace(piece, structure=f"{key}:{piece.structure}")
        for piece in self.calls(t, target):
            yield pricing.us(piece), replace(piece, structure=f"{key}:{piece.structure}")

    def search(self, key: Key, guard: CancelToken) -> Part:
        """The part: every structure ranked by its first tiling, then the tilings of the best ones. Where a bound on time or
        memory ends it, what was ranked so far."""
        t, bounds = fork(self.problem.t), self.bounds
        target = self.target(t, key)
        name, pricing = self.name(target), Pricing(self, t, target)
        limits: list[str] = []
        first: list[tuple[float, int, Structure]] = []
        ranked: list[tuple[float, int, Piece]] = []
        values = systems = 0
        stopped = ""
        try:
            space = self.space(t, target, guard)
            values, systems = space.counts.values, len(space.systems)
            if not space.counts.exhaustive:
                limits.append(f"{bounds.systems} reduction systems a kernel")
            for n, structure in enumerate(space.structures()):
                for piece in space.pieces(name, structure, 1, pricing.fits):
                    if bounds.operators and not self.allowed(piece):
                        limits.append(f"at most {bounds.operators} operators in a block graph")
                        continue
                    first.append((pricing.us(piece), n, structure))
            first.sort(key=lambda f: f[:2])
            if len(first) > bounds.structures:
                limits.append(f"tiles for the best {bounds.structures} structures a kernel")
            for _, _, structure in first[: bounds.structures]:
                for piece in space.pieces(name, structure, bounds.tilings, pricing.fits):
                    guard.check()
                    if self.allowed(piece):
                        ranked.append((pricing.us(piece), len(ranked), piece))
            for us, _, structure in first[bounds.structures :]:
                tiled = filter(self.allowed, space.pieces(name, structure, 1, pricing.fits))
                ranked += [(us, len(ranked), piece) for piece in tiled]
            for piece in self.calls(t, target):
                ranked.append((pricing.us(piece), len(ranked), piece))
        except Stopped as s:
            stopped = s.bound
        ranked.sort(key=lambda f: f[:2])
        if not ranked and bounds.given and not stopped:
            limits.append(f"no kernel for {target.tensor} within the given {', '.join(bounds.given.names)}")
        kept = [(us, replace(p, structure=f"{key}:{p.structure}")) for us, p in best(ranked, 4 * bounds.per_kernel)]
        structures = len({s.key for *_, s in first})
        return Part(tuple(kept), values, systems, structures, len(ranked), tuple(dict.fromkeys(limits)), stopped)
