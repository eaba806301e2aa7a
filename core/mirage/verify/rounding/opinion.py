"""The rounding opinion: a rigorous bound on the error of the emitted kernels for the inputs that they ran on, beside the
function's own.

Each is a running error bound: the exact value of every intermediate on these inputs (in float64) and, along with it, how far the
computed one may be off, by the operations, the order and the dtypes of the µGraph or of the function as written. The text is
refused where an element is further off than its bound allows, since then it rounds where its µGraph does not; and where the bound is
many times the function's own.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from mirage.ir.dtypes import DTYPES
from mirage.ir.program import Program
from mirage.results.details import RegimeBound, RoundingDetails
from mirage.results.verdict import INTERPRETER, Counterexample, Evidence, Word
from mirage.verify.floats.opinion import Given, Record, RegimeRun
from mirage.verify.rounding.bounds import final
from mirage.verify.rounding.mugraph_bound import NotBounded, mugraph_bound
from mirage.verify.rounding.written_bound import written_bound
from mirage.verify.semantics.arrays import Array

T = TypeVar("T")
AGREE = 1e-6  # of the largest value: what two ways to compute it in float64 may differ by, where it cancels
BOUNDED = {"normal", "mean 1000 x deviation", "far below zero", "whole rows masked"}
TIMES_WRITTEN = 16.0  # how many times the function's own bound the kernels' may be


@dataclass(frozen=True)
class Rounded:
    """One output on one regime: the largest input and value, the bounds of every element (`written`: the function's own, None where
    none is known), what was wanted and what the kernels gave."""

    regime: str
    output: int
    inputs: float
    largest: float
    bound: Array
    written: Array | None
    want: Array  # NaN in blocks that were not looked at
    got: Array

    def figures(self) -> RegimeBound:
        finite = np.isfinite(self.want) & np.isfinite(self.got)
        scale = self.largest or 1.0
        error = np.where(finite, np.abs(self.got - np.where(finite, self.want, 0.0)), 0.0)
        with np.errstate(all="ignore"):
            parts = np.where(error > 0, error / self.bound, 0.0)
        return RegimeBound(
            self.regime, self.output, self.inputs, self.largest, _largest(self.bound, self.want, scale),
            None if self.written is None else _largest(self.written, self.want, scale),
            float(error.max(initial=0.0)) / scale, float(parts.max(initial=0.0)),
        )  # fmt: skip

    def beyond(self) -> tuple[int, ...] | None:
        """An element that is further off than its bound, or not finite although it has one."""
        with np.errstate(all="ignore"):
            bad = np.isfinite(self.bound) & np.isfinite(self.want) & ~(np.abs(self.got - self.want) <= self.bound)
        return tuple(int(i) for i in np.argwhere(bad)[0]) if bad.any() else None


def _largest(bound: Array, want: Array, scale: float) -> float | None:
    """The largest bound of an element that has a value; None where one of them has none."""
    there = np.where(np.isfinite(want), bound, 0.0)
    found = float(np.max(there, initial=0.0)) / scale
    return found if math.isfinite(found) else None


class RunsBounds:
    """The bounds of the runs of a record, each computed once: `begin` as soon as a run is judged, else when they are asked for.
    `free_shift`: the outputs do not depend on the kernels' running maxima."""

    def __init__(self, record: Record, program: Program, free_shift: bool) -> None:
        self._record, self._program, self._free_shift = record, program, free_shift
        self._kernels: dict[int, dict[str, Array] | NotBounded] = {}
        self._written: dict[int, list[Array] | NotBounded] = {}
        self._runs: list[RegimeRun] = []  # held, so that no other one gets an identity of theirs

    def begin(self, run: RegimeRun) -> None:
        """Of a run that is looked at: what is not bounded says so when it is asked for."""
        if run.regime.name in BOUNDED:
            with suppress(NotBounded):
                self.kernels(run)
                self.written(run)

    def kernels(self, run: RegimeRun) -> dict[str, Array]:
        """(value, bound) of each output by name. Raises NotBounded."""
        graph, made_for = self._record.graph, self._record.mugraph
        assert graph is not None and made_for is not None
        values = _values(run.given)
        inputs = {x.name: values[x.name] for x in graph.inputs if x.name in values}
        return self._once(self._kernels, run, lambda: mugraph_bound(graph, made_for, inputs, self._free_shift))

    def written(self, run: RegimeRun) -> list[Array]:
        """The same of the function as written, in its order. Raises NotBounded."""
        values = _values(run.given)
        return self._once(
            self._written, run, lambda: written_bound(self._program, [values[i.name] for i in self._program.inputs])
        )

    def _once(self, known: dict[int, T | NotBounded], run: RegimeRun, bound: Callable[[], T]) -> T:
        if id(run) not in known:
            self._runs.append(run)
            try:
                known[id(run)] = bound()
            except NotBounded as why:
                known[id(run)] = why
        found = known[id(run)]
        if isinstance(found, NotBounded):
            raise found
        return found


def rounding_opinion(
    record: Record, outputs: Sequence[str], program: Program, free_shift: bool, bounds: RunsBounds | None = None
) -> Evidence:
    """Of the runs that the float opinion recorded. `outputs` in the function's order. `free_shift`: they do not depend on the
    kernels' running maxima. `bounds`: those that have begun."""
    start = time.perf_counter()
    sizes = dict(record.graph.axes) if record.graph is not None else {}

    def evidence(word: Word, said: str, details: RoundingDetails, shown: Counterexample | None = None) -> Evidence:
        return Evidence(
            link="text", opinion="rounding", word=word, summary=said, seconds=time.perf_counter() - start, details=details,
            counterexample=shown, where=INTERPRETER,
        )  # fmt: skip

    try:
        found, unwritten = _bounds(record, outputs, bounds or RunsBounds(record, program, free_shift))
    except NotBounded as why:
        return evidence("TESTED", f"no bound on the rounding: {why}", RoundingDetails(sizes, unbounded=str(why)))
    rows = tuple(x.figures() for x in found)
    details = RoundingDetails(sizes, rows, TIMES_WRITTEN, unwritten=unwritten)
    for x, row in zip(found, rows, strict=True):
        at = x.beyond()
        if at is not None:
            off, allowed = abs(float(x.got[at] - x.want[at])), float(x.bound[at])
            said = (
                f"{x.regime}: off by {off:.3g} where the operations of the µGraph can be off by {allowed:.3g} at most"
            )
            shown = Counterexample("rounding", x.output, at, repr(float(x.want[at])), repr(float(x.got[at])), sizes)
            return evidence("REJECTED", said, details, shown)
        if far_beyond(row):
            return evidence("REJECTED", f"{x.regime}: {_stated(row)}", details)
    return evidence("TESTED", summary(rows), details)


def far_beyond(r: RegimeBound) -> bool:
    """Is the kernels' bound many times the function's own? Not asked where so many times that is the value itself: the function then has
    no digit that is sure."""
    if r.written is None or TIMES_WRITTEN * r.written > 1:
        return False
    return r.bound is None or r.bound > TIMES_WRITTEN * r.written


def summary(rows: Sequence[RegimeBound]) -> str:
    known = [r for r in rows if r.bound is not None and r.largest > 0]
    return _stated(known[0]) if known else "no bound on the rounding is finite"


def _stated(r: RegimeBound) -> str:
    bound = "not known" if r.bound is None else f"<= {r.bound:.2g}"
    written = "" if r.written is None else f"; as written <= {r.written:.2g}"
    return f"error {bound} of the largest value for inputs up to {r.inputs:.2g}{written}; measured {r.measured:.2g}"


def _bounds(record: Record, outputs: Sequence[str], bounds: RunsBounds) -> tuple[list[Rounded], str]:
    """Of every regime that is looked at and of every output, and why there is no bound of the function as written. Raises NotBounded."""
    unwritten = ""
    found: list[Rounded] = []
    for run in record.runs:
        if run.regime.name not in BOUNDED:
            continue
        kernels = bounds.kernels(run)
        written: list[Array] = []
        if not unwritten:
            try:
                written = bounds.written(run)
            except NotBounded as why:
                unwritten = str(why)
        for i, name in enumerate(outputs):
            if name not in kernels:
                raise NotBounded(f"{name} is what a call gives")
            value, bound = final(kernels[name])
            if not agree(value, run.want[i]):
                raise NotBounded(f"{run.regime.name}: the reference is another form of the function")
            own = final(written[i]) if written else None
            if own is not None and (own[0].shape != value.shape or not agree(own[0], run.want[i])):
                own, unwritten = None, "the function names sizes of its own"
            found.append(_rounded(run, i, (value, bound), None if own is None else own[1]))
    return found, unwritten


def agree(value: Array, want: Array) -> bool:
    """Are these the same but for the roundings of float64?"""
    value, want = np.atleast_1d(value), np.atleast_1d(want)
    both = np.isfinite(value) & np.isfinite(want)
    largest = np.abs(want[both]).max(initial=0.0)
    return bool((np.abs(value[both] - want[both]) <= AGREE * largest).all())


def _rounded(run: RegimeRun, i: int, of_kernels: tuple[Array, Array], written: Array | None) -> Rounded:
    value, bound = of_kernels
    sizes = [_size(v) for dt, v in run.given.values() if DTYPES[dt].floating]
    want = np.where(np.isnan(value), np.nan, run.want[i])  # of the blocks that were looked at
    return Rounded(run.regime.name, i, max(sizes, default=0.0), _size(run.want[i]), bound, written, want, run.got[i])


def _size(x: Array) -> float:
    """The largest number's."""
    return float(np.abs(x[np.isfinite(x)]).max(initial=0.0))


def _values(given: Given) -> Mapping[str, Array]:
    """The inputs as an evaluator takes them: flags and integers are no floats."""
    return {
        name: v.astype(bool) if dt == "bool" else v if DTYPES[dt].floating else v.astype(np.int64)
        for name, (dt, v) in given.items()
    }
