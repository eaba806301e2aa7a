"""The classes (whole.py) of what the search yields for a small program, with its bounds wide open."""

from __future__ import annotations

from dataclasses import dataclass, field

from mirage.meaning.terms import Terms
from mirage.mugraph.grammar import CustomKernel, DTensor
from mirage.search.engine import Bounds, Problem, Search
from mirage.search.kernel_pieces import KernelSpace, Target
from workloads import brute
from workloads.whole import OUTPUT, Class, Entry, Red, Schedule, Written, written

SIZES = {"m": 64, "k": 256, "n": 128, "r": 128}
WIDE = Bounds(
    systems=10**6, reductions=99, cuts=4, cut_candidates=99, spellings=10**6, keep=10**6, structures=10**6, tilings=10**6,
    per_kernel=10**6, lean=False, seconds=1e9,
)  # fmt: skip
Forms = set[tuple[frozenset[Entry], str | None]]


def problem(program: brute.Small, sizes: dict[str, int] = SIZES) -> Problem:
    t = Terms(dict(sizes))
    y = program.term(t)
    inputs = tuple(DTensor(name, "fp16", tuple((a,) for a in axes)) for name, axes in program.inputs)
    dims = tuple((a,) for a in brute.AXES if a in t.dims(y))
    return Problem("small", t, inputs, (Target("O", y, dims, "fp16"),), "fp16")


@dataclass
class Searched:
    """`found`: for each set of kept values the forms of each kernel that the search has, once for each way to cut."""

    program: brute.Small
    found: dict[frozenset[Written], list[dict[Written, Forms]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        p = problem(self.program)
        self.search = search = Search(p, lambda _: 1.0, bounds=WIDE)
        t = p.t
        self.axes = dict(self.program.inputs)
        for chosen in search._cut_sets():
            targets = search.targets(chosen)
            memo: dict[int, brute.Value] = {}
            forms = {}
            for target in targets:
                space = KernelSpace(t, target, search.guard, limit=WIDE.systems, lean=False)
                what = OUTPUT if target.kind == "output" else self.written(t, target.term, memo)
                forms[what] = self.forms(t, space, memo)
                if target.kind == "temp":
                    load = t.input(target.tensor, target.index)
                    memo[load] = brute.of_term(t, target.term, self.axes, memo)
            kept = frozenset(list(forms)[:-1])
            self.found.setdefault(kept, []).append(forms)

    def red(self, t: Terms, r: int, memo: dict[int, brute.Value]) -> Red:
        n = t.reduction(r)
        return brute.reduction(n.op, n.axis, self.value(t, self.body(t, r), memo))

    def body(self, t: Terms, r: int) -> int:
        """Without the factors that are read and do not vary along the axis."""
        n = t.reduction(r)
        if n.op != "sum" or t.kind(n.body) != "mul":
            return n.body
        return t.mul(*(f for f in t.kids(n.body) if n.axis in t.dims(f) or t.front(f)))

    def written(self, t: Terms, x: int, memo: dict[int, brute.Value]) -> Written:
        reads = [(t.reduction(r), self.body(t, r)) for r in t.front(x)]
        front = [brute.apply(f"{n.op} {n.axis}", self.value(t, body, memo)) for n, body in reads]
        return written(self.value(t, x, memo), front)

    def value(self, t: Terms, x: int, memo: dict[int, brute.Value]) -> brute.Value:
        return brute.of_term(t, x, self.axes, memo)

    def forms(self, t: Terms, space: KernelSpace, memo: dict[int, brute.Value]) -> Forms:
        out: Forms = set()
        for s in space.structures():
            out.add((self.entries(t, s.system.output, memo), s.streamed))
        return out

    def entries(self, t: Terms, output: int, memo: dict[int, brute.Value]) -> frozenset[Entry]:
        """The reductions; the accumulators that only an update reads do not count."""
        todo, seen = set(t.front(output)), set[int]()
        while todo:
            r = todo.pop()
            seen.add(r)
            todo |= t.front(t.reduction(r).body) - seen
        found = set()
        for r in seen:
            n = t.reduction(r)
            atoms = {t.change_of(y).atom for y in n.changes}
            reads = {s for u in atoms for s in self.along(t, u, n.axis)}
            found.add((self.red(t, r, memo), frozenset(self.red(t, s, memo) for s in reads)))
        return frozenset(found)

    def along(self, t: Terms, x: int, axis: str) -> set[int]:
        if t.reduces(x, axis):
            return {x}
        return set().union(*(self.along(t, k, axis) for k in t.kids(x)))

    def has(self, c: Class) -> bool:
        """Is the class among them? The output's kernel is the one whose value nothing else of the class is."""
        alternatives = self.cuts(c)
        return any(all((entries, streamed) in forms[what] for what, entries, streamed in c) for forms in alternatives)

    def cuts(self, c: Class) -> list[dict[Written, Forms]]:
        names = {k[0] for k in c}
        return [f for kept in self.found for f in self.found[kept] if set(f) == names]

    def schedules(self) -> dict[tuple[frozenset[Entry], str | None], set[Schedule]]:
        """For each form of the kernel that computes the output from the inputs: how its reductions are combined, and which
        axes of the output are cut by the grid, in the kernels that are made of it."""
        (target,) = self.search.targets(())
        t, memo = self.search.problem.t, dict[int, brute.Value]()
        space = KernelSpace(t, target, self.search.guard, limit=WIDE.systems, lean=False)
        found: dict[tuple[frozenset[Entry], str | None], set[Schedule]] = {}
        for s in space.structures():
            made = found.setdefault((self.entries(t, s.system.output, memo), s.streamed), set())
            for piece in space.pieces("main", s, WIDE.tilings):
                kernel = piece.kernels[0]
                assert isinstance(kernel, CustomKernel)
                how = "second kernel" if len(piece.kernels) > 1 else "last block" if kernel.tail else "whole"
                grid = frozenset(a for d in kernel.block.dims if d.role == "grid" for a in d.axes)
                made.add((how, grid))
        return found
