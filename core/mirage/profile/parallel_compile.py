"""Emitted modules compiled side by side, in processes that never touch the GPU.

A process compiles what a launch of the module would, under the same key, so that the launch finds it in Triton's cache.
The processes live as long as this one: the next µGraphs find them warm.
"""

from __future__ import annotations

import math
import multiprocessing
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures import TimeoutError as Late
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING

from mirage.profile.worker_tasks import ModuleRow

if TYPE_CHECKING:
    from triton.backends.compiler import GPUTarget

from mirage.codegen.interpreter import load_module
from mirage.devices.table import device
from mirage.profile.compiler_facts import first_line, record_launches

COMPILE_S = 60  # of one module
EARLY = 4  # processes that start before there is anything to compile
LATE = "not run: no time was left"
DIED = "its compiler's process died"
Work = Callable[[str, str], ModuleRow]
_pools: dict[int, ProcessPoolExecutor] = {}


class CompileDriver:
    """What Triton asks of a driver when it compiles; nothing can be launched."""

    def __init__(self, capability: int) -> None:
        self.capability = capability

    def get_current_target(self) -> GPUTarget:
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", self.capability, 32)

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int | None = None) -> int:
        return 0


def compile_text(text: str, target: str) -> ModuleRow:
    """{"shared": bytes of a block, "compile_s"}, or why it `failed`."""
    from triton.runtime import driver

    def late(*_: object) -> None:
        raise TimeoutError(f"not compiled after {COMPILE_S} s")

    limits, start = device(target), time.monotonic()
    driver.set_active(CompileDriver(limits.capability))
    signal.signal(signal.SIGALRM, late)
    signal.alarm(COMPILE_S)
    try:
        module = load_module(text, interpret=False)
        launches = record_launches(module)
        kernels = [getattr(module, x.kernel).warmup(*x.args, grid=x.grid, **x.keywords) for x in launches]
    except Exception as e:  # what does not compile is a row of the report
        return {"failed": first_line(e)}
    finally:
        signal.alarm(0)
    shared = max((int(k.metadata.shared) for k in kernels), default=0)
    if shared > limits.shared_per_block:
        return {"failed": f"{shared} bytes of shared memory, {limits.shared_per_block} are there"}
    return {"shared": shared, "compile_s": time.monotonic() - start}


def pool(processes: int) -> ProcessPoolExecutor:
    """The processes, made at the first call."""
    if processes not in _pools:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["torch", "triton", "triton.language", "mirage.profile.compiler_facts"])
        _pools[processes] = ProcessPoolExecutor(processes, context)
    return _pools[processes]


def close() -> None:
    """Ends the processes."""
    while _pools:
        _pools.popitem()[1].shutdown(wait=False, cancel_futures=True)


def ready(target: str) -> None:
    """Compiles something small: the first time takes seconds longer."""
    import torch
    from triton.runtime import driver

    from mirage.profile.streaming_read import BLOCK, _read

    driver.set_active(CompileDriver(device(target).capability))
    x = torch.empty(BLOCK, dtype=torch.int32, device="meta")
    _read.warmup(x, x, BLOCK, grid=(1,), BLOCK=BLOCK, num_warps=4)


def start(processes: int, target: str) -> list[Future[None]]:
    """Begins to start the first of the processes; what comes back is done when they can compile. The others start when there is
    work for them: beside a search that all of them start at once they take its processor and its memory's bandwidth."""
    return [pool(processes).submit(ready, target) for _ in range(min(processes, EARLY))]


def alone(work: Work, text: str, target: str) -> ModuleRow:
    """`work` in a process of its own."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("forkserver")) as one:
        try:
            return one.submit(work, text, target).result()
        except BrokenProcessPool:
            return {"failed": DIED}


def compiled(
    texts: Sequence[str], target: str, processes: int, until: float, work: Work = compile_text
) -> Iterator[tuple[int, ModuleRow]]:
    """Begins with all, and gives each text's index and row as they are done; what is not begun `until` then (on the
    monotonic clock) is `LATE`. If a process dies, each of those that were not done gets one of its own."""
    waiting = {pool(processes).submit(work, text, target): i for i, text in enumerate(texts)}
    return _done(waiting, texts, target, processes, until, work)


def _done(
    waiting: dict[Future[ModuleRow], int], texts: Sequence[str], target: str, processes: int, until: float, work: Work
) -> Iterator[tuple[int, ModuleRow]]:
    left = set(waiting.values())
    seconds = None if until == math.inf else max(0.0, until - time.monotonic())  # a wait takes no infinity
    try:
        for future in as_completed(waiting, timeout=seconds):
            row = future.result()
            left.discard(waiting[future])
            yield waiting[future], row
    except Late:
        for future in waiting:
            future.cancel()
        for i in sorted(left):
            yield i, {"failed": LATE}
    except BrokenProcessPool:
        close()
        todo = sorted(left)
        with ThreadPoolExecutor(processes) as threads:
            yield from zip(todo, threads.map(lambda i: alone(work, texts[i], target), todo), strict=True)
