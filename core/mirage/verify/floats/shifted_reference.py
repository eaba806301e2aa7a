"""Reference values for a function that overflows only because it was written without a shift, as softmax without its maximum.

`sum(exp(s) v) / sum(exp(s))` is NaN in every dtype as soon as a score is large, and the value that it stands for does not
depend on a shift. There the shifted term, evaluated in float64, says what a kernel must give. Where the shifted term is no
number either (a row without any key, infinite inputs, 0/0), the function as written decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mirage.meaning.exp_shift import shifts
from mirage.meaning.terms import Terms
from mirage.verify.field.schedule_opinion import expected_outputs
from mirage.verify.floats.regimes import round_to
from mirage.verify.output_terms import Output, OutputTerm
from mirage.verify.semantics.arrays import Array
from mirage.verify.semantics.evaluate_terms import TermEvaluator
from mirage.verify.semantics.float64 import Floats

AGREE = 1e-6  # of an output's root mean square: two ways to compute it in float64


class Single(Floats):
    """float64 whose every result is rounded to float32: what a kernel's own arithmetic costs."""

    def fn(self, name: str, *xs: Array) -> Array:
        return self._short(super().fn(name, *xs))

    def add(self, *xs: Array) -> Array:
        return self._short(super().add(*xs))

    def mul(self, *xs: Array) -> Array:
        return self._short(super().mul(*xs))

    def sum(self, x: Array, axis: int) -> Array:
        """One element after another, as a loop adds them up: rounded each time, not once."""
        if x.dtype != np.float64:
            return super().sum(x, axis)
        with np.errstate(all="ignore"):
            added = np.add.accumulate(x, axis=axis, dtype=np.float32)
        return np.asarray(np.take(added, -1, axis=axis), np.float64) if x.shape[axis] else super().sum(x, axis)

    def _short(self, x: Array) -> Array:
        return round_to(x, "fp32") if x.dtype == np.float64 else x


@dataclass(frozen=True)
class Values:
    """Of one target in float64: its term, the shifted term, and that with every result rounded to float32."""

    written: Array
    shifted: Array
    single: Array


class Shifted:
    """The targets with shifts put in where they are free. Made when a function gives something that is no number."""

    def __init__(self, t: Terms, targets: Sequence[OutputTerm]) -> None:
        self.t = t
        found = [(x, list(shifts(t, x.term))) for x in targets]
        self.written = [x for x, steps in found if steps]
        self.targets = [Output(x.tensor, steps[-1][2], x.dims) for x, steps in found if steps]

    def values(self, inputs: Mapping[str, Array], sizes: Mapping[str, int]) -> dict[str, Values]:
        """By tensor, of each target that has a shift."""
        exact = TermEvaluator(self.t, inputs, Floats(), sizes)
        single = TermEvaluator(self.t, inputs, Single(), sizes)
        made = [expected_outputs(self.t, x, e) for x, e in
                ((self.written, exact), (self.targets, exact), (self.targets, single))]  # fmt: skip
        return {x.tensor: Values(*(m[x.tensor][0] for m in made)) for x in self.targets}


def instead(want: Array, found: Values) -> Array:
    """The elements at which the shifted term stands for the function `want`: it is a number there, and neither the function nor its term as
    written is. (Where its term is one, a mask has left nothing and 0/0 is meant.) Nowhere, if it differs from the function
    where both are numbers: that names a size of its own."""
    with np.errstate(all="ignore"):
        both = np.isfinite(want) & np.isfinite(found.shifted)
        size = float(np.sqrt(np.mean(np.square(want[both])))) if both.any() else 0.0
        differ = both & (np.abs(want - found.shifted) > AGREE * np.maximum(np.abs(want), size))
    lost = ~np.isfinite(want) & ~np.isfinite(found.written) & np.isfinite(found.shifted)
    return np.asarray(lost & ~differ.any())
