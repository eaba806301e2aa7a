"""The worker's half of the float opinion: runs of the emitted kernels and of the user's function.

The kernels run in Triton's interpreter; the function in its own dtype, in float32 and in float64.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache, partial
from itertools import repeat
from types import ModuleType
from typing import TYPE_CHECKING, cast

import numpy as np

from mirage.codegen.interpreter import float_interpreter, load_module
from mirage.ir.dtypes import FLOATING, TORCH_NAMES
from mirage.program.load_function import load
from mirage.verify.field.device_memory import Shape, flat_shape
from mirage.verify.field.public_function import Public, key_of, set_tables
from mirage.verify.semantics.arrays import Array
from mirage.verify.worker_tasks import (
    FloatAnswer,
    FloatPayload,
    FloatRun,
    FunctionRun,
    KernelRun,
    PackedFloats,
    PackedInput,
    RoundedRun,
)  # fmt: skip

if TYPE_CHECKING:
    import torch

Run = Callable[..., object]  # the user's function: a tensor, or several
Keywords = dict[str, object]
GUARD = 64  # elements on each side of an output
MARK = -12345.0
MARKS = {"torch.float8_e4m3fn": -352.0}  # where that is too large


class GuardedAllocations:
    """`torch` as the module sees it: what `empty` gives is full of NaN and lies between guards."""

    def __init__(self) -> None:
        import torch

        self._torch = torch
        self._blocks: list[tuple[torch.Tensor, torch.Tensor]] = []

    def empty(self, *shape: Shape, dtype: torch.dtype, device: object = None) -> torch.Tensor:
        lengths = flat_shape(shape)
        if not dtype.is_floating_point:
            return self._torch.empty(lengths, dtype=dtype)
        return self.place(self._torch.full(lengths, float("nan"), dtype=dtype))

    def place(self, tensor: torch.Tensor) -> torch.Tensor:
        """A copy of `tensor` between guards."""
        n = tensor.numel()
        mark = MARKS.get(str(tensor.dtype), MARK)
        block = self._torch.full((n + 2 * GUARD,), mark, dtype=tensor.dtype)
        block[GUARD : GUARD + n] = tensor.reshape(-1)
        self._blocks.append((block, block.clone()))
        return block[GUARD : GUARD + n].view(tensor.shape)

    def touched(self) -> bool:
        """Was anything written into a guard?"""
        return any(
            not torch_equal(a[part], b[part]) for a, b in self._blocks for part in (slice(GUARD), slice(-GUARD, None))
        )

    def __getattr__(self, name: str) -> object:
        return getattr(self._torch, name)


def exactly(function: Run, dtype: torch.dtype) -> Run:
    """The function with every floating-point dtype that it names replaced by `dtype`."""
    import torch
    from torch.overrides import TorchFunctionMode

    casts = {torch.Tensor.float, torch.Tensor.half, torch.Tensor.bfloat16, torch.Tensor.double}

    class Mode(TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(
            self, func: Run, types: object, args: tuple[torch.Tensor, ...] = (), kwargs: Keywords | None = None
        ) -> object:
            if func in casts:
                return args[0].to(dtype)

            def swap(v: object) -> object:
                return dtype if isinstance(v, torch.dtype) and v.is_floating_point else v

            return func(*(swap(a) for a in args), **{k: swap(v) for k, v in (kwargs or {}).items()})

    def call(*args: object) -> object:
        with Mode():
            return function(*args)

    return call


def cast_floats(tensors: Sequence[torch.Tensor], dtype: torch.dtype) -> list[torch.Tensor]:
    """The floating-point ones in that dtype, the others as they are."""
    return [t.to(dtype) if t.is_floating_point() else t for t in tensors]


def in_dtype(function: Run, tensors: Sequence[torch.Tensor], dtype: torch.dtype) -> tuple[torch.Tensor, ...]:
    """What the function gives where it and its inputs are in that dtype."""
    return outputs_of(exactly(function, dtype)(*cast_floats(tensors, dtype)))


def rounding(function: Run, units: Iterable[float], seed: int | None = None) -> Run:
    """The function in float64, for one call, with every result rounded to a dtype's precision, without the dtype's range: what its
    own rounding costs where it overflows itself. `units` are those of the calls that it makes, in turn (`units_of`). With a `seed`
    a result is off by up to half a unit, at random, instead of being rounded."""
    import torch
    from torch.overrides import TorchFunctionMode

    each = iter(units)
    chances: dict[torch.device, torch.Generator] = {}

    def noise(like: torch.Tensor) -> torch.Tensor:
        if like.device not in chances:
            chances[like.device] = torch.Generator(like.device).manual_seed(seed or 0)
        return torch.rand(like.shape, generator=chances[like.device], dtype=like.dtype, device=like.device) - 0.5

    def short(v: object, unit: float) -> object:
        if not isinstance(v, torch.Tensor) or v.dtype != torch.float64 or not unit:
            if type(v) is tuple:
                return tuple(short(x, unit) for x in v)
            return [short(x, unit) for x in v] if type(v) is list else v
        mantissa, exponent = torch.frexp(v)
        digits = mantissa / unit
        rounded = torch.round(digits) if seed is None else digits + noise(digits)
        return torch.where(v.isfinite(), torch.ldexp(rounded * unit, exponent), v)

    class Mode(TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(
            self, func: Run, types: object, args: tuple[object, ...] = (), kwargs: Keywords | None = None
        ) -> object:
            return short(func(*args, **(kwargs or {})), next(each))

    def call(*args: object) -> object:
        with Mode():
            return exactly(function, torch.float64)(*args)

    return call


def units_of(function: Run, *args: torch.Tensor) -> list[float]:
    """The unit in the last place of what each call gives that the function makes; 0 for what is no float."""
    import torch
    from torch.overrides import TorchFunctionMode

    found: list[float] = []

    class Mode(TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(
            self, func: Run, types: object, args: tuple[object, ...] = (), kwargs: Keywords | None = None
        ) -> object:
            result = func(*args, **(kwargs or {}))
            found.append(_unit([x for x in outputs_of(result) if isinstance(x, torch.Tensor)]))
            return result

    with Mode():
        function(*args)
    return found


def outputs_of(x: object) -> tuple[torch.Tensor, ...]:
    """What a function gave, one tensor or several."""
    return tuple(x) if isinstance(x, (tuple, list)) else (cast("torch.Tensor", x),)


# numpy's dtype for the values of ours, where it is shorter than float64: a launch with a large weight has to fit a message.
PACKED = {name: d.numpy for name, d in FLOATING.items()}
_OF_TORCH = {f"torch.{TORCH_NAMES[name]}": kind for name, kind in PACKED.items()}


def _encode(t: torch.Tensor) -> PackedFloats:
    kind = _OF_TORCH.get(str(t.dtype), "float64")
    a = np.ascontiguousarray(t.detach().double().numpy().astype(kind))
    return {"shape": list(a.shape), "as": kind, "data": a.tobytes()}


def packed(dtype: str, value: Array) -> PackedInput:
    """float64 values that are `dtype`'s own, as an input of a run."""
    kind = PACKED.get(dtype, "float64")
    return {"type": dtype, "shape": list(value.shape), "as": kind, "data": value.astype(kind).tobytes()}


def decode(data: PackedFloats | PackedInput) -> Array:
    """The values in float64."""
    values = np.frombuffer(data["data"], np.dtype(data["as"]))
    return np.asarray(values.reshape(data["shape"]), np.float64)


def run_on_floats(payload: FloatPayload) -> FloatAnswer:
    """In the worker: the module's public function is called, and its guard tried with what its kernels were not made for
    (where kernels run twice); without `names`, its launcher alone is."""
    os.environ["TRITON_INTERPRET"] = "1"
    module = _loaded(payload["module"])
    user = load(payload["text"], payload["function"]) if payload["text"] else None
    if user is not None:
        user = partial(user, **(payload.get("constants") or {}))
    inputs = [[_tensor(item) for item in given] for given in payload["inputs"]]
    roundings = payload.get("roundings")
    if roundings and user is not None:
        return {"runs": [rounded_run(user, tensors, roundings) for tensors in inputs]}
    runs: list[FloatRun] = []
    for tensors in inputs:
        times = payload.get("times") or (1 if runs else 2)
        runs.append({**_kernels(module, payload, tensors, times), **user_run(user, tensors)})
    return {"runs": runs}


def _tensor(item: PackedInput) -> torch.Tensor:
    import torch

    return torch.from_numpy(decode(item).copy()).to(getattr(torch, TORCH_NAMES[item["type"]]))


@lru_cache(maxsize=4)
def _loaded(text: str) -> ModuleType:
    """The module; the regimes of one opinion share it."""
    return load_module(text)


Launched = Callable[[list["torch.Tensor"], bool], object]


@contextmanager
def launched(module: ModuleType, payload: FloatPayload) -> Iterator[Launched]:
    """`call(tensors, guard)` calls the module's public function as a user would, on the small launch, and then tries its
    guard; or its launcher, where the parameters have no names. The module is left as it was found."""
    names, sizes, tiles = payload.get("names"), payload["sizes"], payload["tiles"]
    before = dict(module.__dict__)
    tables = [(t, dict(t)) for t in (module.SIZES, module.TILES)]

    def call(tensors: list[torch.Tensor], guard: bool) -> object:
        if names is None:
            set_tables(module, sizes, tiles)
            module.__dict__["_EXPECTED"] = key_of(tensors)
            return module._run(*tensors)
        public = Public(module, payload["module"], sizes, tiles)
        arguments = dict(zip(names, tensors, strict=True))
        result = public(arguments)
        if guard:
            public.check_guard(arguments)
        return result

    try:
        yield call
    finally:
        module.__dict__.update(before)
        for table, rows in tables:
            table.clear()
            table.update(rows)


def _kernels(module: ModuleType, payload: FloatPayload, tensors: list[torch.Tensor], times: int) -> KernelRun:
    results: list[tuple[torch.Tensor, ...]] = []
    guards = True
    try:
        for _ in range(times):
            memory = GuardedAllocations()
            placed = [memory.place(t) if t.is_floating_point() else t.clone() for t in tensors]
            module.__dict__["torch"] = memory
            with float_interpreter(), launched(module, payload) as call:
                out = outputs_of(call(placed, not results and times > 1))
            guards &= not memory.touched()
            if not all(torch_equal(a, b) for a, b in zip(placed, tensors)):
                return _failed("an input was changed", guards)
            results.append(out)
    except Exception as e:
        inner: BaseException = e
        while inner.__cause__ is not None:
            inner = inner.__cause__
        return _failed(f"{type(inner).__name__}: {inner}"[:600], guards)
    return {
        "error": None,
        "guards": guards,
        "dtypes": [str(o.dtype) for o in results[0]],
        "outputs": [_encode(o) for o in results[0]],
        "repeats": [a.dtype == b.dtype and torch_equal(a, b) for a, b in zip(results[0], results[-1], strict=True)],
    }


def _failed(error: str, guards: bool) -> KernelRun:
    return {"error": error, "outputs": [], "repeats": [], "guards": guards, "dtypes": []}


def torch_equal(a: torch.Tensor, b: torch.Tensor) -> bool:
    """True if two contiguous tensors have the same bits: PyTorch compares no 8-bit floats, and no NaN is its own equal."""
    import torch

    return bool(torch.equal(a.reshape(-1).view(torch.uint8), b.reshape(-1).view(torch.uint8)))


def user_run(call: Run | None, tensors: list[torch.Tensor]) -> FunctionRun:
    import torch

    if call is None:
        return {"eager": None, "single": None, "double": None, "user_error": None}

    try:
        with torch.no_grad():
            eager = outputs_of(call(*[t.clone() for t in tensors]))
            single = in_dtype(call, tensors, torch.float32)
            double = in_dtype(call, tensors, torch.float64)
    except Exception as e:  # a size in the text, or an operator that the CPU has not in this dtype
        return {"eager": None, "single": None, "double": None, "user_error": f"{type(e).__name__}: {e}"[:300]}
    lost = any(
        bool((b.isfinite() & ~a.double().isfinite()).any()) for a, b in zip(eager, double) if b.is_floating_point()
    )
    unit = _unit((*tensors, *eager))
    if lost and unit > 2.0**-50:
        with torch.no_grad():
            rounded = outputs_of(rounding(call, repeat(unit))(*cast_floats(tensors, torch.float64)))
        eager = tuple(
            torch.where(a.double().isfinite(), a.double(), b.double()) for a, b in zip(eager, rounded, strict=True)
        )
    return {
        "eager": [_encode(x) for x in eager],
        "single": [_encode(x) for x in single],
        "double": [_encode(x) for x in double],
        "user_error": None,
    }


def _unit(tensors: Sequence[torch.Tensor]) -> float:
    """Half a unit in the last place of the coarsest dtype among them that is computed with: 8-bit floats are only stored."""
    import torch

    computed = [t.dtype for t in tensors if t.is_floating_point() and t.element_size() > 1]
    return max((torch.finfo(dtype).eps / 2 for dtype in computed), default=0.0)


def rounded_run(call: Run, tensors: list[torch.Tensor], runs: int) -> RoundedRun:
    """The outputs of so many runs of the function, with each result as far off as its dtype may make it, at random."""
    return {"rounded": [[_encode(x) for x in found] for found in rounded_outputs(call, tensors, runs)]}


def rounded_outputs(
    call: Run,
    tensors: Sequence[torch.Tensor],
    runs: int,
    within: Callable[[int], AbstractContextManager[object]] = nullcontext,
) -> Iterator[tuple[torch.Tensor, ...]]:
    """The same, on whichever device the tensors are; `within(seed)` is a mode that each run is in."""
    import torch

    wide = cast_floats(tensors, torch.float64)
    with torch.no_grad():
        units = units_of(call, *[t.clone() for t in tensors])
        for seed in range(runs):
            with within(seed):
                yield outputs_of(rounding(call, units, seed)(*wide))
