"""The worker tasks of verification: payload and answer of each, as they are on the wire."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Protocol, TypedDict, TypeVar, cast

from mirage.ir.program import Attr

RunTask = Callable[[str, dict[str, object]], dict[str, object]]  # (the task's name, its payload) -> its answer
Tiles = dict[str, dict[str, int]]
P = TypeVar("P")
R = TypeVar("R")


class Ahead(Protocol):
    """Begins work that runs tasks, and goes on."""

    def __call__(self, work: Callable[[RunTask, P], R], payload: P) -> Future[R]: ...

    def beside(self, work: Callable[[RunTask, P], R], payload: P) -> Future[R]:
        """Before what was asked and has not begun, and at the same time as it."""
        ...


# Floats: `as` is numpy's dtype of the bytes. Of an input, `type` is our dtype.
PackedFloats = TypedDict("PackedFloats", {"shape": list[int], "as": str, "data": bytes})
PackedInput = TypedDict("PackedInput", {"type": str, "shape": list[int], "as": str, "data": bytes})


# ---- "float": the emitted kernels and the function on floats
class _FloatPayload(TypedDict):
    module: str
    text: str
    function: str
    sizes: dict[str, int]
    tiles: Tiles
    inputs: list[list[PackedInput]]


class FloatPayload(_FloatPayload, total=False):
    """`inputs`: a list of runs, each a list of inputs; `names`: the parameters that these are, without which the launcher
    alone is called; `times`: how often each is run (else the first twice). With `roundings` only the function runs, so many
    times in float64, each time with other roundings."""

    constants: dict[str, object]
    names: list[str]
    times: int
    roundings: int


class KernelRun(TypedDict):
    """The kernels' outputs in the first run, and whether the last gave the same bits (`repeats`); `guards`: nothing beside an output
    was written."""

    error: str | None
    guards: bool
    dtypes: list[str]
    outputs: list[PackedFloats]
    repeats: list[bool]


class FunctionRun(TypedDict):
    """The user's function in its own dtype, in float32 and in float64; None where it raises (it may name a size that this
    launch has not)."""

    eager: list[PackedFloats] | None
    single: list[PackedFloats] | None
    double: list[PackedFloats] | None
    user_error: str | None


class FloatRun(KernelRun, FunctionRun):
    """Both on the same inputs."""


class RoundedRun(TypedDict):
    """The function's outputs with each of the roundings."""

    rounded: list[list[PackedFloats]]


class FloatAnswer(TypedDict):
    """One entry a run."""

    runs: list[FloatRun] | list[RoundedRun]


def run_floats(run_task: RunTask, payload: FloatPayload) -> FloatRun:
    """One run of the kernels and the function."""
    (run,) = run_regimes(run_task, payload)
    return run


def run_regimes(run_task: RunTask, payload: FloatPayload) -> list[FloatRun]:
    """Runs of the kernels and the function, one for each of the `inputs`."""
    return cast("list[FloatRun]", run_task("float", {**payload})["runs"])


def run_rounded(run_task: RunTask, payload: FloatPayload, roundings: int) -> RoundedRun:
    """So many runs of the function on the same inputs with other roundings."""
    (run,) = cast("list[RoundedRun]", run_task("float", {**payload, "roundings": roundings})["runs"])
    return run


# ---- "field_text": an emitted module in the field
class PackedArray(TypedDict):
    """An array as it is."""

    shape: list[int]
    dtype: str
    data: bytes


class FieldInput(PackedArray):
    """A parameter's values; `type` is our dtype."""

    name: str
    type: str


class FieldCall(PackedArray):
    """A call that stays PyTorch's own, and what it gives in this run."""

    op: str
    attrs: Sequence[tuple[str, Attr]]
    arguments: int
    type: str


class FieldPayload(TypedDict):
    """`seed`, `draws`, `opaque`: of the field; `inputs` in the order of the function's parameters."""

    module: str
    seed: int
    draws: int
    opaque: list[str]
    inputs: list[FieldInput]
    calls: list[FieldCall]
    sizes: dict[str, int]
    tiles: Tiles


class LaunchTables(TypedDict):
    """The tables that a module launches with by default."""

    SIZES: dict[str, int]
    TILES: Tiles


class _FieldAnswer(TypedDict):
    outputs: list[PackedArray]
    faults: list[str]


class FieldAnswer(_FieldAnswer, total=False):
    """The outputs, what each call was given, and faults in words: with a fault of the run itself nothing else. `expected`:
    (shape, dtype) of each tensor that the guard asks for. `unevaluated`: it ended with an error."""

    unevaluated: bool
    calls: list[list[PackedArray]]
    constants: LaunchTables
    expected: list[tuple[list[int], str]]


def run_field_text(run_task: RunTask, payload: FieldPayload) -> FieldAnswer:
    """An emitted module's public function in the field."""
    return cast(FieldAnswer, run_task("field_text", {**payload}))


# ---- "rerun": two programs on random floats until they differ
class RerunPayload(TypedDict):
    """`left`, `right`: the programs' texts; `inputs`: (name, shape, torch's dtype); `k`: the length of the first contraction."""

    left: str
    right: str
    inputs: list[tuple[str, list[int], str]]
    sizes: dict[str, int]
    tiles: Tiles
    k: int
    seeds: int
    seconds: float


class _DifferentElement(TypedDict):
    error: str


class DifferentElement(_DifferentElement, total=False):
    """An element that differs (the shapes, where these do); or the `error` that the right program raised."""

    output: int
    index: list[int]
    expected: float | str
    actual: float | str


class Difference(DifferentElement):
    """With the inputs: the kind of the draw, its seed, and the `values` when they are few."""

    kind: str
    seed: int
    values: list[object]


class RerunAnswer(TypedDict):
    """`inputs` and `expected` are the bytes of float64 values."""

    found: Difference | None
    tried: int
    errors: list[str]
    inputs: list[bytes]
    expected: list[bytes]


def run_again(run_task: RunTask, payload: RerunPayload) -> RerunAnswer:
    """The search for a difference."""
    return cast(RerunAnswer, run_task("rerun", {**payload}))


# ---- "real_sizes": a module without a µGraph, at its real sizes
class RealPayload(TypedDict):
    """`module`: its text, whose function `public` is called; `program`: what it is to compute, the trace of `function` in `text`;
    `undefined`: where that gives NaN of finite inputs the module may give numbers."""

    module: str
    public: str
    program: dict[str, Any]
    text: str
    function: str
    undefined: bool


class ShownElement(TypedDict):
    """An element that differs, and both values in words."""

    output: int
    index: list[int]
    want: str
    got: str


class RealAnswer(TypedDict):
    """The word and why, with the line of the module (0 where there is none); `notes`: what is assumed."""

    word: str
    summary: str
    line: int
    shown: ShownElement | None
    notes: list[str]
    runs: int
    largest: float


def run_at_real_sizes(run_task: RunTask, payload: RealPayload) -> RealAnswer:
    """The judgement of a module's text at its real sizes."""
    return cast(RealAnswer, run_task("real_sizes", {**payload}))


# ---- "float_on_device": an emitted module at its own shapes, on the device that it is for
class _DevicePayload(TypedDict):
    text: str
    function: str
    names: list[str]
    masks: list[str]
    integers: dict[str, int]
    k: int
    products: int
    seed: int


class DevicePayload(_DevicePayload, total=False):
    """`names`: the function's tensors; `masks`: those that are masks; `integers`: below what each is drawn if it has integers;
    `k`, `products`: the lengths of the longest sum and of the first contraction; `device`: torch's name of it, "cuda" if none."""

    device: str


class DeviceRow(TypedDict):
    """One output on one regime: as `RegimeError`, with the first element that fails."""

    regime: str
    output: int
    dtype: str
    error: float
    eager: float
    budget: float
    allowed: float
    why: str
    index: list[int]
    expected: str
    actual: str
    roundings: int


class DeviceAnswer(TypedDict):
    """`where`: the device's name; `skipped`: regimes that could not be run, and why."""

    where: str
    rows: list[DeviceRow]
    skipped: list[str]


def run_on_device(run_task: RunTask, payload: DevicePayload) -> DeviceAnswer:
    """The module beside the function in float64, at the module's own shapes."""
    return cast(DeviceAnswer, run_task("float_on_device", {**payload}))
