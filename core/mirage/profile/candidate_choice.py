"""The choice among a search's candidates by their times on a GPU, beside the baselines that a user would run instead."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path

from mirage.devices.table import device
from mirage.errors import EmissionRefused
from mirage.ir.program import Program
from mirage.isolate.cores import usable_cores
from mirage.mugraph.capacity import Limits
from mirage.mugraph.grammar import MuGraph
from mirage.plan import plan
from mirage.plan.copied_tiles import other_loads
from mirage.profile.launch_variants import Plan, Variant, closer, leads, neighbors, turned
from mirage.profile.roofline import ATTENTION, memory_floor
from mirage.profile.worker_tasks import Call, ModuleRow, TimingRow, TuneAnswer, tune
from mirage.results.baselines import BASELINES, EAGER
from mirage.results.result import Measurement
from mirage.search.engine import Candidate

KEPT = 2048  # candidates of a search that a GPU chooses from, so that most tiles of the best structures are among them
COUNT, STRUCTURES = 20, 6  # candidates, and structures, that are timed as they came
LEAD, MORE = (
    5,
    16,
)  # so many of the fastest come with all numbers of stages, and with so many others of their structures
AGAIN = 8  # are timed again beside those
STEPS, NEAREST, STEP = 3, 3, 12  # from the fastest few to so many neighbors, so often while they are faster
BETTER = 0.99
SECONDS, STEP_SECONDS, MORE_SECONDS = 10.0, 3.0, 6.0  # of compiling and checking, in the first call, a step, the last
FLOOR = 1.05  # times what the bytes take: nothing of ours is faster by more than that
KNOWN = 8  # measured variants, from which on the least of measured over estimated says how far the model errs
RESTARTS = 4
SKIPPED = "not run"  # in the words of the task
EQUAL = 0.97  # a kernel with so much of the best baseline's time or less is faster; the rest is noise
Emit = Callable[[MuGraph], str]


def gpu_here() -> bool:
    """Whether this machine has an NVIDIA driver: asking torch would take seconds."""
    return Path("/dev/nvidiactl").exists()


@dataclass(frozen=True)
class Tried:
    """A variant, its module, and what the GPU said: `row` as the worker's task "tune" gives it."""

    variant: Variant
    text: str
    row: ModuleRow


@dataclass(frozen=True)
class Measured:
    """`candidates` fastest first, `us` what was measured; the median cold `peers` in µs, `read` a plain read of the inputs; how
    many variants ran, and why others did not. All that `ran`, the `times` of the last ones by their text; the `seconds` until
    the choice (without the baselines, which took `baselines_s`), and until the `first` was right and timed."""

    candidates: tuple[Candidate, ...]
    peers: dict[str, float]
    read: float
    device: str
    tried: int
    dropped: tuple[str, ...]
    ran: tuple[Tried, ...] = ()
    times: dict[str, TimingRow] = field(default_factory=dict)
    seconds: float = 0.0
    first: float = 0.0
    notes: tuple[str, ...] = ()
    baselines_s: float = 0.0

    @property
    def peer(self) -> str:
        """The best baseline; "" where none of them could run."""
        return min(self.peers, key=self.peers.__getitem__, default="")

    @property
    def against(self) -> str:
        """The best baseline in words."""
        return self.peer or "the estimate as written"

    def baseline(self, estimated: float) -> float:
        """The µs of the best baseline; those `estimated` of the function as written where none could run."""
        return self.peers.get(self.peer, estimated)

    def standing(self, estimated: float) -> float:
        """The µs of what the user has: the function as written, or where that could not run, the best baseline."""
        return self.peers.get(EAGER, self.baseline(estimated))

    @property
    def better(self) -> str:
        """The best baseline, if it is faster than the function as written by more than noise; "" where it is not, or where the
        function as written has no time."""
        best = self.peer
        other = EAGER in self.peers and BASELINES[best].answer != "keep"
        return best if other and self.peers[best] < EQUAL * self.peers[EAGER] else ""

    def limit(self, estimated: float) -> float:
        """The µs below which a kernel is the answer: faster than what the user has by more than noise, and no slower than a
        `better` baseline by more than that."""
        bound = EQUAL * self.standing(estimated)
        return min(bound, self.peers[self.better] / EQUAL) if self.better else bound

    @property
    def measurement(self) -> Measurement:
        """For the result: the times, without the candidates."""
        return Measurement(dict(self.peers), self.read, self.tried, tuple(self.dropped[:8]))


@dataclass
class Tuner:
    """Asks the GPU's worker for one function at one size; `call` asks its task "tune", of a fresh process after a broken one.
    `written`: the text of a module without kernels, by which the baselines are timed where no other text is right."""

    function: str
    target: str
    attention: bool
    call: Call
    written: str = ""
    seconds: float = 0.0
    first: float = 0.0
    baselines_s: float = 0.0
    missing: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def ask(
        self, texts: Sequence[str], *, last: bool, until: float, prepare: bool = False
    ) -> tuple[TuneAnswer, list[ModuleRow]]:
        """The last answer, with its `times` by the texts' own index, and a row of each text. What breaks the worker is left
        out of the next try. `prepare`: the baselines get ready meanwhile."""
        rows: list[ModuleRow] = [{} for _ in texts]
        left = list(range(len(texts)))
        alone = False
        for _ in range(RESTARTS):
            asked = time.monotonic()
            answer = tune(
                self.call,
                {
                    "texts": [texts[i] for i in left],
                    "function": self.function,
                    "target": self.target,
                    "processes": max(1, usable_cores() - 1),
                    "seconds": until,
                    "last": last,
                    "compiled": True,
                    "attention": self.attention,
                    "written": self.written,
                    "without": list(self.missing),
                    "alone": alone,
                    "prepare": prepare,
                },
            )
            if not answer["device"]:
                return answer, rows
            for i, row in zip(left, answer["rows"], strict=True):
                rows[i] = row
            self.first = self.first or self.seconds + answer.get("first", 0.0)
            self.seconds += answer.get("seconds", 0.0)
            self.baselines_s += answer.get("prepared", 0.0)
            if last:
                self.baselines_s += max(0.0, time.monotonic() - asked - answer.get("seconds", 0.0))
            times = {str(left[int(k)]) if k.isdigit() else k: t for k, t in answer["times"].items()}
            self.notes += [x for x in answer.get("notes", []) if x not in self.notes]
            known = len(self.missing)
            self.missing |= answer.get("missing", {})
            if not answer.get("broken"):
                break
            right = [i for i in left if rows[i].get("failed", SKIPPED) == SKIPPED]
            alone = len(right) == len(left) and len(self.missing) == known  # nobody knows yet what broke it
            left = right
        return {**answer, "times": times}, rows


def lead(candidate: Candidate, program: Program, function: str, emit: Emit, call: Call, target: str) -> None:
    """Lets the worker compile, check and time what a search has found so far, while the search goes on: it then knows that."""
    texts = []
    with suppress(EmissionRefused):
        texts = [emit(v.mugraph) for v in leads([candidate], partial(plan, dev=device(target)), 0, 1)]
    if texts:
        Tuner(function, target, attention(program), call).ask(texts, last=False, until=SECONDS)


def attention(program: Program) -> bool:
    """Whether the function calls PyTorch's fused attention: its backends are peers then."""
    return any(n.op == ATTENTION for n in program.nodes)


def measured(
    best: Sequence[Candidate], program: Program, function: str, emit: Emit, call: Call, target: str,
    *, as_they_are: bool = False, written: str = "",
) -> Measured | None:  # fmt: skip
    """Tunes a search's candidates on this machine's GPU, or times them `as_they_are`: first the leading ones, then what is
    near the fastest of them. None where there is no GPU of that target. A variant that is wrong on the GPU never comes
    back; nor does one without a time. The baselines are timed without a candidate too, by the text `written`."""
    planned = partial(plan, dev=device(target))
    tuner = Tuner(function, target, attention(program), call, written)
    other = partial(other_loads, limits=Limits.of(device(target)))
    choice = _Choice(best, emit, planned, tuner, partial(memory_floor, device=device(target)), other)
    final = choice.unchanged() if as_they_are or not best else choice.near_the_fastest()
    if final is None:
        return None
    answer = choice.ask(final, last=True, until=MORE_SECONDS)
    return choice.result(list(final), answer, as_they_are) if answer["device"] else None


@dataclass
class _Choice:
    """One tuning: what the GPU said so far of each text (`known`)."""

    best: Sequence[Candidate]
    emit: Emit
    planned: Plan
    tuner: Tuner
    moved: Callable[[MuGraph], float]  # the µs that a candidate's bytes take
    other: Plan  # loads the tiles the other way
    known: dict[str, Tried] = field(default_factory=dict)

    @cached_property
    def floor(self) -> float:
        """The µs below which no candidate is: what the bytes of the structure take that moves the fewest."""
        first = {c.structure: c for c in reversed(self.best)}
        return min((self.moved(c.mugraph) for c in first.values()), default=0.0)

    def done(self) -> bool:
        """Whether the fastest so far takes no longer than its bytes."""
        order = by_time(self.known)
        return bool(order) and order[0].row["cold"] <= FLOOR * self.floor

    def promising(self, some: dict[str, Variant]) -> dict[str, Variant]:
        """Those that can be the fastest, if the model errs for them as for the one that it rated too slow by most."""
        order = by_time(self.known)
        if len(order) < KNOWN:
            return some
        least = min(t.row["cold"] / t.variant.us for t in order)
        return {text: v for text, v in some.items() if v.us * least <= order[0].row["cold"]}

    def emitted(self, some: Sequence[Variant]) -> dict[str, Variant]:
        found: dict[str, Variant] = {}
        for v in some:
            with suppress(EmissionRefused):
                found.setdefault(self.emit(v.mugraph), v)
        return found

    def new(self, some: Sequence[Variant]) -> dict[str, Variant]:
        """Those whose texts are not yet known and that are `promising`."""
        return self.promising({text: v for text, v in self.emitted(some).items() if text not in self.known})

    def ask(self, some: dict[str, Variant], *, last: bool, until: float, prepare: bool = False) -> TuneAnswer:
        texts = list(some)
        answer, rows = self.tuner.ask(texts, last=last, until=until, prepare=prepare)
        self.known.update({t: Tried(some[t], t, row) for t, row in zip(texts, rows, strict=True)})
        return answer

    @property
    def ranks(self) -> set[int]:
        return {t.variant.rank for t in self.known.values()}

    def unchanged(self) -> dict[str, Variant]:
        """The candidates as they are."""
        pairs = enumerate(self.best)
        return self.emitted([Variant(i, self.planned(c.mugraph), c.us, c.structure, c.label, 0, 0) for i, c in pairs])

    def near_the_fastest(self) -> dict[str, Variant] | None:
        """What the last round times: the fastest of the leading candidates and their neighbors, and what is near them."""
        best, planned = self.best, self.planned
        with ThreadPoolExecutor(1) as beside:  # the model's first is compiled and checked while the others are planned
            ahead = beside.submit(self.ask, self.emitted(leads(best[:1], planned, 0, 1)), last=False, until=SECONDS)
            every = leads(best, planned, COUNT, STRUCTURES)
            rest = self.emitted(
                [*every, *turned(every[:1], self.other)]
            )  # should one way to load not run, another does
        if not ahead.result()["device"]:
            return None
        rest = {text: v for text, v in rest.items() if text not in self.known}
        if rest and not self.done() and not self.ask(rest, last=False, until=SECONDS, prepare=True)["device"]:
            return None
        order = self.stepped()
        again = [*[t for t in self.known.values() if "cold" in t.row][:1], *order[:AGAIN]]
        if self.done():
            return {t.text: t.variant for t in again}
        near = self.new(closer(best, planned, [t.variant for t in order[:LEAD]], self.ranks, MORE, self.other))
        return {t.text: t.variant for t in again} | near

    def stepped(self) -> list[Tried]:
        """The order after steps from the fastest to their neighbors, as long as these are faster."""
        order = by_time(self.known)
        for _ in range(0 if self.done() else STEPS):
            fastest = [t.variant for t in order[:NEAREST]]
            step = self.new(neighbors(self.best, self.planned, fastest, self.ranks, STEP))
            if not step or not self.ask(step, last=False, until=STEP_SECONDS)["device"]:
                break
            before, order = order, by_time(self.known)
            if not order or not before or order[0].row["cold"] > BETTER * before[0].row["cold"]:
                break
        return order

    def result(self, texts: list[str], answer: TuneAnswer, own_labels: bool) -> Measured:
        """Everything that ran, by its time in the last round where it was in that."""
        times = answer["times"]
        places = {t: str(i) for i, t in enumerate(texts)}
        timed = []
        for n, (text, t) in enumerate(self.known.items()):
            if "cold" in t.row:
                full = places.get(text) in times  # the last round's times are the best known
                us = times[places[text]]["cold"] if full else t.row["cold"]
                timed.append((not full, us, n, t.variant))
        candidates = []
        for _, us, _, v in sorted(timed, key=lambda x: x[:3]):
            label = v.label if own_labels else v.name
            candidates.append(replace(self.best[v.rank], mugraph=v.mugraph, us=us, label=label))
        return Measured(
            tuple(candidates),
            {k: t["cold"] for k, t in times.items() if not k.isdigit() and k != "read"},
            times["read"]["cold"] if "read" in times else 0.0,
            answer["device"],
            len(timed),
            tuple(f"{t.variant.name}: {why(t.row)}" for t in self.known.values() if "cold" not in t.row),
            tuple(self.known.values()),
            {texts[int(k)]: t for k, t in times.items() if k.isdigit()},
            self.tuner.seconds,
            self.tuner.first,
            (*self.tuner.notes, *(f"{name} could not be timed: {said}" for name, said in self.tuner.missing.items())),
            self.tuner.baselines_s,
        )


def by_time(known: dict[str, Tried]) -> list[Tried]:
    """Those that have a time, the fastest first."""
    return sorted((t for t in known.values() if "cold" in t.row), key=lambda t: float(t.row["cold"]))


def why(row: ModuleRow) -> str:
    """Why a variant has no time."""
    return str(row["failed"]) if "failed" in row else f"wrong by {row['error']:.2g} of the largest value"
