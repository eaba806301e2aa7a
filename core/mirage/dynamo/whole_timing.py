"""Whether a whole graph is faster with kernels in it: a region's alone may be, and cost the compiler a fusion with what lies beside.

Both are called in turns as the program calls them, on the inputs of one call: what they write is put back, and random numbers that
they draw are drawn again.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

ROUNDS, CALLS = 7, 5
WARM = 4  # calls before: CUDA graphs run twice before they are recorded
KEEP = 0.995  # of the time without kernels: what is no faster than that stays the compiler's whole
MOST_TRIES = 3  # sets of kernels that are compiled into a graph: each is compiled by the rest's compiler, which may tune for long

Run = Callable[..., Any]


@dataclass(frozen=True)
class SetTried:
    """The kinds of kernels that a graph was timed with, by name; seconds of a call with them and without."""

    kinds: frozenset[str]
    with_s: float
    without_s: float

    @property
    def is_faster(self) -> bool:
        return self.with_s <= KEEP * self.without_s


def on_gpu(args: Sequence[object]) -> bool:
    """Whether a call with these inputs runs on a GPU."""
    import torch

    return any(isinstance(x, torch.Tensor) and x.is_cuda for x in args)


def is_recorded() -> bool:
    """Whether what runs now is recorded as a CUDA graph: then nothing can be timed."""
    import torch

    return bool(torch.cuda.is_current_stream_capturing())


def choose(kinds: Sequence[str], time_with: Callable[[frozenset[str]], tuple[float, float]]) -> list[SetTried]:
    """Times a graph with all kinds of kernels, `kinds` (the one that gains least comes first), then without the first, and so on while that
    helps or nothing was faster yet; `time_with` gives seconds with a set and without any. All that was tried, in order."""
    tried: list[SetTried] = []
    for first in range(min(len(kinds), MOST_TRIES)):
        taken = frozenset(kinds[first:])
        tried.append(SetTried(taken, *time_with(taken)))
        if len(tried) > 1 and tried[-2].is_faster and _share(tried[-1]) >= _share(tried[-2]):
            break
    return tried


def best(tried: Sequence[SetTried]) -> SetTried | None:
    """The set with which the graph is fastest; None where it is fastest without kernels."""
    fast = [x for x in tried if x.is_faster]
    return min(fast, key=_share) if fast else None


def _share(x: SetTried) -> float:
    return x.with_s / x.without_s


def seconds(runs: Sequence[Run], args: Sequence[Any], written: Sequence[int]) -> list[float]:
    """The median seconds of a call of each. `written`: the places of inputs that a call may write to."""
    with _left_as_found(args, written):
        for run in runs:
            _burst(run, args, WARM)
        found: list[list[float]] = [[] for _ in runs]
        for _ in range(ROUNDS):
            for run, times in zip(runs, found, strict=True):
                times.append(_burst(run, args, CALLS) / CALLS)
        return [statistics.median(times) for times in found]


def _burst(run: Run, args: Sequence[Any], calls: int) -> float:
    import torch

    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(calls):
        torch.compiler.cudagraph_mark_step_begin()  # what the call before gave may be written over
        run(*args)
    torch.cuda.synchronize()
    return time.perf_counter() - start


@contextmanager
def _left_as_found(args: Sequence[Any], written: Sequence[int]) -> Iterator[None]:
    import torch

    before = {i: args[i].clone() for i in written}
    states = torch.get_rng_state(), torch.cuda.get_rng_state_all()
    try:
        yield
    finally:
        with torch.no_grad():
            for i, value in before.items():
                args[i].copy_(value)
        torch.set_rng_state(states[0])
        torch.cuda.set_rng_state_all(states[1])


def written_by(graph: torch.fx.Graph, args: Sequence[object]) -> list[int]:
    """The places of a call's tensors that the functional graph may write to: its own last copies say which; where its inputs are not the
    call's one by one, any may be."""
    import torch

    inputs = graph.find_nodes(op="placeholder")
    tensors = [i for i, x in enumerate(args) if isinstance(x, torch.Tensor)]
    if len(inputs) != len(args):
        return tensors
    copied = {n.args[0] for n in graph.find_nodes(op="call_function", target=torch.ops.aten.copy_.default)}
    return [i for i in tensors if inputs[i] in copied or not isinstance(args[i], torch.nn.Parameter)]
