"""A derivation: from the program's terms to what a µGraph means, goal by goal, and the check that it arrives there.

The meaning of a µGraph is, for each stage (the kernels that make one kept value or output), its terms with the sizes erased,
and one equation for each carried accumulator (its update law, the online rescale). A goal is one of these; `replay`
applies every step again and compares the ends with the µGraph's own meaning, worked out afresh.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from mirage.derivation.find_steps import DerivationFinder, NoProof
from mirage.derivation.laws import STEPS, Broken, KeptValue, as_args, bindings, renamed
from mirage.derivation.replay import Step, replay_steps
from mirage.derivation.schedule_steps import Tiling, check_tilings, tilings
from mirage.errors import DerivationBroken
from mirage.ir.index import DimIndex
from mirage.meaning.exp_shift import guard, shifts, substitute
from mirage.meaning.laws import LET, SHIFT, SPLIT
from mirage.meaning.terms import Terms
from mirage.mugraph.check import SM_90, Limits, broken_rule
from mirage.mugraph.grammar import (
    Compute,
    CustomKernel,
    DTensor,
    LibraryKernel,
    Load,
    Loop,
    MuGraph,
    Statement,
    Store,
    ThreadGraph,
)
from mirage.search.cuts import Cut, cut_candidates, depth, number_of
from mirage.verify.semantics.denote import Denoted, NotDenoted, denote, same_axes

Dims = tuple[tuple[str, ...], ...]
Targets = dict[str, tuple[int, Dims]]  # output tensor -> (term, axes of its dims)
Kind = Literal["input", "temp", "output"]
PROGRAM, KERNEL, UPDATE = "program", "kernels for", "online rescale"


@dataclass(frozen=True)
class Goal:
    """`start` = `end` by `steps`. kind "program": an output as a term over the values that are kept; "kernels for": a kept value
    or output as its kernels compute it; "online rescale": a carried accumulator's body at a new value of what it
    reads, from its body at the old one."""

    kind: str
    name: str
    start: int
    end: int
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Derivation:
    """The goals, and the choices that give the result its schedule. `kept`: names of kept values, in launch order. Ids are
    of one arena (`portable.to_json` writes them for others)."""

    goals: tuple[Goal, ...]
    kept: tuple[str, ...] = ()
    schedule: tuple[Tiling, ...] = ()

    @property
    def laws(self) -> list[str]:
        """The names of the laws used, each once, in order."""

        def names(steps: tuple[Step, ...]) -> list[str]:
            return [n for s in steps for n in (s.law, *(m for p in s.parts for m in names(p.steps)))]

        return list(dict.fromkeys(n for g in self.goals for n in names(g.steps)))


def statements(k: CustomKernel) -> list[Statement]:
    bodies = [k.block.body, *([k.tail.body] if k.tail else [])]
    flat = [x for body in bodies for s in body for x in (s.body if isinstance(s, Loop) else (s,))]
    return [c for x in flat for c in (x.body if isinstance(x, ThreadGraph) else (x,))]


def customs(mugraph: MuGraph) -> list[CustomKernel]:
    return [k for k in mugraph.kernels if isinstance(k, CustomKernel)]


def writes(k: CustomKernel | LibraryKernel) -> set[str]:
    return {k.out} if isinstance(k, LibraryKernel) else {x.tensor for x in statements(k) if isinstance(x, Store)}


def stages(mugraph: MuGraph, kept: tuple[str, ...]) -> list[tuple[tuple[str, ...], MuGraph]]:
    """The µGraph of each kept value and of each output (of all outputs together where temporaries are not all parts of one
    stage), earlier ones being inputs."""
    ends = [*kept, *(x.name for x in mugraph.outputs)]
    found: list[tuple[tuple[str, ...], MuGraph]] = []
    kernels: list[CustomKernel | LibraryKernel] = []
    done: set[str] = set()
    for k in mugraph.kernels:
        kernels.append(k)
        names = tuple(n for n in ends if n in writes(k))
        if not names:
            continue
        kind: dict[str, Kind] = {}
        for n in (*done, *names):
            kind[n] = "output" if n in names else "input"
        tensors = tuple(
            replace(x, kind=kind.get(x.name, "temp" if x.kind == "output" else x.kind)) for x in mugraph.tensors
        )
        found.append((names, replace(mugraph, tensors=tensors, kernels=tuple(kernels))))
        done |= set(names)
        kernels = []
    return found


def meanings(
    t: Terms, dims: dict[str, Dims], mugraph: MuGraph, kept: tuple[str, ...]
) -> list[tuple[tuple[str, ...], Denoted]]:
    """The meaning of each stage; its outputs over the axes that `dims` gives."""
    out = []
    for names, stage in stages(mugraph, kept):
        m = denote(t, stage)
        for n in names:
            term, have = m.outputs[n]
            m.outputs[n] = same_axes(t, term, have, dims[n]), dims[n]
        out.append((names, m))
    return out


def held_cuts(t: Terms, outputs: Targets, mugraph: MuGraph) -> list[tuple[Cut, DTensor]]:
    """The µGraph's temporaries that hold a cut's value, over its axes."""
    cuts = {c.number: c for c in cut_candidates(t, [x for x, _ in outputs.values()])}
    held: list[tuple[Cut, DTensor]] = []
    for x in mugraph.tensors:
        number = number_of(x.name) if x.kind == "temp" else None
        cut = None if number is None else cuts.get(number)
        if cut is not None and t.dims(cut.term) == set(axes_of(x.dims)):
            held.append((cut, x))
    return held


def kept_values(t: Terms, outputs: Targets, mugraph: MuGraph) -> tuple[dict[str, int], dict[str, int]]:
    """The values that the µGraph's temporaries hold, those that are no partial results, by the cuts that the search may
    make; and the outputs over them."""
    held = held_cuts(t, outputs, mugraph)
    reads = {(x.tensor, x.index) for k in customs(mugraph) for x in statements(k) if isinstance(x, Load)}
    done: dict[int, int] = {}
    values: dict[str, int] = {}
    for cut, x in sorted(held, key=lambda h: depth(t, h[0].term)):
        values[x.name] = substitute(t, cut.term, done)
        renamings = [dict(pairs) for _, pairs in cut.again]
        for index in (
            x.dims,
            *(tuple(tuple(names.get(a, a) for a in d) for d in x.dims) for names in renamings),
            *(tuple(d.axes for d in i) for n, i in sorted(reads, key=repr) if n == x.name),
        ):
            try:
                here = renamed(t, cut.term, dict(zip(axes_of(x.dims), axes_of(index), strict=True)))
            except (Broken, ValueError):
                continue
            done[here] = t.input(x.name, tuple(DimIndex(d) for d in index))
    return values, {name: substitute(t, x, done) for name, (x, _) in outputs.items()}


def derive(t: Terms, targets: Targets, mugraph: MuGraph, prover: DerivationFinder | None = None) -> Derivation:
    """The derivation of a µGraph from the program's terms. Raises DerivationBroken where there is none."""
    prover = prover or DerivationFinder(t)
    try:
        goals = _derive(t, targets, mugraph, prover)
    except (NoProof, NotDenoted, Broken) as e:
        raise DerivationBroken(f"no derivation of {mugraph.name} was found: {e}") from None
    return goals


def _derive(t: Terms, targets: Targets, mugraph: MuGraph, prover: DerivationFinder) -> Derivation:
    goals: list[Goal] = []
    prepared: Targets = {}
    first: dict[str, tuple[Step, ...]] = {}
    maxima = any(isinstance(c, Compute) and c.op == "max" for k in customs(mugraph) for c in statements(k))
    for name, (target, dims) in targets.items():
        here, first[name] = shifted(t, target, prover) if maxima else (target, ())
        prepared[name] = here, dims
    values, final = kept_values(t, prepared, mugraph)
    sizes = {x.name: x.dims for x in mugraph.tensors}
    lets = as_args(KeptValue(name, x, axes_of(sizes[name])) for name, x in values.items())
    starts = dict(values)
    for name, (target, _) in targets.items():
        here, end = prepared[name][0], final[name]
        let = (Step(LET, here, end, False, lets),) if end != here else ()
        goals.append(Goal(PROGRAM, name, target, end, first[name] + let))
        starts[name] = end
    stored = {name: d for name, (_, d) in targets.items()} | {name: sizes[name] for name in values}
    for names, m in meanings(t, stored, mugraph, tuple(values)):
        for name in names:
            here = starts[name]
            steps: tuple[Step, ...] = ()
            for axis, pair in m.splits.items():
                if any(axis in t.dims(y) for y in t.walk(here)):
                    after = STEPS[SPLIT].apply(t, here, (axis, *pair))
                    steps += (Step(SPLIT, here, after, True, (axis, *pair)),)
                    here = after
            end = m.outputs[name][0]
            goals.append(Goal(KERNEL, name, starts[name], end, steps + prover.prove(here, end)))
        for o in m.obligations:
            goals.append(Goal(UPDATE, f"{names[0]}.{o.accumulator}", o.left, o.right, prover.prove(o.left, o.right)))
    return Derivation(tuple(goals), tuple(values), tilings(mugraph))


def shifted(t: Terms, x: int, prover: DerivationFinder) -> tuple[int, tuple[Step, ...]]:
    """The program with the maxima that the search puts in."""
    here = guard(t, x)
    steps = prover.prove(x, here)
    for e, by, after in shifts(t, here):
        steps += (Step(SHIFT, here, after, True, (e, by)),)
        here = after
    return here, steps


def replay(
    t: Terms, targets: Targets, derivation: Derivation, mugraph: MuGraph, limits: Limits = SM_90
) -> dict[str, int]:
    """Applies every step again, each by its law; the terms that the kernels of each kept value and output compute. Raises
    DerivationBroken, naming the step, where one does not hold, where the end is not what the µGraph computes, and where the
    µGraph breaks a rule of validity within the `limits` of its device."""
    sizes = {x.name: x.dims for x in mugraph.tensors}
    if not set(derivation.kept) <= set(sizes):
        raise DerivationBroken("a kept value that the µGraph has not")
    dims = {name: d for name, (_, d) in targets.items()} | {name: sizes[name] for name in derivation.kept}
    try:
        found = meanings(t, dims, mugraph, derivation.kept)
    except NotDenoted as e:
        raise DerivationBroken(f"{mugraph.name} has no meaning as a term: {e}") from None
    ends = {n: m.outputs[n][0] for names, m in found for n in names}
    updates = {(f"{names[0]}.{o.accumulator}", o.left, o.right) for names, m in found for o in m.obligations}
    values = definitions(derivation, {name: axes_of(dims[name]) for name in derivation.kept})
    ledger = _Ledger(targets, ends, updates)
    for g in derivation.goals:
        place = f"{g.kind} {g.name}:"
        if replay_steps(t, g.start, g.steps, place) != g.end:
            raise DerivationBroken(f"{place} the steps end at another term than it says")
        ledger.enter(g, place)
    ledger.close(derivation, values)
    rule = broken_rule(mugraph, limits)
    if rule is not None:
        name, why = rule
        raise DerivationBroken(f"{mugraph.name} breaks a rule of validity: {name}: {why}")
    check_tilings(mugraph, derivation.schedule)
    return ledger.arrived


@dataclass
class _Ledger:
    """What the goals of a derivation must show, and what they have shown: `reached`, the program's outputs over the kept values;
    `arrived`, the terms that the kernels of each kept value and output compute."""

    targets: Targets
    ends: dict[str, int]
    updates: set[tuple[str, int, int]]
    reached: dict[str, int] = field(default_factory=dict)
    arrived: dict[str, int] = field(default_factory=dict)

    def enter(self, g: Goal, place: str) -> None:
        if g.kind == PROGRAM and g.name in self.targets:
            start, _ = self.targets[g.name]
            if g.start != start:
                raise DerivationBroken(f"{place} the steps do not begin at the program")
            self.reached[g.name] = g.end
        elif g.kind == KERNEL and g.name in self.ends:
            if g.end != self.ends[g.name]:
                raise DerivationBroken(f"{place} the steps do not end at what the µGraph computes")
            self.arrived[g.name] = g.end
        elif g.kind == UPDATE and (g.name, g.start, g.end) in self.updates:
            self.updates.discard((g.name, g.start, g.end))
        else:
            raise DerivationBroken(f"{place} nothing that the µGraph needs")

    def close(self, derivation: Derivation, values: dict[str, int]) -> None:
        """Raises DerivationBroken unless every kernel begins where the program's steps ended, and nothing is missing."""
        wanted = self.reached | values
        for g in derivation.goals:
            if g.kind == KERNEL and g.start != wanted.get(g.name):
                raise DerivationBroken(f"{g.kind} {g.name}: the steps do not begin where the program's ended")
        missing = {*self.targets, *derivation.kept} - set(self.arrived)
        missing |= set(self.targets) - set(self.reached) | {name for name, _, _ in self.updates}
        if missing:
            raise DerivationBroken(f"nothing leads to {', '.join(sorted(missing))}")


def axes_of(dims: Dims) -> tuple[str, ...]:
    return tuple(a for d in dims for a in d)


def definitions(derivation: Derivation, axes: dict[str, tuple[str, ...]]) -> dict[str, int]:
    """The terms of the kept values, as the steps define them; `axes` are those of their tensors."""
    values: dict[str, int] = {}
    for g in derivation.goals:
        place = f"{g.kind} {g.name}"
        try:
            found = [d for s in g.steps if s.law == LET for d in bindings(s.args)]
        except Broken as e:
            raise DerivationBroken(f"{place}: {e}") from None
        for d in found:
            if values.setdefault(d.name, d.term) != d.term:
                raise DerivationBroken(f"{place}: {d.name} is defined twice")
            if axes.get(d.name) != d.axes:
                raise DerivationBroken(f"{place}: {d.name} is not kept along {' '.join(d.axes)}")
    if set(values) != set(derivation.kept):
        raise DerivationBroken("the kept values are not those that the steps define")
    return values
