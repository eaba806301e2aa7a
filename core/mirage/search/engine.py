"""The search: from a lowered program to candidate µGraphs, best first.

Structures come from the reduction systems of each kernel; kernels come from the cut sets; tiles and splits instantiate
them. Costs of kernels add up, so the best combinations of a cut set are read off sorted lists with a heap. "Best first"
holds up to the bound of the estimate and within the limits that `SearchCounts` names.
"""

from __future__ import annotations

import hashlib
import heapq
import time
from bisect import insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from mirage.meaning.terms import Terms
from mirage.mugraph.check import broken_rule
from mirage.mugraph.grammar import CustomKernel, DTensor, Loop, MuGraph
from mirage.narrow import FREE, Narrowing
from mirage.result import CancelToken, Progress
from mirage.search.cuts import Cut, apply, cut_candidates, cut_sets, descend
from mirage.search.kernels import KernelSpace, Piece, Structure, Target
from mirage.search.shift import insert_shifts
from mirage.search.state import Found, SearchState

HOPELESS = 2.5  # a cut set whose best estimate is this many times the best so far is not instantiated
FAR = float("inf")
Cost = Callable[[MuGraph], float]


@dataclass(frozen=True)
class Bounds:
    """The search's limits; part of every cache key. `keep` µGraphs are returned."""

    systems: int = 400
    reductions: int = 8  # a program with more is searched in parts
    cuts: int = 2
    cut_candidates: int = 8
    keep: int = 64
    kernels: int = 8  # at most, in one µGraph
    loops: int = 8  # at most, in one kernel
    per_kernel: int = 48
    structures: int = 8
    tilings: int = 16
    lean: bool = True  # never carry what can leave its loop as one safe factor
    seconds: float = 20.0
    given: Narrowing = FREE  # what the caller asks of every kernel


@dataclass(frozen=True)
class Candidate:
    """A µGraph with its estimated time (µs), a label for people, and the structure it instantiates."""

    mugraph: MuGraph
    us: float
    label: str
    structure: str


@dataclass
class SearchCounts:
    """What the search met. `exhaustive` is False when a limit cut it, and `limits` says which."""

    values: int = 0
    systems: int = 0
    structures: int = 0
    mugraphs: int = 0
    shifts: int = 0
    seconds: float = 0.0
    exhaustive: bool = True
    limits: list[str] = field(default_factory=list)

    def stop(self, limit: str) -> None:
        self.exhaustive = False
        if limit not in self.limits:
            self.limits.append(limit)


@dataclass(frozen=True)
class Problem:
    """What to compute: the terms of the outputs and the device tensors of the inputs."""

    name: str
    t: Terms
    inputs: tuple[DTensor, ...]
    outputs: tuple[Target, ...]
    dtype: str


def cheapest(lists: Sequence[Iterable[float]]) -> Iterator[tuple[float, tuple[int, ...]]]:
    """Every choice of one place in each list (each sorted) with its sum, smallest sum first. Lists are read as far as they
    are needed and no further."""
    sources = [iter(costs) for costs in lists]
    read: list[list[float]] = [[] for _ in lists]

    def has(i: int, j: int) -> bool:
        while len(read[i]) <= j:
            following = next(sources[i], None)
            if following is None:
                return False
            read[i].append(following)
        return True

    def total(choice: tuple[int, ...]) -> float:
        return sum(read[i][j] for i, j in enumerate(choice))

    first = tuple(0 for _ in lists)
    if not all(has(i, 0) for i in range(len(lists))):
        return
    heap = [(total(first), first)]
    seen = {first}
    while heap:
        cost, choice = heapq.heappop(heap)
        yield cost, choice
        for i, j in enumerate(choice):
            following = (*choice[:i], j + 1, *choice[i + 1 :])
            if following not in seen and has(i, j + 1):
                seen.add(following)
                heapq.heappush(heap, (total(following), following))


def kept(candidates: list[Candidate], most: int) -> list[Candidate]:
    """The best `most` of the sorted `candidates`, but among them one of each structure as far as half of the places go (those
    with fewer cuts first): a known graph is not lost because another one has many good tilings."""
    firsts: dict[str, int] = {}
    for i, c in enumerate(candidates):
        firsts.setdefault(c.structure, i)
    places = sorted(firsts.values(), key=lambda i: (candidates[i].structure.count("|"), i))[: most // 2]
    taken = set(places)
    others = [i for i in range(len(candidates)) if i not in taken]
    return [candidates[i] for i in sorted([*places, *others[: most - len(places)]])]


class Search:
    """One search. `run` yields candidates, each better than the ones before; `best` holds them all, best first."""

    def __init__(
        self, problem: Problem, cost: Cost, *, bounds: Bounds | None = None, cancel: CancelToken | None = None,
        progress: Callable[[Progress], None] | None = None, state: SearchState | None = None,
    ) -> None:  # fmt: skip
        self.problem, self.cost = problem, cost
        self.bounds = bounds or Bounds()
        self.cancel = cancel or CancelToken()
        self.progress = progress or (lambda _: None)
        self.counts = SearchCounts()
        self.best: list[Candidate] = []
        self._spaces: dict[object, KernelSpace] = {}
        self._pieces_of: dict[object, list[tuple[float, Piece]]] = {}
        self._structures: set[str] = set()
        self._checked: dict[object, bool] = {}
        self._cuts_of: dict[int, int] = {}  # id of a candidate -> its number of cuts
        self._place: dict[int, int] = {}  # id of a candidate -> the cut set that it came from
        self._done = 0
        self.tried: list[tuple[int, ...]] = []  # the cut sets that were tried, as numbers of cuts
        self._least: dict[tuple[Cut, ...], float] = {}  # the best estimate of a cut set
        self._costs: list[float] = []  # of all candidates, sorted
        self._resumed = state
        self.key = self._identity()  # now: the search adds axes to the arena
        self.cuts: list[Cut] = []
        self.partitioned = False
        self._outputs: list[Target] = []
        self._prepare()

    def run(self) -> Iterator[Candidate]:
        bounds = self.bounds
        start = time.monotonic()
        best_with: dict[int, float] = {}  # number of cuts -> best estimate
        skip = self._resume(best_with) if self._resumed is not None else 0
        best = min(best_with.values(), default=float("inf"))
        for place, chosen in enumerate(self._cut_sets()):
            self.cancel.check()
            if not self.partitioned:
                self._done = place
            if place < skip:
                continue
            n = len(chosen)
            if not self.partitioned and n > 1 and best_with.get(n - 1, FAR) >= best_with.get(n - 2, FAR) < FAR:
                self.counts.stop("no further cuts: the last one did not help")
                break
            if time.monotonic() - start > bounds.seconds and self.best:
                self.counts.stop(f"{bounds.seconds:g} s")
                break
            targets = self.targets(chosen)
            if len(targets) > bounds.kernels:
                continue
            self.tried.append(tuple(c.number for c in chosen))
            early = self._early(targets[0]) if not chosen and len(targets) == 1 and not self.best else None
            if early is not None:
                self.best, best = [early], early.us
                self._report(best)
                yield early
                self.best = []  # it comes again in its order, unless there are enough of better structures
            for candidate in self._combinations(targets):
                self.best.append(candidate)
                insort(self._costs, candidate.us)
                self._cuts_of[id(candidate)], self._place[id(candidate)] = n, place
                self._least[chosen] = min(self._least.get(chosen, FAR), candidate.us)
                best_with[n] = min(best_with.get(n, FAR), candidate.us)
                if candidate.us < best:
                    best = candidate.us
                    self._report(best)
                    yield candidate
        else:
            if len(self.cuts) > bounds.cuts and not self.partitioned:
                self.counts.stop(f"at most {bounds.cuts} cuts")
        self.best.sort(key=lambda c: (c.us, len(c.mugraph.kernels), c.label))
        self.best = kept(self.best, bounds.keep)
        self.counts.mugraphs = max(self.counts.mugraphs, len(self.best))
        self.counts.seconds = time.monotonic() - start
        self._report(best)

    def _prepare(self) -> None:
        """The outputs with their shifts, the places to cut, and whether the program is too large to search whole."""
        p, t, bounds = self.problem, self.problem.t, self.bounds
        for o in p.outputs:
            term, shifts = insert_shifts(t, o.term)
            self.counts.shifts += shifts
            self._outputs.append(Target(o.tensor, term, o.dims, o.dtype, o.kind))
        roots = [o.term for o in self._outputs]
        self.cuts = cut_candidates(t, roots)
        reductions = len(frozenset().union(*(t.closure(x) for x in roots)))
        self.partitioned = reductions > bounds.reductions and any(c.operand for c in self.cuts)
        if self.partitioned:
            self.counts.stop(f"{reductions} reductions, more than {bounds.reductions}: in parts, joined greedily")
        elif len(self.cuts) > bounds.cut_candidates:
            self.cuts = self.cuts[: bounds.cut_candidates]
            self.counts.stop(f"more than {bounds.cut_candidates} places to cut")

    def _cut_sets(self) -> Iterator[tuple[Cut, ...]]:
        if self.partitioned:
            return descend(self.cuts, lambda chosen: self._least.get(chosen, FAR))
        return cut_sets(self.cuts, max(self.bounds.cuts, 0))

    def targets(self, chosen: Iterable[Cut]) -> list[Target]:
        """The kernels to find for a cut set, in launch order."""
        p = self.problem
        prefix = "tmp"
        while any(x.name.startswith(prefix) for x in p.inputs):
            prefix += "_"
        return apply(p.t, self._outputs, tuple(chosen), p.dtype, prefix)

    @property
    def state(self) -> SearchState:
        """What is done so far, to go on from later: every cut set before the one in hand."""
        counts = tuple((k, v) for k, v in vars(self.counts).items() if isinstance(v, int) and not isinstance(v, bool))
        kept = [c for c in self.best if self._place.get(id(c), 0) < self._done]
        found = tuple(Found(c.mugraph, c.us, c.label, c.structure, self._cuts_of[id(c)]) for c in kept)
        return SearchState(self.key, self._done, found, counts, tuple(self.counts.limits))

    def _identity(self) -> str:
        """Identifies the problem and the bounds (but for the seconds): a state of another key is of no use."""
        t = self.problem.t
        parts = [repr(replace(self.bounds, seconds=0.0)), *(t.show(o.term, 200) for o in self.problem.outputs)]
        parts += [repr(sorted(t.sizes.items())), repr(self.problem.inputs), self.problem.dtype]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def _resume(self, best_with: dict[int, float]) -> int:
        """Take up a state; the number of cut sets that are done. A state of another problem counts for nothing."""
        state = self._resumed
        if state is None or state.problem != self.key:
            return 0
        for f in state.found:
            candidate = Candidate(f.mugraph, f.us, f.label, f.structure)
            self.best.append(candidate)
            insort(self._costs, f.us)
            self._cuts_of[id(candidate)], self._place[id(candidate)] = f.cuts, -1
            best_with[f.cuts] = min(best_with.get(f.cuts, float("inf")), f.us)
        for k, v in state.counts:
            if hasattr(self.counts, k):
                setattr(self.counts, k, v)
        for limit in state.limits:
            self.counts.stop(limit)
        return state.done

    def _report(self, best: float) -> None:
        counts = {"values": self.counts.values, "mugraphs": self.counts.mugraphs}
        self.progress(Progress("searching", counts, f"{best:.1f} µs" if best < float("inf") else ""))

    def _space(self, target: Target) -> KernelSpace:
        key = (target.term, target.dims, target.tensor)
        if key not in self._spaces:
            bounds = self.bounds
            space = KernelSpace(
                self.problem.t, target, self.cancel, limit=bounds.systems, lean=bounds.lean, given=bounds.given
            )
            self.counts.values += space.counts.values
            self.counts.systems += len(space.systems)
            if not space.counts.exhaustive:
                self.counts.stop(f"{self.bounds.systems} reduction systems a kernel")
            self._spaces[key] = space
        return self._spaces[key]

    def _name(self, target: Target) -> str:
        return "main" if target.kind == "output" and len(self.problem.outputs) == 1 else f"make_{target.tensor}"

    def _pieces(self, target: Target) -> list[tuple[float, Piece]]:
        """The best pieces for one target, sorted by cost; each structure keeps at least its best one."""
        key = (target.term, target.dims, target.tensor)
        if key in self._pieces_of:
            return self._pieces_of[key]
        bounds = self.bounds
        space, name = self._space(target), self._name(target)
        first: list[tuple[float, int, Structure]] = []
        for n, structure in enumerate(space.structures()):
            for piece in space.pieces(name, structure, 1):
                first.append((self.cost(self._mugraph([target], [piece])), n, structure))
        first.sort(key=lambda f: f[:2])
        self._structures |= {f"{target.term}:{s.key}" for *_, s in first}
        self.counts.structures = len(self._structures)
        if len(first) > bounds.structures:
            self.counts.stop(f"tiles for the best {bounds.structures} structures a kernel")
        ranked: list[tuple[float, int, Piece]] = []
        for _, _, structure in first[: bounds.structures]:
            for piece in space.pieces(name, structure, bounds.tilings):
                loops = max(sum(isinstance(x, Loop) for x in k.block.body) for k in piece.kernels)
                if len(piece.kernels) > bounds.kernels or loops > bounds.loops:
                    continue
                self.counts.mugraphs += 1
                ranked.append((self.cost(self._mugraph([target], [piece])), len(ranked), piece))
        for us, _, structure in first[bounds.structures :]:
            ranked += [(us, len(ranked), piece) for piece in space.pieces(name, structure, 1)]
        ranked.sort(key=lambda f: f[:2])
        out, seen = [], set()
        for i, (us, _, piece) in enumerate(ranked):
            if i < 4 * bounds.per_kernel or piece.structure not in seen:  # the best of each structure stays
                seen.add(piece.structure)
                out.append((us, piece))
        if not out and bounds.given:
            self.counts.stop(f"no kernel for {target.tensor} within the given {', '.join(bounds.given.names)}")
        self._pieces_of[key] = out
        return out

    def _early(self, target: Target) -> Candidate | None:
        """The first valid piece of the first structure that has one, before all of them are ranked: an answer at once."""
        space = self._space(target)
        for structure in space.structures():
            for piece in space.pieces(self._name(target), structure, 1):
                if self._valid(target, piece):
                    mugraph = self._mugraph([target], [piece])
                    return Candidate(mugraph, self.cost(mugraph), piece.label, piece.structure)
        return None

    def _combinations(self, targets: list[Target]) -> Iterator[Candidate]:
        """The cheapest combinations of one piece a target, in order of cost."""
        lists = [self._pieces(target) for target in targets]
        if any(not pieces for pieces in lists):
            return
        keep = self.bounds.keep
        least = sum(pieces[0][0] for pieces in lists)
        if len(self.best) >= keep and least > HOPELESS * self._costs[0]:
            return
        yielded: set[tuple[int, ...]] = set()
        for pieces, cost in self._choices(targets, lists):
            if len(yielded) >= keep or (yielded and len(self._costs) >= keep and cost > self._costs[keep - 1]):
                break  # as many are better
            yielded.add(tuple(map(id, pieces)))
            yield self._candidate(targets, pieces, cost)
        each = [self._of_each_structure(target, pieces) for target, pieces in zip(targets, lists, strict=True)]
        for pieces, cost in islice(self._choices(targets, each), keep):
            if tuple(map(id, pieces)) not in yielded:
                yield self._candidate(targets, pieces, cost)

    def _choices(
        self, targets: list[Target], lists: list[list[tuple[float, Piece]]]
    ) -> Iterator[tuple[list[Piece], float]]:
        """Combinations of one valid piece of each list, in order of cost."""
        valid: list[list[Piece]] = [[] for _ in lists]

        def costs(i: int) -> Iterator[float]:
            for us, piece in lists[i]:
                if self._valid(targets[i], piece):
                    valid[i].append(piece)
                    yield us

        for cost, choice in cheapest([costs(i) for i in range(len(lists))]):
            self.cancel.check()
            pieces = [valid[i][j] for i, j in enumerate(choice)]
            if sum(len(piece.kernels) for piece in pieces) <= self.bounds.kernels:
                yield pieces, cost

    def _of_each_structure(self, target: Target, pieces: list[tuple[float, Piece]]) -> list[tuple[float, Piece]]:
        """The cheapest valid piece of each structure."""
        found: dict[str, tuple[float, Piece]] = {}
        for us, piece in pieces:
            if piece.structure not in found and self._valid(target, piece):
                found[piece.structure] = us, piece
        return list(found.values())

    def _candidate(self, targets: list[Target], pieces: list[Piece], cost: float) -> Candidate:
        label, structure = "; ".join(p.label for p in pieces), "|".join(p.structure for p in pieces)
        return Candidate(self._mugraph(targets, pieces), cost, label, structure)

    def _valid(self, target: Target, piece: Piece) -> bool:
        """Does the piece keep the validity rules? Asked only of pieces that come up: it costs more than an estimate."""
        key = (target.term, piece.label, piece.structure, piece.kernels)
        if key not in self._checked:
            self._checked[key] = broken_rule(self._mugraph([target], [piece], alone=True)) is None
        return self._checked[key]

    def _mugraph(self, targets: list[Target], pieces: list[Piece], *, alone: bool = False) -> MuGraph:
        """The µGraph of the pieces. `alone`: one target by itself, what other kernels write counts as given."""
        p, t = self.problem, self.problem.t
        tensors: list[DTensor] = list(p.inputs)
        kernels: list[CustomKernel] = []
        axes: dict[str, int] = {}
        added: dict[str, int] = {}
        for target, piece in zip(targets, pieces, strict=True):
            tensors += piece.temps
            kind = "output" if alone else target.kind
            tensors.append(DTensor(target.tensor, target.dtype, target.dims, kind=kind))  # type: ignore[arg-type]
            kernels += piece.kernels
            added |= dict(piece.axes)
        have = {x.name for x in tensors}
        for target in targets:
            for y in t.walk(target.term):
                if t.kind(y) == "in" and t.node(y)[1] not in have:
                    d = tuple(i.axes for i in t.node(y)[2])
                    tensors.append(DTensor(t.node(y)[1], p.dtype, d, kind="input"))
                    have.add(t.node(y)[1])
        for x in tensors:
            for d in x.dims:
                axes |= {a: t.sizes[a] for a in d if a not in added}
        for target in targets:
            axes |= {a: t.sizes[a] for y in t.walk(target.term) for a in t.dims(y) if a not in added}
            axes |= {t.node(r)[2]: t.sizes[t.node(r)[2]] for r in t.closure(target.term) if t.node(r)[2] not in added}
        return MuGraph(p.name, tuple(sorted((axes | added).items())), tuple(tensors), tuple(kernels))
