"""The worker tasks of profiling: payload and answer of each, as they are on the wire."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypedDict, cast

Call = Callable[[dict[str, object]], dict[str, object]]  # a task's payload -> its answer
Emit = Callable[[dict[str, object]], None]  # sends counts while a task runs


class TimingRow(TypedDict):
    """A `Timing`: µs a call and their spreads."""

    cold: float
    hot: float
    cold_spread: float
    hot_spread: float


# ---- "tune": emitted modules compiled, checked and timed
class TunePayload(TypedDict, total=False):
    """`seconds`: after these no further module is compiled. Unless it is the `last` one, a call times all once; what it found
    is known to the next. `compiled`, `attention`: the baselines that are timed beside the last ones; `without`: not these. `alone`:
    each text is timed by itself before it is timed with others, so that one that breaks the process is known. `written`: a module
    of the function without kernels, by which the baselines are timed where no text is right. `prepare`: the baselines get ready while
    the texts are compiled."""

    texts: list[str]
    function: str
    target: str
    processes: int
    seconds: float
    last: bool
    compiled: bool
    attention: bool
    without: list[str]
    alone: bool
    written: str
    prepare: bool


class ModuleRow(TypedDict, total=False):
    """What is known of one module: the compiler's `shared` bytes, the `error` against float64 and the function's own, what its
    kernels take, the µs of its last timing (`cold`); or why it `failed`."""

    failed: str
    shared: int
    registers: int
    spills: int
    compile_s: float
    check_s: float
    error: float
    eager_error: float
    cold: float


class _TuneAnswer(TypedDict):
    device: str
    rows: list[ModuleRow]
    times: dict[str, TimingRow]


class TuneAnswer(_TuneAnswer, total=False):
    """`device`: "" where there is no GPU of the target, and `why`. `rows`: one a text. `times`, of the last round: texts by their
    index, baselines by name, "read": a plain read of the inputs. `seconds`: until the choice, without the baselines, which were
    `prepared` in so many; `first`: until the first was checked and timed. `broken`: this process
    launches nothing more, the texts that were not run are to be asked of another. `missing`: baselines that could not run, and why;
    `notes`: how the timing was less than usual."""

    why: str
    seconds: float
    prepared: float
    first: float
    broken: bool
    missing: dict[str, str]
    notes: list[str]


def tune(call: Call, payload: TunePayload) -> TuneAnswer:
    return cast(TuneAnswer, call({**payload}))


# ---- "warm_gpu": what the first tuning would wait for
class WarmPayload(TypedDict, total=False):
    processes: int
    target: str


class WarmAnswer(TypedDict):
    device: str


# ---- "measure": an emitted module beside what it stands for
class MeasurePayload(TypedDict, total=False):
    """`compile`: torch.compile of the original is timed too."""

    text: str
    function: str
    compile: bool


class MeasureAnswer(TypedDict):
    """`times`: "kernel", "eager", "read" and, if asked, the compiled ones; `error`: the largest difference of the two outputs over
    the original's largest value."""

    device: str
    times: dict[str, TimingRow]
    error: float


# ---- "compile": what the compiler says of a module's kernels
class CompilePayload(TypedDict, total=False):
    text: str
    target: str


class KernelRow(TypedDict):
    """A `KernelFacts` with what follows from it."""

    name: str
    grid: tuple[int, ...]
    warps: int
    stages: int
    cluster: int
    shared: int
    limit: int
    registers: int
    spills: int
    wgmma: int
    mma: int
    tcgen05: int
    cp_async: int
    tma: int
    fits: bool
    tensor_cores: bool


class CompileAnswer(TypedDict):
    kernels: list[KernelRow]
