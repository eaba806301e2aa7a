"""The processes that one or more runs of the pipeline share."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from mirage.devices.table import Device
from mirage.errors import MirageError
from mirage.ir.dtypes import EIGHT_BIT
from mirage.isolate.cores import usable_cores
from mirage.isolate.runner import Worker
from mirage.profile.candidate_choice import gpu_here
from mirage.results.progress import CancelToken

GPU_MEMORY = 64 << 30  # bytes that the GPU's worker and its compilers may take of the machine
WARM_S = 120.0  # limit of what the GPU's worker does once
# What both workers import before they can do anything; PyTorch's library is loaded beside the first
IMPORTS = ("sympy", "torch", "triton")


class Tools:
    """The workers of one or more runs: one traces and runs kernels in the interpreter, one compiles beside it."""

    def __init__(self) -> None:
        threads = str(max(1, usable_cores() // 2))
        self.runner = Worker(env={"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": threads})
        self.compiler = Worker()
        self.gpu = Worker(memory_bytes=GPU_MEMORY, unix=True) if gpu_here() else None
        self.beside = ThreadPoolExecutor(2)
        self.busy: Future[Any] | None = None  # what the GPU's worker does beside the tracing and the search
        self.stop = CancelToken()
        self.converts: bool | None = None

    def __enter__(self) -> Tools:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.cancel()
        self.gpu_idle()
        self.beside.shutdown(wait=False, cancel_futures=True)
        self.runner.close()
        self.compiler.close()
        if self.gpu is not None:
            self.gpu.close()

    def begin(self) -> None:
        """Lets both workers import what takes long, at the same time and before anybody calls them: the compiler would else begin
        with it once there is a text, and everybody would wait for it."""
        for worker in (self.runner, self.compiler):
            worker.warm(*IMPORTS)
        self.beside.submit(importlib.import_module, "scipy.optimize")  # of the layout pass, while this process waits

    def compiler_for(self, dev: Device) -> Worker:
        """The worker that compiles: a fresh one where the device before had the instructions that convert 8-bit floats and this
        one has not, or the other way round. Triton keeps what it chose for the first target of a process."""
        converts = not dev.lacks(EIGHT_BIT)
        if self.converts not in (None, converts):
            self.compiler.close()
        self.converts = converts
        return self.compiler

    def warm(self, target: str) -> None:
        """Lets the GPU's worker begin with what it does once, beside the tracing and the search."""
        gpu = self.gpu
        if gpu is not None and self.busy is None:
            payload = {"processes": max(1, usable_cores() - 1), "target": target}
            self.on_gpu(lambda: gpu.call("warm_gpu", payload, timeout_s=WARM_S, cancel=self.stop))

    def on_gpu(self, work: Callable[[], Any]) -> None:
        """Lets the GPU's worker do that in the background, after what it does there now."""
        before = self.busy

        def after() -> None:
            if before is not None:
                before.exception()
            work()

        self.busy = self.beside.submit(after)

    def gpu_idle(self) -> None:
        """Waits for the background; what failed there fails again, with its own words, where it is needed."""
        if self.busy is not None:
            with suppress(MirageError):
                self.busy.result()
