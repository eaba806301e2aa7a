"""The search: from a lowered program to candidate µGraphs, best first.

Structures come from the reduction systems of each kernel; kernels come from the cut sets; tiles and splits instantiate
them. Costs of kernels add up, so the best combinations of a cut set are read off sorted lists with a heap. "Best first"
holds up to the bound of the estimate and within the limits that `SearchCounts` names.
"""

from __future__ import annotations

import gc
import hashlib
import heapq
import time
from bisect import insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import islice

from mirage.meaning.exp_shift import insert_shifts
from mirage.mugraph.check import SM_90, Limits, broken_rule
from mirage.mugraph.grammar import CustomKernel, MuGraph
from mirage.mugraph.readable_names import ReadableNames
from mirage.results.progress import CancelToken, Progress, ProgressCounts
from mirage.search.checkpoint import Checkpoint
from mirage.search.cuts import Cut, cut_candidates, cut_sets, descend, starts
from mirage.search.executor import Executor, Serial
from mirage.search.kernel_pieces import Piece, Target
from mirage.search.limits import Guard, Stopped
from mirage.search.problem import Bounds, Cost, Problem, assemble, fork
from mirage.search.rewritten_cuts import respelled
from mirage.search.subproblems import Key, Part, SharedWork

__all__ = ["Bounds", "Candidate", "Cost", "Problem", "Search", "SearchCounts", "cheapest"]

HOPELESS = 2.5  # a cut set whose best estimate is this many times the best so far is not instantiated
FAR = float("inf")


@dataclass(frozen=True)
class Candidate:
    """A µGraph with its estimated time (µs), a label for people, and the structure it instantiates."""

    mugraph: MuGraph
    us: float
    label: str
    structure: str


@dataclass
class SearchCounts:
    """The counts of a search. `exhaustive` is False when a limit cut it, and `limits` says which."""

    values: int = 0
    systems: int = 0
    structures: int = 0
    mugraphs: int = 0
    parts: int = 0  # kernels searched
    resumed: int = 0  # of them taken from a checkpoint
    cut_sets: int = 0
    shifts: int = 0
    seconds: float = 0.0
    exhaustive: bool = True
    limits: list[str] = field(default_factory=list)

    def stop(self, limit: str) -> None:
        self.exhaustive = False
        if limit not in self.limits:
            self.limits.append(limit)

    def __add__(self, other: SearchCounts) -> SearchCounts:
        """Of two searches for one program."""
        sums = {f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)}
        limits = list(dict.fromkeys(sums["limits"]))
        return SearchCounts(**sums | {"exhaustive": self.exhaustive and other.exhaustive, "limits": limits})


def reported(c: SearchCounts) -> ProgressCounts:
    """The counts that are told while the search runs."""
    return ProgressCounts(
        values=c.values, systems=c.systems, parts=c.parts, resumed=c.resumed, cut_sets=c.cut_sets, mugraphs=c.mugraphs
    )


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


def distinct(candidates: list[Candidate]) -> list[Candidate]:
    """Each µGraph once: several cut sets may come to the same kernels."""
    seen: dict[tuple[float, str], list[MuGraph]] = {}
    out = []
    for c in candidates:
        same = seen.setdefault((c.us, c.label), [])
        if c.mugraph not in same:
            same.append(c.mugraph)
            out.append(c)
    return out


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
    """One search. `run` yields candidates, each better than the ones before; `best` holds them all, best first. With a
    `checkpoint` finished parts are kept there and taken from there; `executor` says where parts are searched, `limits` what a block
    may use on the device."""

    def __init__(
        self, problem: Problem, cost: Cost, *, bounds: Bounds | None = None, cancel: CancelToken | None = None,
        progress: Callable[[Progress], None] | None = None, checkpoint: Checkpoint | None = None,
        executor: Executor | None = None, limits: Limits = SM_90,
    ) -> None:  # fmt: skip
        self.limits = limits
        self.problem, self.bounds = problem, bounds or Bounds()
        self.cancel = cancel or CancelToken()
        self.progress = progress or (lambda _: None)
        self.checkpoint = checkpoint
        self.executor = executor or Serial()
        self.counts = SearchCounts()
        self.best: list[Candidate] = []
        self.tried: list[tuple[int, ...]] = []  # the cut sets that were tried, as numbers of cuts
        self._parts: dict[Key, Part] = {}
        self._checked: dict[object, bool] = {}
        self._names = ReadableNames()
        self._least: dict[tuple[Cut, ...], float] = {}  # the best estimate of a cut set
        self._costs: list[float] = []  # of all candidates, sorted
        self.by_stages: dict[int, Candidate] = {}  # the best one for each number of values that kernels make
        self._first: Candidate | None = None  # the answer before the ranking
        self._us = FAR  # the best estimate so far
        self.key = self._identity()  # now: the search adds terms to the arena
        self.guard = Guard(self.cancel, FAR, 1 << 62, armed=False)
        self.cuts: list[Cut] = []
        self.partitioned = False
        outputs = self._prepare()
        self.work = SharedWork(replace(problem, t=fork(problem.t)), outputs, self._all_cuts, self.bounds, cost, limits)

    def run(self) -> Iterator[Candidate]:
        bounds = self.bounds
        self.guard = Guard(self.cancel, bounds.seconds, bounds.memory << 20, armed=False)
        if self.checkpoint is not None:
            self.checkpoint.open(self.key)
        frozen = gc.get_freeze_count()
        try:
            yield from self._walk(self._cut_sets())
        except Stopped:
            pass
        finally:
            self.executor.close()
            if not frozen:
                gc.unfreeze()
        if self.guard.stopped:
            self.counts.stop(self.guard.stopped)
        if self.checkpoint is not None:
            self.checkpoint.close(self.guard.stopped)
        if not self.best and self._first is not None:
            self.best = [self._first]
        if not self.best and self.guard.stopped:
            yield from self._least_of_all()
        self.best.sort(key=lambda c: (c.us, len(c.mugraph.kernels), c.label))
        self.best = kept(distinct(self.best), bounds.keep)
        self.counts.mugraphs = max(self.counts.mugraphs, len(self.best))
        self.counts.seconds = time.monotonic() - self.guard.start
        self._report()

    def _walk(self, cut_sets: Iterable[tuple[Cut, ...]]) -> Iterator[Candidate]:
        """Every cut set in turn: its parts, then their combinations."""
        bounds = self.bounds
        best_with: dict[int, float] = {}  # number of cuts -> best estimate
        calls_only = (
            False  # no further cut helps by itself; what PyTorch computes by one call takes its operands and its result
        )
        for chosen in cut_sets:
            self.guard.armed = bool(self.best or self._first)
            self.guard.check()
            n = len(chosen)
            if not self.partitioned and n > 1 and best_with.get(n - 1, FAR) >= best_with.get(n - 2, FAR) < FAR:
                self.counts.stop("no further cuts: the last one did not help")
                calls_only = True
            if calls_only and not self.work.has_call(self.problem.t, chosen):
                continue
            some = False
            for targets in self.work.groupings(self.problem.t, chosen):
                if len(targets) > bounds.kernels:
                    continue
                if not some:
                    self.tried.append(tuple(c.number for c in chosen))
                    self.counts.cut_sets = len(self.tried)
                some = True
                yield from self._answers(targets, chosen)
                best_with[n] = min(best_with.get(n, FAR), self._least.get(chosen, FAR))
                if self.guard.stopped:
                    return
            if not some:
                continue
            gc.freeze()  # what is kept is not looked at again: collections stay short, and with them the time to cancel
        if len(self.cuts) > bounds.cuts and not self.partitioned:
            self.counts.stop(f"at most {bounds.cuts} cuts")

    def _answers(self, targets: list[Target], chosen: tuple[Cut, ...]) -> Iterator[Candidate]:
        """The combinations of kernels for these targets: their parts are searched, then joined. Yields what is better than
        all before."""
        keys = [self.work.key(self.problem.t, target, chosen) for target in targets]
        if not self.best and self._first is None:
            yield from self._early(targets, keys)
        self._search(keys)
        for candidate in self._combinations(targets, [self._parts.get(key, Part()).pieces for key in keys]):
            self.best.append(candidate)
            if len(targets) not in self.by_stages or candidate.us < self.by_stages[len(targets)].us:
                self.by_stages[len(targets)] = candidate
            insort(self._costs, candidate.us)
            self._least[chosen] = min(self._least.get(chosen, FAR), candidate.us)
            self.guard.armed = True
            if candidate.us < self._us:
                self._us = candidate.us
                self._report()
                yield candidate

    def _prepare(self) -> tuple[Target, ...]:
        """The outputs with their shifts; the places to cut, and whether the program is too large to search whole."""
        p, t, bounds = self.problem, self.problem.t, self.bounds
        outputs, shifted = [], set[int]()
        for o in p.outputs:
            self.cancel.check()
            term, arguments = insert_shifts(t, o.term)
            self.counts.shifts += len(arguments)
            shifted.update(arguments)
            outputs.append(Target(o.tensor, term, o.dims, o.dtype, o.kind))
        roots = [o.term for o in outputs]
        self.cuts = cut_candidates(t, roots, shifted)
        self._all_cuts = tuple(self.cuts)
        reductions = len(frozenset().union(*(t.closure(x) for x in roots)))
        operands, places = any(c.operand for c in self.cuts), len(self.cuts)
        self.partitioned = reductions > bounds.reductions and operands
        if self.partitioned:
            self.counts.stop(f"{reductions} reductions, more than {bounds.reductions}: in parts, joined greedily")
        elif p.calls and operands and places > bounds.cuts > 0:
            self.partitioned = True
            self.counts.stop(
                f"{places} values to keep between calls, more than {bounds.cuts}: in parts, joined greedily"
            )
        elif len(self.cuts) > bounds.cut_candidates:
            self.cuts = self.cuts[: bounds.cut_candidates]
            self.counts.stop(f"more than {bounds.cut_candidates} places to cut")
        if not self.partitioned:
            every, whole = respelled(
                t, roots, self._all_cuts, shifted, self.cancel, limit=min(bounds.systems, 1000), most=bounds.spellings
            )
            self._all_cuts = tuple(every)
            self.cuts = [c for c in every if c.instead or c.number < len(self.cuts)]
            if not whole:
                self.counts.stop(f"{bounds.spellings} values to keep of other spellings")
        return tuple(outputs)

    def _cut_sets(self) -> Iterator[tuple[Cut, ...]]:
        if self.partitioned:
            return descend(self.problem.t, self.cuts, lambda chosen: self._least.get(chosen, FAR))
        return cut_sets(self.cuts, max(self.bounds.cuts, 0))

    def targets(self, chosen: Iterable[Cut]) -> list[Target]:
        """The kernels to find for a cut set, in launch order."""
        return self.work.targets(self.problem.t, chosen)

    def best_kernels(self, tensor: str) -> float | None:
        """The least estimate (µs) of custom kernels that compute one tensor, among the parts that were searched."""
        parts = [part for key, part in self._parts.items() if key.tensors == (tensor,)]
        found = [us for part in parts for us, p in part.pieces if any(isinstance(k, CustomKernel) for k in p.kernels)]
        return min(found, default=None)

    def _identity(self) -> str:
        """Identifies the problem and the bounds: a checkpoint of another key is of no use. Time and memory do not count, since
        a part that they cut short is not kept."""
        t = self.problem.t
        bounds = replace(self.bounds, seconds=0.0, memory=0)
        parts = [repr(bounds), repr(self.limits), *(t.show(o.term, 200) for o in self.problem.outputs)]
        parts += [repr(sorted(t.sizes.items())), repr(self.problem.inputs), self.problem.dtype]
        parts += map(repr, self.problem.calls)
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def _report(self) -> None:
        best = f"{self._us:.1f} µs" if self._us < FAR else ""
        self.progress(Progress("searching", reported(self.counts), best))

    def _search(self, keys: Sequence[Key]) -> None:
        """Find the parts that are not known: in the checkpoint, or by searching."""
        todo = []
        for key in dict.fromkeys(keys):
            if key in self._parts:
                continue
            part = self.checkpoint.get(key) if self.checkpoint is not None else None
            if part is None:
                todo.append(key)
            else:
                self.counts.resumed += 1
                self._take(key, part)
                if part.stopped:
                    self.guard.stopped = part.stopped
                    return
        for key, part in zip(todo, self.executor.parts(self.work, todo, self.guard), strict=True):
            self._take(key, part)
            if part.stopped:  # it is not whole; what it has is used
                self.guard.stopped = part.stopped
                if self.checkpoint is not None:
                    self.checkpoint.put_stopped(key, part)
                return
            if self.checkpoint is not None:
                self.checkpoint.put(key, part)

    def _take(self, key: Key, part: Part) -> None:
        self._parts[key] = part
        c = self.counts
        c.parts += 1
        c.values, c.systems = c.values + part.values, c.systems + part.systems
        c.structures, c.mugraphs = c.structures + part.structures, c.mugraphs + part.mugraphs
        for limit in part.limits:
            c.stop(limit)
        self._report()

    def _early(self, targets: list[Target], keys: list[Key]) -> Iterator[Candidate]:
        """For each target the first valid piece of the first structure that has one, before all of them are ranked: an answer
        at once. It comes again in its order, unless there are enough of better structures."""
        us, pieces = self.work.calls_us, []
        if not targets:
            return
        for target, key in zip(targets, keys, strict=True):
            found = next((x for x in self.work.first(key, self.guard) if self._valid(target, x[1])), None)
            if found is None:
                return
            us += found[0]
            pieces.append(found[1])
        if sum(len(piece.kernels) for piece in pieces) <= self.bounds.kernels:
            self._us = us
            self._first = self._candidate(targets, pieces, us)
            self.best = [self._first]
            self._report()
            yield self._first
            self.best = []

    def _least_of_all(self) -> Iterator[Candidate]:
        """An answer where a bound was reached before there was one: few structures, few tiles, and no more than one."""
        few = replace(self.bounds, systems=8, structures=2, tilings=2, per_kernel=4)
        self.work, self._parts = replace(self.work, bounds=few), {}
        for chosen in (*starts(self.problem.t, self._all_cuts), *islice(self._cut_sets(), 8)):
            targets = self.targets(chosen)
            for target in targets:
                key = self.work.key(self.problem.t, target, chosen)
                self._parts[key] = self.work.search(key, self.guard)
            lists = [self._parts[self.work.key(self.problem.t, x, chosen)].pieces for x in targets]
            found = next(self._combinations(targets, lists), None)
            if found is not None:
                self.best, self._us = [found], found.us
                yield found
                return

    def _combinations(
        self, targets: list[Target], lists: Sequence[Sequence[tuple[float, Piece]]]
    ) -> Iterator[Candidate]:
        """The cheapest combinations of one piece a target, in order of cost."""
        if not lists or any(not pieces for pieces in lists):
            return  # without targets nothing but calls is left
        keep = self.bounds.keep
        least = sum(pieces[0][0] for pieces in lists) + self.work.calls_us
        if len(self.best) >= keep and least > HOPELESS * self._costs[0]:
            self.counts.stop(f"cuts whose best estimate is more than {HOPELESS:g} times the best")
            return
        yielded: set[tuple[int, ...]] = set()
        for pieces, cost in self._choices(targets, lists):
            if len(yielded) >= keep or (yielded and len(self._costs) >= keep and cost > self._costs[keep - 1]):
                break  # as many are better
            yielded.add(tuple(map(id, pieces)))
            yield self._candidate(targets, pieces, cost)
        for pieces, cost in islice(self._choices(targets, lists, each=True), keep):
            if tuple(map(id, pieces)) not in yielded:
                yield self._candidate(targets, pieces, cost)

    def _choices(
        self, targets: list[Target], lists: Sequence[Sequence[tuple[float, Piece]]], *, each: bool = False
    ) -> Iterator[tuple[list[Piece], float]]:
        """Combinations of one valid piece of each list, in order of cost. `each`: of the cheapest of each structure."""
        valid: list[list[Piece]] = [[] for _ in lists]

        def costs(i: int) -> Iterator[float]:
            seen: set[str] = set()
            for us, piece in lists[i]:
                if not (each and piece.structure in seen) and self._valid(targets[i], piece):
                    seen.add(piece.structure)
                    valid[i].append(piece)
                    yield us

        for cost, choice in cheapest([costs(i) for i in range(len(lists))]):
            self.guard.check()
            pieces = [valid[i][j] for i, j in enumerate(choice)]
            if sum(len(piece.kernels) for piece in pieces) <= self.bounds.kernels:
                yield pieces, cost + self.work.calls_us

    def _candidate(self, targets: list[Target], pieces: list[Piece], cost: float) -> Candidate:
        label, structure = "; ".join(p.label for p in pieces), "|".join(p.structure for p in pieces)
        graph = self._names.of(assemble(self.problem, self.problem.t, targets, pieces, whole=True))
        return Candidate(graph, cost, label, structure)

    def _valid(self, target: Target, piece: Piece) -> bool:
        """True if the piece keeps the validity rules. Asked only of pieces that the heap reaches: it costs more than an estimate."""
        self.guard.check()
        key = (target.term, piece.label, piece.structure, piece.kernels)
        if key not in self._checked:
            self._checked[key] = (
                broken_rule(assemble(self.problem, self.problem.t, [target], [piece], alone=True), self.limits) is None
            )
        return self._checked[key]
