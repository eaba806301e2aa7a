"""Times on a GPU: CUDA graph replay, cold (rotating input sets larger than L2) and hot (one set), interleaved.

Each repetition replays every candidate once, in turn, so that clocks and neighbours disturb all of them alike; a time
is the median over the repetitions, its spread half the distance between the quartiles.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Union, cast

from mirage.codegen.interpreter import load_module
from mirage.errors import MissingPackage
from mirage.isolate.gpu_lock import locked
from mirage.profile.worker_tasks import MeasureAnswer, MeasurePayload, TimingRow

if TYPE_CHECKING:
    import torch

Function = Callable[..., object]  # of tensors, on the GPU
Tensors = Sequence["torch.Tensor"]
Result = Union["torch.Tensor", Sequence["torch.Tensor"]]
CALLS = 20  # of one graph, at least
REPLAYED = 200  # calls of one repetition, or as many as `REPETITION_MS` hold
REPETITION_MS = 20.0  # of one function, but for one rotation through the sets
ROTATED = 3  # times L2 that the sets of inputs hold together
MOST_SETS = 512
SHARE = 0.4  # of the device's free memory that the sets may take
CHUNK = 1 << 26  # elements that are compared in float64 at once


@dataclass(frozen=True)
class Timing:
    """Median µs a call with inputs that are not in L2 (`cold`), with one set of inputs (`hot`), and their spreads."""

    cold: float
    hot: float
    cold_spread: float
    hot_spread: float


def require_gpu() -> None:
    """Raises MissingPackage where torch sees no CUDA GPU."""
    import torch

    if not torch.cuda.is_available():
        raise MissingPackage("no CUDA GPU is visible to torch", next_step="measure on a machine with one")


def tensors_bytes(tensors: Tensors) -> int:
    """Bytes of all tensors together."""
    return sum(int(t.numel() * t.element_size()) for t in tensors)


def input_sets(make_inputs: Callable[[int], Tensors], l2: int, room: float = math.inf) -> list[Tensors]:
    """Enough sets of inputs that a rotation through them leaves nothing of the first in L2, but no more than have `room` (bytes)
    beside the first. `make_inputs(seed)`."""
    first = tuple(make_inputs(0))
    each = max(tensors_bytes(first), 1)
    wanted = max(2, min(MOST_SETS, int(ROTATED * l2 / each) + 1))
    return [first, *(tuple(make_inputs(i)) for i in range(1, min(wanted, 1 + int(min(room / each, MOST_SETS)))))]


def calls_in(us: float, sets: int) -> int:
    """Calls of one graph where a call takes about so many µs: `CALLS`, fewer where `REPETITION_MS` hold fewer, and one for each set."""
    return max(sets, min(CALLS, int(REPETITION_MS * 1e3 / max(us, 1e-3))), 1)


def replays_in(us: float, calls: int) -> int:
    """Replays of one repetition of a graph of so many calls that takes so many µs."""
    return max(1, min(-(-REPLAYED // calls), int(REPETITION_MS * 1e3 / max(us, 1e-3))))


def elapsed(run: Callable[[], object], times: int = 1) -> float:
    """µs of all these runs one after the other on the device."""
    import torch

    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(times):
        run()
    end.record()
    torch.cuda.synchronize()
    return float(start.elapsed_time(end)) * 1e3


def warm(function: Function, sets: Sequence[Tensors]) -> None:
    """What a function does at its first calls, such as compiling, on the stream that graphs are recorded from."""
    import torch

    with torch.cuda.stream(torch.cuda.Stream()):
        for inputs in sets[:3]:
            function(*inputs)
            function(*inputs)
    torch.cuda.synchronize()


def graph_of(
    function: Function, sets: Sequence[Tensors], calls: int, pool: tuple[int, int] | None = None
) -> torch.cuda.CUDAGraph:
    """A CUDA graph of `calls` calls of a function that is `warm`, each with the next set of inputs. Graphs of one `pool` have their
    intermediate tensors in the same memory: one is replayed after the other, and nobody reads what they leave."""
    import torch

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):
        for i in range(calls):
            function(*sets[i % len(sets)])
    return graph


@dataclass(frozen=True)
class CapturedCalls:
    """A graph of so many calls; a repetition of it is so many replays."""

    graph: torch.cuda.CUDAGraph
    calls: int
    replays: int = 0

    def us(self) -> float:
        """Of one call, over one repetition."""
        return elapsed(self.graph.replay, self.replays) / (self.calls * self.replays)

    def bounded(self) -> CapturedCalls:
        """With the replays of a repetition, by the time of one."""
        self.graph.replay()  # its first replay moves it to the device
        return CapturedCalls(self.graph, self.calls, replays_in(elapsed(self.graph.replay), self.calls))


def measure(
    functions: dict[str, Function],
    make_inputs: Callable[[int], Tensors],
    *,
    repetitions: int = 9,
    hot: bool = True,
    notes: list[str] | None = None,
) -> dict[str, Timing]:
    """Times every function on the same inputs, with the GPU to itself as far as this user goes. `make_inputs(seed)` gives one
    set of device tensors. Without `hot` those times are NaN. What was less than usual is added to `notes`."""
    require_gpu()
    import torch

    properties = torch.cuda.get_device_properties(torch.cuda.current_device())
    sets = input_sets(make_inputs, int(properties.L2_cache_size), SHARE * torch.cuda.mem_get_info()[0])
    if len(sets) == 1 and notes is not None:
        notes.append("timed with one set of inputs: the device's memory holds no second one")
    times: dict[tuple[str, str], list[float]] = {}
    recorded: dict[tuple[str, str], CapturedCalls] = {}
    pool = torch.cuda.graph_pool_handle()
    for name, function in functions.items():
        warm(function, sets)
        us = elapsed(partial(function, *sets[0]))  # no less than what it takes in a graph
        for temperature, some in (("cold", sets), ("hot", sets[:1])) if hot else (("cold", sets),):
            calls = calls_in(us, len(some))
            recorded[name, temperature] = CapturedCalls(graph_of(function, some, calls, pool), calls)
    with locked(str(properties.uuid)):
        recorded = {key: one.bounded() for key, one in recorded.items()}
        for _ in range(repetitions):
            for key, one in recorded.items():
                times.setdefault(key, []).append(one.us())
    return {
        name: Timing(
            statistics.median(times[name, "cold"]),
            statistics.median(times[name, "hot"]) if hot else math.nan,
            spread(times[name, "cold"]),
            spread(times[name, "hot"]) if hot else math.nan,
        )
        for name in functions
    }


def spread(values: Sequence[float]) -> float:
    """Half the distance between the quartiles."""
    if len(values) < 2:
        return 0.0
    low, _, high = statistics.quantiles(values, n=4)
    return (high - low) / 2


def times_of_module(payload: MeasurePayload) -> MeasureAnswer:
    """In the worker: an emitted module's function ("kernel") timed beside its original ("eager"), a plain read of its inputs
    ("read") and, if asked, torch.compile of the original."""
    require_gpu()
    import torch

    from mirage.profile.streaming_read import read_all

    module = load_module(payload["text"], interpret=False)
    name = payload["function"]
    original = getattr(module, f"_original_{name}")
    functions: dict[str, Function] = {"kernel": module._run, "eager": original, "read": read_all}
    if payload.get("compile"):
        functions["compile"] = torch.compile(original, dynamic=False)
        functions["compile_max"] = torch.compile(original, dynamic=False, mode="max-autotune-no-cudagraphs")

    def make_inputs(seed: int) -> Tensors:
        generator = torch.Generator(device="cuda").manual_seed(seed)
        return [random_tensor(shape, dtype, generator) for shape, dtype in module._EXPECTED]

    sample = make_inputs(0)
    error = relative_difference(module._run(*sample), original(*sample))
    times = {k: timing_row(v) for k, v in measure(functions, make_inputs).items()}
    return {"device": torch.cuda.get_device_name(), "times": times, "error": error}


def timing_row(timing: Timing) -> TimingRow:
    return cast(TimingRow, asdict(timing))


def random_tensor(
    shape: Sequence[int], dtype: torch.dtype, generator: torch.Generator, *, inside: bool = False
) -> torch.Tensor:
    """Floats with a deviation of 1/2 around 0, or evenly between 0.05 and 0.95 (`inside`: there roots and logarithms have values);
    integers 0 and 1."""
    import torch

    if dtype.is_floating_point and inside:
        return (torch.rand(*shape, device="cuda", generator=generator) * 0.9 + 0.05).to(dtype)
    if dtype.is_floating_point:
        return torch.randn(*shape, device="cuda", generator=generator).mul_(0.5).to(dtype)
    return torch.randint(0, 2, tuple(shape), device="cuda", generator=generator).to(dtype)


def relative_difference(a: Result, b: Result) -> float:
    """The largest difference over the largest value, of a tensor or of the worst of a tuple; NaN is the worst."""
    if isinstance(a, (tuple, list)):
        every = [relative_difference(x, y) for x, y in zip(a, b, strict=True)]
        return max(every, key=lambda e: (e != e, e))
    import torch

    x, y = torch.broadcast_tensors(cast("torch.Tensor", a), cast("torch.Tensor", b))
    pairs = zip(
        x.reshape(-1).split(CHUNK), y.reshape(-1).split(CHUNK), strict=True
    )  # a copy of all in float64 may not fit
    most = [torch.stack(((u.double() - v.double()).abs().max(), v.double().abs().max())) for u, v in pairs]
    difference, largest = (float(m) for m in torch.stack(most).amax(0))
    return difference / (largest or 1.0)


def steady(run: Function, inputs: Tensors, times: int) -> bool:
    """Whether so many further calls give the bits of the first: an emitted kernel adds in one order, so that a difference is a race."""
    import torch

    def tensors(found: object) -> tuple[torch.Tensor, ...]:
        return tuple(found) if isinstance(found, (tuple, list)) else (cast("torch.Tensor", found),)

    first = tensors(run(*inputs))
    differs = torch.zeros((), dtype=torch.bool, device=first[0].device)
    for _ in range(times):
        for x, y in zip(tensors(run(*inputs)), first, strict=True):
            differs |= (bits(x) != bits(y)).any()
    return not bool(differs)


def bits(x: torch.Tensor) -> torch.Tensor:
    """The tensor's bits as integers, so that one comparison tells NaN from NaN."""
    import torch

    integers = {1: torch.uint8, 2: torch.int16, 4: torch.int32}
    return x.contiguous().view(integers.get(x.element_size(), torch.int64))
