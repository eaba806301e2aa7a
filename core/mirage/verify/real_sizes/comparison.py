"""Compares what a module gives at its real sizes with the function, on directed inputs without rounding and on regimes with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from mirage.errors import MirageError
from mirage.ir.dtypes import DTYPES, TORCH_NAMES
from mirage.ir.opaque_calls import is_call
from mirage.ir.program import Program
from mirage.verify.floats.error_limits import ROUNDINGS, Compared, judge
from mirage.verify.floats.launch_sizes import integer_range
from mirage.verify.floats.matrix_units import cut_off
from mirage.verify.floats.regimes import REGIMES, UNIT, Regime, round_to
from mirage.verify.floats.worker import decode, exactly, rounded_outputs, user_run
from mirage.verify.real_sizes.host_tensors import WideTensor
from mirage.verify.real_sizes.index_ranges import IndexRange, index_ranges
from mirage.verify.real_sizes.tile_values import Array, Unknown
from mirage.verify.semantics.program_values import NoValue, ResultPrecision, run
from mirage.verify.worker_tasks import ShownElement

Run = Callable[..., object]
RELATIVE, ABSOLUTE = (
    1e-6,
    1e-7,
)  # of the element and of the output's root mean square: constants are written with so many digits
DISTURBED, SPREADS = 3, 64.0
TIMES_ROUNDING = 1.5  # a right kernel rounds about as much as the function does, on average over an output
SUBNORMAL = "subnormal"  # the regime of numbers that a GPU's fast functions take for zero


class Differs(Exception):
    """The module differs from the function: `word` REJECTED or UNDECIDED, the output, the index and both values."""

    def __init__(self, word: str, what: str, output: int, index: tuple[int, ...], want: float, got: float) -> None:
        super().__init__(what)
        self.word, self.what, self.output, self.index = word, what, output, index
        self.want, self.got = repr(want), repr(got)

    @property
    def shown(self) -> ShownElement | None:
        if not self.index:
            return None
        return {"output": self.output, "index": list(self.index), "want": self.want, "got": self.got}


@dataclass
class ComparedFunction:
    """The function, its program, and the outputs' dtypes."""

    user: Run
    program: Program
    largest: float = 0.0  # error, as a part of what is allowed
    average: float = 0.0  # error, beside the function's own and that of rounding the right values
    regimes: list[str] = field(default_factory=list)
    assumed: list[str] = field(default_factory=list)  # of the inputs
    ranges: dict[int, IndexRange] = field(default_factory=dict)  # of inputs that take not all integers
    gives: type = torch.Tensor  # a tuple or a list, or one tensor
    undefined: bool = False  # where the function gives NaN of finite inputs the module may give a number
    left_out: bool = False  # are there elements at which it does, which are not compared?
    compared: Counter[int] = field(
        default_factory=Counter
    )  # of each output the runs without rounding in which the function gives numbers

    def __post_init__(self) -> None:
        self.gives = tuple if self.program.returns_tuple else torch.Tensor
        if all(DTYPES[i.type.dtype].floating for i in self.program.inputs):
            return
        self.ranges = index_ranges(self.program, self._accepts)
        for n, taken in self.ranges.items():
            self.assumed.append(f"`{self.program.inputs[n].name}` is {taken}: for other numbers the function raises")

    def _accepts(self, values: Sequence[Array]) -> bool:
        try:
            exact_outputs(self, values)
        except (RuntimeError, IndexError, ValueError):  # what PyTorch raises for an index out of range, by operator
            return False
        return True

    def fitted(self, values: Sequence[Array], seed: int) -> list[Array]:
        """The values, with integers that the function takes."""
        rng = np.random.default_rng((seed, 0x1D))
        return [self.ranges[n].draw(rng, v.shape) if n in self.ranges else v for n, v in enumerate(values)]

    @property
    def dtypes(self) -> list[str]:
        return [self.program.type_of(o).dtype for o in self.program.outputs]

    @property
    def longest_sum(self) -> int:
        p, out = self.program, 1
        for n in p.nodes:
            shapes = [p.type_of(a).shape for a in n.args]
            if n.op in ("einsum", "matmul", "linear", "scaled_dot_product_attention"):
                out = max([out, *(s[-1] for s in shapes if s)])
            elif (n.op in ("sum", "mean") or is_call(n.op)) and shapes:  # a call may sum all that it is given
                out = max(out, max(int(np.prod(s)) for s in shapes) // max(1, n.type.numel))
        return out


def values_of(t: torch.Tensor) -> Array:
    inner = t.inner if isinstance(t, WideTensor) else t
    return np.atleast_1d(inner.detach().double().contiguous().numpy())


def check_types(subject: ComparedFunction, results: Sequence[torch.Tensor]) -> None:
    """Shapes and dtypes are the function's."""
    wanted = [subject.program.type_of(o) for o in subject.program.outputs]
    if len(results) != len(wanted):
        raise Differs("REJECTED", f"it gives {len(results)} tensors, the function {len(wanted)}", 0, (), 0.0, 0.0)
    for i, (t, w) in enumerate(zip(results, wanted, strict=True)):
        if tuple(t.shape) != w.shape or str(t.dtype) != f"torch.{TORCH_NAMES[w.dtype]}":
            what = (
                f"output {i} is {t.dtype}{list(t.shape)}, of the function torch.{TORCH_NAMES[w.dtype]}{list(w.shape)}"
            )
            raise Differs("REJECTED", what, i, (), 0.0, 0.0)


def tensors(program: Program, values: Sequence[Array], wide: bool) -> list[torch.Tensor]:
    """The inputs as the module gets them."""
    out = []
    for i, v in zip(program.inputs, values, strict=True):
        dtype = getattr(torch, TORCH_NAMES[i.type.dtype])
        plain = torch.from_numpy(np.ascontiguousarray(v).copy())
        if not wide or not dtype.is_floating_point:
            out.append(plain.to(dtype))
        else:
            out.append(WideTensor(plain.double(), dtype))
    return out


def exact_outputs(subject: ComparedFunction, values: Sequence[Array]) -> list[Array]:
    """The function in float64."""
    given = []
    for i, v in zip(subject.program.inputs, values, strict=True):
        t = torch.from_numpy(np.ascontiguousarray(v).copy())
        given.append(t.double() if DTYPES[i.type.dtype].floating else t.to(getattr(torch, TORCH_NAMES[i.type.dtype])))
    with torch.no_grad():
        made = exactly(subject.user, torch.float64)(*given)
    if isinstance(made, list):
        subject.gives = list
    return [values_of(t) for t in (made if isinstance(made, (tuple, list)) else (made,))]


def compare_exactly(
    subject: ComparedFunction, kind: str, values: Sequence[Array], results: Sequence[torch.Tensor]
) -> None:
    """Without rounding on either side. On infinite inputs a difference shows that the kernel treats them otherwise, and
    where the function has no finite value the verdict says so and refuses nothing. Raises Differs."""
    beyond = not all(np.isfinite(v).all() for v in values)
    check_types(subject, results)
    wanted = exact_outputs(subject, values)
    for i, (want, t) in enumerate(zip(wanted, results, strict=True)):
        got = values_of(t)
        with np.errstate(all="ignore"):
            finite = np.isfinite(want)
            subject.compared[i] += bool(finite.any())
            size = float(np.sqrt(np.mean(np.square(want[finite])))) if finite.any() else 0.0
            far = finite & ~(np.abs(got - want) <= RELATIVE * np.abs(want) + ABSOLUTE * size)
        if far.any() and np.isfinite(got[far]).all():
            far &= ~_explained(subject, i, values, want, got)
        if far.any():
            at = _first(far)
            what = f"the values differ ({kind}, without rounding; {int(far.sum())} of {far.size} elements)"
            raise Differs("UNDECIDED" if beyond else "REJECTED", what, i, at, float(want[at]), float(got[at]))
        other = ~finite & ~(np.isnan(want) & beyond) & ~((np.isnan(want) & np.isnan(got)) | (want == got))
        if other.any() and beyond:
            subject.assumed.append(
                "the inputs are finite: of infinite ones it gives NaN where the function gives infinities"
            )
        elif beyond and (np.isnan(want) & ~np.isnan(got)).any():
            subject.assumed.append(
                "the inputs are finite: of infinite ones it gives numbers where the function gives NaN"
            )
        elif other.any() and np.isnan(want[other]).all() and subject.undefined:
            subject.left_out = True
        elif other.any():
            at = _first(other)
            said = "; --nan-may-differ leaves such elements out" if np.isnan(want[other]).all() else ""
            what = f"it has another value where the function has none ({kind}){said}"
            raise Differs("UNDECIDED", what, i, at, float(want[at]), float(got[at]))


def _first(mask: Array) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argwhere(mask)[0])


def _explained(subject: ComparedFunction, output: int, values: Sequence[Array], want: Array, got: Array) -> Array:
    """Where the function itself moves as far when its results are moved by 2^-38."""
    try:
        base = np.atleast_1d(np.asarray(run(subject.program, values, ResultPrecision())[0][output], np.float64))
        moved = [
            np.atleast_1d(
                np.asarray(run(subject.program, values, ResultPrecision(disturbance=n + 1))[0][output], np.float64)
            )
            for n in range(DISTURBED)
        ]
    except NoValue:
        return np.zeros(want.shape, bool)
    with np.errstate(all="ignore"):
        spread = np.max([np.abs(m - base) for m in moved], axis=0)
        return np.asarray((np.abs(got - want) <= SPREADS * spread) | ~np.isfinite(spread))


def regime_inputs(program: Program, regime: Regime, k: int, seed: int) -> list[Array]:
    """The inputs of a regime at the real sizes."""
    rng, floating, out = np.random.default_rng((seed, 0xF10A7)), False, []
    for i in program.inputs:
        shape, dtype = i.type.shape, i.type.dtype
        if dtype in UNIT:
            draw = regime.first if regime.first is not None and not floating else regime.draw
            floating = True
            out.append(round_to(np.asarray(draw(rng, shape, dtype, k), np.float64), dtype))
        elif dtype == "bool":
            flags = regime.flags(rng, shape) if regime.flags is not None else rng.integers(0, 2, shape).astype(bool)
            out.append(np.asarray(flags))
        else:
            out.append(rng.integers(*integer_range(dtype, whole=regime.whole), shape))
    return out


def regimes_of(program: Program) -> list[Regime]:
    dtypes = [i.type.dtype for i in program.inputs]
    return [r for r in REGIMES if r.fits(dtypes, "bool" in dtypes) and not (r.eight_bit or r.whole)]


def compare_rounded(
    subject: ComparedFunction, regime: Regime, given: Sequence[torch.Tensor], results: Sequence[torch.Tensor]
) -> None:
    """With the roundings of the dtypes: no further from the function in float64 than the function itself may be, its products too as
    a matrix unit makes them, on which the text is to run. Raises Differs."""
    check_types(subject, results)
    found = user_run(subject.user, list(given))
    double, own, short = found["double"], found["eager"], found["single"]
    if double is None or own is None or short is None:
        raise Unknown(f"the function does not run on the CPU: {found['user_error']}")
    k = subject.longest_sum
    for i, t in enumerate(results):
        want, eager, single = (np.atleast_1d(decode(x[i])) for x in (double, own, short))
        got = values_of(t)
        if subject.undefined and (np.isnan(want) & ~np.isnan(got)).any():
            subject.left_out = True
            got = np.where(np.isnan(want), want, got)
        x = Compared(got, want, eager, single, subject.dtypes[i])
        figures, at = judge(x, k, regime.wild)
        if figures["far"] and figures["error"] <= 8 * figures["allowed"]:
            try:
                rounded = [
                    [values_of(t) for t in found]
                    for found in rounded_outputs(subject.user, list(given), ROUNDINGS, cut_off)
                ]
            except (MirageError, RuntimeError):
                rounded = []
            if rounded:
                x = Compared(
                    got,
                    want,
                    eager,
                    single,
                    subject.dtypes[i],
                    others=[one[i] for one in rounded],
                )
                figures, at = judge(x, k, regime.wild)
        if at is not None and regime.name == SUBNORMAL:
            subject.assumed.append("the inputs are no subnormal numbers, of which it loses digits")
            return
        subject.largest = max(subject.largest, figures["error"] / max(figures["allowed"], 1e-300))
        if at is not None:
            missing = "a number where" in figures["why"]
            word = "UNDECIDED" if missing else "REJECTED"
            raise Differs(word, f"{regime.name}: {figures['why']}", i, at, float(want[at]), float(got[at]))
        if not regime.wild:
            _precise_on_average(subject, regime, i, x, k)
    subject.regimes.append(regime.name)


def _precise_on_average(subject: ComparedFunction, regime: Regime, output: int, x: Compared, k: int) -> None:
    """The root mean square of the error beside the function's own and that of rounding the right values: an accumulator or
    an operand in a short dtype shows there long before it shows in the largest error."""
    if not DTYPES[x.dtype].floating or x.eager is None:
        return
    with np.errstate(all="ignore"):
        usable = np.isfinite(x.want) & np.isfinite(x.got) & np.isfinite(x.eager)
        if not usable.any():
            return
        want, got, eager = (a[usable] for a in (x.want, x.got, x.eager))
        size = float(np.sqrt(np.mean(np.square(want))))

        def mean(a: Array) -> float:
            return float(np.sqrt(np.mean(np.square(a - want))))

        own = max(mean(eager), mean(round_to(want, x.dtype)))
        allowed = TIMES_ROUNDING * own + 4 * UNIT["fp32"] * np.sqrt(k) * size
        error = mean(got)
    subject.average = max(subject.average, error / max(own + 4 * UNIT["fp32"] * np.sqrt(k) * size, 1e-300))
    if error > allowed:
        at = tuple(
            int(i) for i in np.unravel_index(int(np.argmax(np.where(usable, np.abs(x.got - x.want), 0))), x.want.shape)
        )
        what = f"{regime.name}: on average it is {error / max(own, 1e-300):.1f} times as far from the exact values as the function is"
        raise Differs("UNDECIDED", what, output, at, float(x.want[at]), float(x.got[at]))
