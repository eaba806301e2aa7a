"""The kernels of regions: one entry for all equal regions of a process, asked of the daemon and swapped in when it is verified."""

from __future__ import annotations

import linecache
import os
import sys
from types import FunctionType
from typing import TYPE_CHECKING

from mirage.dynamo.region_text import RegionText
from mirage.link import paths
from mirage.runtime import daemon_kernels, daemon_thread
from mirage.runtime.call_types import Function
from mirage.runtime.decorator import choose
from mirage.runtime.observed_calls import Inputs, Observer
from mirage.runtime.opaque_operator import OutputLayout, register

if TYPE_CHECKING:
    import torch

    from mirage.ir.json_value import JsonObject
    from mirage.link.client import Client
    from mirage.link.request_parameters import Inputs as Rows

IN_BACKGROUND = 3  # the priority of a submission: behind what anyone looks at
NOT_ASKED = "no daemon was asked yet"
NO_GPU = "its inputs are not all on one GPU"
ASKED = "the daemon works on it"
ESTIMATED = "its kernel was only estimated to be faster, not measured"
# Where kernels run: their modules refuse other tensors, and the region would then run operator by operator.
DEVICE = "cuda"
FOLDER = "regions"  # beside the kernels: nothing is there, it only makes the path that errors and the cache's list name


class RegionKernel(Observer):
    """A region's function as written, and its kernel once there is one. `reason` says why it has none; `gain` is what the daemon
    measured or estimated (0.0: it was not this process that took it)."""

    seldom_s = 10.0  # it is submitted, so that the answer comes in minutes: a program that runs for ten should have it for nine

    def __init__(self, written: RegionText) -> None:
        self.written = written
        function = _load(written)
        super().__init__(function, self._use)
        self.kernel: Function | None = None
        self._answer: JsonObject | None = None
        self.reason, self.gain = NOT_ASKED, 0.0
        self.asked: Inputs = tuple(
            (name, shape, dtype) for name, (shape, dtype, _) in zip(written.parameters, written.inputs, strict=True)
        )
        off = os.environ.get(daemon_thread.SWITCH, "").lower() in ("off", "0", "false")
        strided = [name for name, lies in zip(written.parameters, written.inputs, strict=True) if not _is_dense(lies)]
        if strided:
            self.done, self.reason = True, f"`{strided[0]}` is not contiguous"
        elif written.device != DEVICE:
            self.done, self.reason = True, NO_GPU
        elif off:
            self.done, self.reason = True, f"{daemon_thread.SWITCH} is off"
        else:
            chosen = choose(function)
            if chosen is not function:
                self._use(chosen)

    def _use(self, kernel: Function) -> None:
        self.kernel, self.reason, self.done = kernel, "", True

    def poll(self) -> None:
        """Ask the daemon, if it is time to, and install what it answered: here and not in the background's thread, where parsing
        would meet the parsing of whoever compiles just now. Waits for nobody."""
        answer, self._answer = self._answer, None
        if answer is not None:
            kernel = daemon_kernels.take(self.function, self.asked, answer)
            if kernel is not None:
                self._use(kernel)
        if not self.done:
            self.ask(self.asked)

    def tell(self, client: Client, text: str, path: str, rows: Rows) -> None:
        """Submit it: a region has no editor that would."""
        client.submit(
            text, path, self.written.name, daemon_kernels.target(), IN_BACKGROUND, interpreter=sys.executable, inputs=rows
        )  # fmt: skip
        self.reason = ASKED

    def wants(self, answer: JsonObject) -> bool:
        """Nothing at once; `poll` takes a kernel alone: what PyTorch's compiler is better at stays in the graph that it gets whole. A
        kernel that no GPU timed is not taken either: here is a GPU, and what it runs now may well be faster."""
        self.reason = str(answer.get("reason") or f"the answer is {answer.get('answer')}")
        estimate = answer.get("estimate")
        times = estimate if isinstance(estimate, dict) else {}
        took, instead = times.get("us"), times.get("baseline_us")
        if isinstance(took, float) and isinstance(instead, float) and took > 0:
            self.gain = instead / took
        kernel, timed = answer.get("answer") == "kernel", times.get("measured") is True
        if kernel and not timed:
            notes = answer.get("notes")
            said = [x for x in notes if isinstance(x, str)] if isinstance(notes, list | tuple) else []
            self.reason, self.gain = ": ".join([ESTIMATED, *said[-1:]]), 0.0
        self.done = not (kernel and timed)
        self._answer = None if self.done else answer
        return False

    def operator(self) -> torch._ops.OpOverload:
        """The region with its kernel as one operator."""
        import torch

        outputs = [
            OutputLayout(shape, getattr(torch, dtype.partition(".")[2]), s) for shape, dtype, s in self.written.outputs
        ]
        return register(self.written.name, self.written.parameters, outputs, self._run())

    def _run(self) -> Function:
        name = self.written.name

        def run(*inputs: torch.Tensor) -> object:
            entry = _known[name]
            return (entry.kernel or entry.function)(*inputs)

        return run


_known: dict[str, RegionKernel] = {}


def kernel_of(written: RegionText) -> RegionKernel:
    """The one entry for a region."""
    if written.name not in _known:
        _known[written.name] = RegionKernel(written)
    return _known[written.name]


def _is_dense(lies: tuple[tuple[int, ...], str, tuple[int, ...]]) -> bool:
    shape, _, strides = lies
    size = 1
    for n, stride in zip(reversed(shape), reversed(strides), strict=True):
        if n != 1 and stride != size:
            return False
        size *= n
    return True


def _load(written: RegionText) -> FunctionType:
    """The function of the region's text; the text is ours, and names operators of PyTorch alone."""
    path = str(paths.data_dir() / FOLDER / f"{written.name}.py")
    linecache.cache[path] = (len(written.text), None, written.text.splitlines(True), path)
    space: dict[str, object] = {"__name__": f"_mirage_{written.name}"}
    exec(compile(written.text, path, "exec", dont_inherit=True), space)
    function = getattr(space[written.name], "__wrapped__", None)
    if not isinstance(function, FunctionType):
        raise TypeError(f"{written.name} is no function")
    return function
