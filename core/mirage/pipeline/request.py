"""A request to optimize a function, and its first steps: reading the function's text, tracing its program.

Tracing runs the user's code, so it happens in a worker (`isolate`); nothing here imports torch or triton.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from mirage.devices.table import Device
from mirage.errors import Cancelled, DtypeOfDevice, FunctionNotFound, InPlaceEdit, MirageError, UnsupportedOutput
from mirage.ir.dtypes import TORCH_NAMES
from mirage.ir.program import Program
from mirage.ir.tensor_spec import TensorSpec
from mirage.ir.writes import Writes
from mirage.isolate.task_table import Caller, Payload
from mirage.program.integers import refuse_integers
from mirage.results.progress import CancelToken
from mirage.search.checkpoint import Checkpoint
from mirage.search.engine import Bounds
from mirage.source import detect, shapes, slice
from mirage.source.functional_text import functional, functional_name
from mirage.verify.proof.user_rules import Rules

TRACE_S = 60.0  # limit of tracing
MAY_WRITE = (InPlaceEdit, UnsupportedOutput)  # who writes to an input may return nothing


@dataclass(frozen=True)
class Request:
    """What is asked: the file's text and path, the function, the target architecture, the search's bounds. What the
    decorator asks of every kernel holds unless `bounds.given` asks for something."""

    text: str
    path: str
    function: str
    target: str = "sm_90"
    trusted: bool = True
    anyway: bool = False  # give the best verified kernel also where the answer is "keep yours"
    measure: bool = True  # time the candidates where this machine has a GPU of the target
    bounds: Bounds = field(default_factory=Bounds)
    rules: Rules | None = None  # the user's, read and tested
    checkpoint: Checkpoint | None = None  # where searches keep their finished parts (a file: those of one)


@dataclass(frozen=True)
class Function:
    """A decorated function that was read: its slice, and its inputs' specs (of the last of the `rows` that it asks for). `models`: for
    each row the one whose kernel it takes at its own sizes. Of a function that writes to its inputs it is one that works on copies: with
    what it `writes`, and the function as the user wrote it."""

    decorated: detect.Decorated
    slice: slice.Slice
    inputs: tuple[TensorSpec, ...]
    rows: tuple[tuple[TensorSpec, ...], ...]
    models: tuple[int, ...]
    writes: Writes | None = None
    written: Function | None = None

    @property
    def users(self) -> Function:
        """The function as the user wrote it."""
        return self if self.written is None else self.written


def read(request: Request) -> Function:
    """The function's slice and shapes, or the error that says why not."""
    scan = detect.find(request.text, request.path)
    found = next((f for f in scan.functions if f.name == request.function), None)
    if found is None:
        names = ", ".join(f.name for f in scan.functions) or "none"
        raise FunctionNotFound(f"no decorated function {request.function} (decorated here: {names})", path=request.path)
    if found.error is not None:
        raise found.error
    every = list(map(tuple, shapes.rows(found)))
    rows = tuple(dict.fromkeys(every))
    models = shapes.models(found)
    of = {row: rows.index(every[models[i]]) for i, row in enumerate(every)}
    return Function(found, slice.cut_decorated(found), rows[-1], rows, tuple(of[row] for row in rows))


def trace(function: Function, path: str, worker: Caller, cancel: CancelToken, *, task: str = "trace") -> Program:
    """The tensor program, traced in the worker; by the task "whole_function", one of a single operator."""
    try:
        answer = worker.call(task, _payload(function, function.inputs), timeout_s=TRACE_S, cancel=cancel)
        return Program.from_dict(answer["program"])
    except MirageError as e:
        e.path = e.path or path
        raise


def traced(function: Function, path: str, worker: Caller, cancel: CancelToken) -> tuple[Function, Program]:
    """The function and its program; of a function that writes to its inputs that which works on copies."""
    try:
        return function, trace(function, path, worker, cancel)
    except MAY_WRITE as refused:
        function = without_writes(function, worker, cancel, refused)
        return function, trace(function, path, worker, cancel)


def without_writes(function: Function, worker: Caller, cancel: CancelToken, refused: MirageError) -> Function:
    """A function that writes to its inputs, as one that works on copies, by what it does for each of its rows. Raises what was
    `refused`, with the reason, where that is not followed."""
    found = set()
    try:
        for row in function.rows:
            answer = worker.call("written_inputs", _payload(function, row), timeout_s=TRACE_S, cancel=cancel)
            found.add(Writes.from_dict(answer["writes"]))
        if len(found) > 1:
            raise InPlaceEdit("it writes to other inputs at other sizes")
        (writes,) = found
        part = functional(function.slice, [i.name for i in function.inputs], writes)
    except Cancelled:
        raise
    except MirageError as error:
        if not (isinstance(error, InPlaceEdit) and isinstance(refused, InPlaceEdit)):
            raise refused from None
        why = InPlaceEdit(f"{refused.message}: {error.message}", next_step=error.next_step)
        why.path, why.line = refused.path, refused.line
        raise why from None
    decorated = replace(function.decorated, name=functional_name(function.decorated.name), docstring=None)
    return replace(function, decorated=decorated, slice=part, writes=writes, written=function)


def _payload(function: Function, inputs: tuple[TensorSpec, ...]) -> Payload:
    return {
        "text": function.slice.text,
        "function": function.decorated.name,
        "inputs": [{"name": i.name, "shape": list(i.shape), "dtype": i.dtype, "names": list(i.names)} for i in inputs],
    }


def runnable(program: Program, dev: Device, path: str) -> None:
    """Raises DtypeOfDevice where the device has not a dtype of the program, UnsupportedOperands where a kernel would compute with
    integers."""
    refuse_integers(program, path)
    lacking = dev.lacks([i.type.dtype for i in program.inputs] + [n.type.dtype for n in program.nodes])
    if lacking:
        names = ", ".join(TORCH_NAMES[d] for d in lacking)
        raise DtypeOfDevice(f"kernels for {dev.target} ({dev.name}) have no {names}", path=path)
