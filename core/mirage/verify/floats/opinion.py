"""The float opinion: the emitted kernels on inputs of several regimes, their error beside the function's own.

A kernel passes a regime when its error against float64 is at most twice the eager function's own, or within a budget of
its dtype; when it is finite wherever the function as written is finite in float32, and where that overflows for want of a
shift, right by the shifted term; when two runs agree bit by bit, no guard is touched and no access is out of bounds.

An error that is too large by that is judged once more on the same inputs, beside the largest error that the function has on average
when its results are rounded otherwise: of exponentials of large scores few rows show any error, and how much of it there is
with one rounding is chance.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from mirage.errors import MirageError
from mirage.mugraph.grammar import MuGraph
from mirage.mugraph.resized import shrink
from mirage.mugraph.without_calls import calls_of
from mirage.results.details import FloatDetails, RegimeError
from mirage.results.verdict import INTERPRETER, Counterexample, Evidence, Word
from mirage.verify.emitted_module import EmittedModule
from mirage.verify.field.schedule_opinion import expected_outputs, term_only_sizes
from mirage.verify.field.text_opinion import launch_tiles
from mirage.verify.floats.error_limits import NEARLY, ROUNDINGS, Compared, judge
from mirage.verify.floats.launch_sizes import (
    INTEGERS,
    compared_indices,
    contraction,
    first_contraction,
    integer_range,
    launch_sizes,
)
from mirage.verify.floats.regimes import REGIMES, UNIT, Regime, added_masks, round_to
from mirage.verify.floats.shifted_reference import Shifted, Single, instead
from mirage.verify.floats.worker import decode, packed
from mirage.verify.output_terms import OutputTerm
from mirage.verify.semantics.arrays import Array
from mirage.verify.semantics.evaluate_terms import TermEvaluator
from mirage.verify.semantics.float64 import Floats
from mirage.verify.worker_tasks import Ahead, FloatPayload, FloatRun, RunTask, run_floats, run_regimes, run_rounded

TOGETHER = (
    8 << 20
)  # bytes of the inputs and results of regimes that one task runs, of the 64 MiB that a message may have
A_RESULT = (
    24  # most bytes of an element of a result: of the kernels and of the function, in its dtype, float32 and float64
)
Given = Mapping[str, tuple[str, Array]]  # (dtype, float64 values rounded to it) of every parameter


class Failed(Exception):
    """A regime that the kernels do not pass. `unlike`: the kernels ran where the function could not, or gives other shapes."""

    def __init__(self, text: str, shown: Counterexample | None = None, *, unlike: bool = False) -> None:
        super().__init__(text)
        self.text, self.shown, self.unlike = text, shown, unlike


@dataclass(frozen=True)
class SmallLaunch:
    """The µGraph as it is launched, `every` axis' size there, and the lengths of the longest sum (`k`) and of the first
    contraction (`products`)."""

    graph: MuGraph
    every: Mapping[str, int]
    k: int
    products: int

    @property
    def sizes(self) -> dict[str, int]:
        return dict(self.graph.axes)


def small_launch(
    e: EmittedModule, sizes: Mapping[str, int], tiles: Mapping[str, Mapping[str, int]] | None
) -> SmallLaunch:
    graph = shrink(e.mugraph, sizes, tiles)
    every = dict(e.t.sizes) | term_only_sizes(e.t, e.targets, graph) | dict(graph.axes)
    return SmallLaunch(graph, every, contraction(e.t, e.targets, every), first_contraction(e.t, e.targets, every))


@dataclass(frozen=True)
class RegimeRun:
    """A regime's inputs, and of every output what the kernels gave and what is wanted, in float64."""

    regime: Regime
    given: Given
    got: tuple[Array, ...]
    want: tuple[Array, ...]


@dataclass
class Record:
    """The regimes that an opinion judged, the µGraph that the text was emitted for, and the same at the sizes of the launch.
    `judged` is told of each regime, while the worker runs the next ones."""

    mugraph: MuGraph | None = None
    graph: MuGraph | None = None
    runs: list[RegimeRun] = field(default_factory=list)
    judged: Callable[[RegimeRun], object] | None = None


def float_opinion(
    emitted: EmittedModule,
    run_task: RunTask,
    *,
    seed: int = 0,
    sizes: Mapping[str, int] | None = None,
    tiles: Mapping[str, Mapping[str, int]] | None = None,
    constants: Mapping[str, object] | None = None,
    regimes: Sequence[Regime] = REGIMES,
    record: Record | None = None,
) -> Evidence:
    """The emitted module against the user's function, in a worker. `record` takes what was run.

    Where the function cannot run at the small sizes (it names sizes of its own), the terms in float64 stand for it and
    the budget of the dtype alone decides. `sizes`, `tiles`: of the launch, `launch_sizes` and the µGraph's if None.
    """
    start = time.perf_counter()
    sizes = dict(sizes or launch_sizes(emitted.mugraph))
    try:
        launch = small_launch(emitted, sizes, tiles)
    except MirageError as error:
        return _evidence("REJECTED", f"the kernels could not be run: {error}", FloatDetails(sizes=sizes), start)
    return _Regimes(emitted, launch, run_task, sizes, regimes, constants or {}, seed, record or Record()).opinion(start)


def float_opinion_ahead(
    emitted: EmittedModule, run_task: RunTask, ahead: Ahead, record: Record | None = None
) -> Callable[[], Evidence]:
    """The same opinion, all of whose runs begin now; the call judges them."""
    sizes = dict(launch_sizes(emitted.mugraph))
    try:
        launch = small_launch(emitted, sizes, None)
    except MirageError:
        return partial(float_opinion, emitted, run_task, record=record)
    look = _Regimes(emitted, launch, run_task, sizes, REGIMES, {}, 0, record or Record())
    asked = look.ask_all(ahead)
    return lambda: look.opinion(time.perf_counter(), asked)


def _evidence(
    word: Word, text: str, details: FloatDetails, start: float, shown: Counterexample | None = None
) -> Evidence:
    return Evidence(
        link="text", opinion="float", word=word, summary=text, seconds=time.perf_counter() - start, details=details,
        counterexample=shown, where=INTERPRETER,
    )  # fmt: skip


@dataclass(frozen=True)
class _Reference:
    """The reference values of an output: in float64, in the function's dtype (None where it did not run), in float32."""

    want: Array
    eager: Array | None
    single: Array


@dataclass(frozen=True)
class _Asked:
    """A regime's inputs and the run on them, which is waited for when it is called."""

    regime: Regime
    given: Given
    payload: FloatPayload
    run: Callable[[], FloatRun]


@dataclass
class _Regimes:
    """The regimes of one opinion, judged one after another: draws come from one generator. `rows` takes the figures of every
    output; `unlike` the regimes in which the function and the kernels both raised."""

    emitted: EmittedModule
    launch: SmallLaunch
    run_task: RunTask
    sizes: dict[str, int]
    every: Sequence[Regime]
    constants: Mapping[str, object]
    seed: int
    record: Record
    rows: list[RegimeError] = field(default_factory=list)
    unlike: list[str] = field(default_factory=list)
    shifted: Shifted | None = None

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng((self.seed, 0xF10A7))
        self.calls = calls_of(self.emitted.mugraph)
        self.record.mugraph, self.record.graph, self.record.runs = self.emitted.mugraph, self.launch.graph, []
        inputs = self.launch.graph.inputs
        self.masks = added_masks(self.emitted.t, [x.term for x in self.emitted.targets])
        self.masks |= {i.name for i in inputs if i.dtype == "bool"}
        dtypes = [i.dtype for i in inputs]
        # what a call takes may index: any integer does not
        self.regimes = [r for r in self.every if r.fits(dtypes, bool(self.masks)) and not (r.whole and self.calls)]
        counts = {} if self.calls else compared_indices(self.emitted.t, self.emitted.targets, self.launch.every)
        self.integers = {i.name: counts.get(i.name, INTEGERS) for i in inputs}

    def details(self, unlike: bool = False) -> FloatDetails:
        tiles = launch_tiles(self.launch.graph)
        return FloatDetails(sizes=self.sizes, tiles=tiles, regimes=tuple(self.rows), unlike=unlike)

    def opinion(self, start: float, asked: Iterable[_Asked] | None = None) -> Evidence:
        """`asked`: runs that have begun. Else there is one call for each regime: the first that fails spares the rest."""
        try:
            for one in asked or (self.ask(regime, number) for number, regime in enumerate(self.regimes)):
                self.judge(one)
        except Failed as failed:
            return _evidence("REJECTED", failed.text, self.details(failed.unlike), start, failed.shown)
        if not self.rows:
            why = f"the function could be run on no inputs: {'; '.join(self.unlike)}"
            return _evidence("REJECTED", why, self.details(unlike=True), start)
        worst = max(r.error / max(r.allowed, 1e-300) for r in self.rows)
        passed = len(self.regimes) - len(self.unlike)
        text = f"{passed} regimes of inputs; the largest error is {worst:.2g} of what is allowed"
        return _evidence("TESTED", text, self.details(), start)

    def ask(self, regime: Regime, number: int, ahead: Ahead | None = None) -> _Asked:
        """Draws the regime's inputs. In the first regime the kernels run twice: whether they are deterministic shows in one."""
        asked = self.drawn(regime, 1 if number else 2)
        return asked if ahead is None else replace(asked, run=ahead(run_floats, asked.payload).result)

    def drawn(self, regime: Regime, times: int) -> _Asked:
        """A regime's inputs; the kernels run on them, so many times, when the run is called."""
        e = self.emitted
        given = _inputs(self.launch, e.parameters, regime, self.rng, self.masks, self.integers)
        payload = self._payload(given, times)
        return _Asked(regime, given, payload, partial(run_floats, self.run_task, payload))

    def ask_all(self, ahead: Ahead) -> list[_Asked]:
        """The first half of the regimes one after another, and beside them, so that two cores are used, the others by one task. What fails
        there is asked alone, and then fails or not by itself."""
        half = (len(self.regimes) + 1) // 2
        asked = [self.ask(regime, number, ahead) for number, regime in enumerate(self.regimes[:half])]
        late = [self.drawn(regime, 1) for regime in self.regimes[half:]]
        together = [one.payload["inputs"][0] for one in late]
        results = [math.prod(self.launch.graph.shape(x)) for x in self.launch.graph.outputs]
        size = sum(len(x["data"]) for given in together for x in given) + len(late) * A_RESULT * sum(results)
        if not late or size > TOGETHER:
            return [*asked, *(replace(one, run=ahead(run_floats, one.payload).result) for one in late)]
        payload: FloatPayload = {**late[0].payload, "inputs": together}
        runs = ahead.beside(run_regimes, payload)

        def run(number: int) -> FloatRun:
            try:
                return runs.result()[number]
            except MirageError:
                return late[number].run()

        return [*asked, *(replace(one, run=partial(run, i)) for i, one in enumerate(late))]

    def judge(self, asked: _Asked) -> None:
        """Judges every output of the run. Raises Failed."""
        e, launch, regime = self.emitted, self.launch, asked.regime
        run = self._run(asked)
        if run is None:
            return
        evaluator = _evaluator(e, asked.given, launch.every)
        references = self._references(run, evaluator)
        judged: list[tuple[Array, Array]] = []
        for i, target in enumerate(e.targets):
            got = decode(run["outputs"][i])
            if not run["repeats"][i]:
                raise Failed(f"{regime.name}: two runs give different bits")
            reference = references[i]
            if got.shape != reference.want.shape:
                # the function may name a size of its own, which this launch does not have
                raise Failed(f"output {i} has shape {got.shape}, not {reference.want.shape}", unlike=True)
            dtype = launch.graph.tensor(target.tensor).dtype
            compared = self._shifted(
                Compared(got, reference.want, reference.eager, reference.single, dtype), target, evaluator
            )
            self._output(i, compared, asked.payload, regime)
            judged.append((got, compared.want))
        outputs, wanted = zip(*judged, strict=True)
        self.record.runs.append(RegimeRun(regime, asked.given, outputs, wanted))
        if self.record.judged is not None:
            self.record.judged(self.record.runs[-1])

    def _payload(self, given: Given, times: int) -> FloatPayload:
        e = self.emitted
        return {
            "module": e.module,
            "text": e.text,
            "function": e.function,
            "sizes": self.launch.sizes,
            "tiles": launch_tiles(self.launch.graph),
            "constants": dict(self.constants),
            "names": list(e.parameters),
            "inputs": [[packed(dt, v) for dt, v in given.values()]],
            "times": times,
        }

    def _run(self, asked: _Asked) -> FloatRun | None:
        """The run; None where there is nothing to compare: the function raised and so did the kernels."""
        regime = asked.regime
        try:
            run = asked.run()
        except MirageError as error:
            raise Failed(f"{regime.name}: the kernels could not be run: {error}") from None
        if self.calls and run["double"] is None:  # nothing else says what a call gives
            if run["error"]:
                self.unlike.append(f"{regime.name}: {run['user_error']}")
                return None
            why = f"the function raised {run['user_error']}, the kernels did not"
            raise Failed(f"{regime.name}: {why}", unlike=True)
        if run["error"]:
            raise Failed(f"{regime.name}: the launch raised {run['error']}")
        if not run["guards"]:
            raise Failed(f"{regime.name}: an element beside an output was written")
        return run

    def _references(self, run: FloatRun, evaluator: TermEvaluator) -> list[_Reference]:
        """Of each output. Where the function as written did not run at these sizes, its terms say what it is."""
        double, eager, single = run["double"], run["eager"], run["single"]
        if double is not None and eager is not None and single is not None:
            return [_Reference(*(decode(x) for x in of)) for of in zip(double, eager, single, strict=True)]
        t, targets = self.emitted.t, self.emitted.targets
        short = TermEvaluator(t, evaluator.inputs, Single(), self.launch.every)
        wide, narrow = (expected_outputs(t, targets, of) for of in (evaluator, short))
        # a number comes from a worker as a tensor of one element
        return [_Reference(np.atleast_1d(wide[x.tensor][0]), None, np.atleast_1d(narrow[x.tensor][0])) for x in targets]

    def _shifted(self, x: Compared, target: OutputTerm, evaluator: TermEvaluator) -> Compared:
        """With the shifted term's values where the function gives no number for want of a shift."""
        if np.isfinite(x.want).all() or self.calls:
            return x
        self.shifted = self.shifted or Shifted(self.emitted.t, self.emitted.targets)
        values = self.shifted.values(evaluator.inputs, self.launch.every).get(target.tensor)
        if values is None:
            return x
        free = instead(x.want, values)
        want, single = np.where(free, values.shifted, x.want), np.where(free, values.single, x.single)
        return replace(x, want=want, single=single, free=free, short=values.single)

    def _output(self, i: int, x: Compared, payload: FloatPayload, regime: Regime) -> None:
        """Judges one output: an error that is nearly allowed, once more beside other roundings of the function."""
        k, known = self.launch.k, x.eager is not None
        figures, at = judge(x, k, regime.wild)
        roundings = 0
        if figures["far"] and known and figures["error"] <= NEARLY * figures["allowed"]:
            with suppress(MirageError):  # then the first judgement stands
                other = run_rounded(self.run_task, payload, ROUNDINGS)
                others = [decode(one[i]) for one in other["rounded"]]
                figures, at = judge(replace(x, others=others), k, regime.wild)
                roundings = ROUNDINGS
        reference = "eager" if known else "terms"
        self.rows.append(RegimeError(regime.name, i, x.dtype, reference, **figures, roundings=roundings))
        if at is not None:
            values = repr(float(x.want[at])), repr(float(x.got[at]))
            shown = Counterexample("float", i, at, *values, self.sizes, self.seed)
            raise Failed(f"{regime.name}: {figures['why']}", shown)


def _inputs(
    launch: SmallLaunch,
    parameters: Sequence[str],
    regime: Regime,
    rng: np.random.Generator,
    masks: set[str],
    integers: Mapping[str, int],
) -> Given:
    """Of every parameter. Flags are random, but for `masks` where the regime has flags of its own; `integers` says how many there are."""
    graph, k = launch.graph, launch.products
    known = {t.name: t for t in graph.inputs}
    out: dict[str, tuple[str, Array]] = {}
    floating = False
    for name in parameters:
        if name not in known:
            out[name] = ("fp32", np.zeros((1,)))
            continue
        tensor, shape = known[name], graph.shape(known[name])
        if regime.flags is not None and name in masks:
            flags = regime.flags(rng, shape)
            value = flags.astype(np.float64) if tensor.dtype == "bool" else np.where(flags, 0.0, -np.inf)
        elif tensor.dtype in UNIT:
            draw = regime.first if regime.first is not None and not floating else regime.draw
            floating = True
            value = round_to(np.asarray(draw(rng, shape, tensor.dtype, k), np.float64), tensor.dtype)
        elif tensor.dtype == "bool":
            value = rng.integers(0, 2, shape).astype(np.float64)
        else:
            low, high = integer_range(tensor.dtype, integers[name], whole=regime.whole)
            value = rng.integers(low, high, shape).astype(np.float64)
        out[name] = (tensor.dtype, np.ascontiguousarray(value))
    return out


def _evaluator(e: EmittedModule, given: Given, sizes: Mapping[str, int]) -> TermEvaluator:
    arrays = {
        n: (v.astype(bool) if dt == "bool" else v if dt in UNIT else v.astype(np.int64))[None]
        for n, (dt, v) in given.items()
    }
    return TermEvaluator(e.t, arrays, Floats(), sizes)
