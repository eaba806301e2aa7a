"""Loading and recording the user's function inside a worker.

Refusals here give a clear message; the limited process around the worker keeps the user's machine safe.
"""

from __future__ import annotations

import builtins
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

from mirage.errors import SideEffect, TraceFailed, UnsafeReference
from mirage.program import deferred_compiler
from mirage.program.local_names import LocalNames
from mirage.program.meta_kernels import kernels_by_schema
from mirage.program.overlapping_copy import refuse_overlap
from mirage.program.questions import Questions
from mirage.program.text_frames import FILE, current_line
from mirage.program.tracked_values import TrackedText
from mirage.program.written_text import written

if TYPE_CHECKING:
    import torch
    from torch.overrides import TorchFunctionMode

ALLOWED_MODULES = {"torch", "math", "typing", "functools", "collections", "dataclasses", "enum", "__future__",
                   "jaxtyping", "numbers", "operator", "itertools", "mirage", "typing_extensions"}  # fmt: skip
REFUSED = ("print", "open", "input", "exec", "eval", "compile", "breakpoint", "globals", "exit", "quit", "help")


def _refusal(name: str) -> Callable[..., NoReturn]:
    def refuse(*args: object, **kwargs: object) -> NoReturn:
        raise SideEffect(f"the function calls {name}()")

    return refuse


_WATCHED = {"torch", "math"}  # of these modules it is known what the text asks


def _importer(state: dict[str, bool], questions: Questions | None) -> Callable[..., ModuleType]:
    def load(name: str, *args: Any, **kwargs: Any) -> ModuleType:
        # torch's C++ imports through the running frame's builtins too: with a list, where the statement has a tuple or None
        of_torch = len(args) > 2 and isinstance(args[2], list)
        native = of_torch and name in sys.modules
        if state["running"] and not native:
            missing = ModuleNotFoundError(name, name=name) if of_torch else None  # it may be there once the compiler is
            raise SideEffect(
                f"the function imports `{name}` while it runs", next_step="import it at the top of the file"
            ) from missing
        if name.partition(".")[0] not in ALLOWED_MODULES:
            raise UnsafeReference(f"`{name}` may not be imported")
        found: ModuleType = builtins.__import__(name, *args, **kwargs)
        watched = questions is not None and not native and name.partition(".")[0] in _WATCHED
        return questions.module(found) if watched and questions is not None else found

    return load


def load(text: str, function: str, questions: Questions | None = None) -> Callable[..., object]:
    """Executes a slice and gives its function, with the builtins that reach outside replaced by refusals. With `questions`
    it is known what the text asks of PyTorch."""
    state = {"running": False}
    safe = {k: v for k, v in vars(builtins).items() if k not in REFUSED}
    safe.update({name: _refusal(name) for name in REFUSED})
    safe.update({} if questions is None else questions.builtins())
    safe["__import__"] = _importer(state, questions)
    names: dict[str, object] = {"__name__": "mirage_function", "__builtins__": safe}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code = text if questions is None else written(text)
        exec(compile(code, FILE, "exec", dont_inherit=True), names)
    found = names.get(function)
    if not callable(found):
        raise TraceFailed(f"the text defines no function `{function}`")
    user: Callable[..., object] = found

    def run(*args: object, **kwargs: object) -> object:
        state["running"] = True
        try:
            return user(*args, **kwargs)
        finally:
            state["running"] = False

    run.__wrapped__ = user  # type: ignore[attr-defined]
    return run


def line_of(error: BaseException) -> int | None:
    """The line of the text where an exception was raised, if it passed through the text."""
    found = error.lineno if isinstance(error, SyntaxError) and error.filename == FILE else None
    tb = error.__traceback__
    while tb is not None:
        if tb.tb_frame.f_code.co_filename == FILE:
            found = tb.tb_lineno
        tb = tb.tb_next
    return found


def _elsewhere(device: object) -> bool:
    """Is it another device than a traced tensor's? What was asked of a tensor is its own."""
    import torch

    if isinstance(device, TrackedText):
        return False
    named = isinstance(device, str) and device.partition(":")[0] in ("cpu", "cuda", "xpu", "mps")
    return named or (isinstance(device, int | torch.device) and not isinstance(device, bool))


_RANDOM = ("rand", "randn", "randint", "randperm", "normal")
_FACTORIES = ("arange", "ones", "zeros", "full", "empty", "eye", "linspace")


def on_meta(questions: Questions, names: LocalNames | None = None) -> TorchFunctionMode:
    """A mode in which tensors that the function makes live where its inputs do, whatever device it names, and what it asks of
    tensors and what it calls them is known."""
    import torch
    from torch.overrides import TorchFunctionMode

    factories = {getattr(torch, name) for name in _FACTORIES}
    random = {getattr(torch, name) for name in _RANDOM}
    movers = {torch.Tensor.cpu, torch.Tensor.cuda}

    class OnMeta(TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(
            self,
            function: Callable[..., object],
            types: object,
            args: tuple[object, ...] = (),
            kwargs: dict[str, object] | None = None,
        ) -> object:
            if names is not None:
                names.look()
            moved = {**(kwargs or {}), "device": "meta"} if function in factories else kwargs or {}
            if function in random:
                raise SideEffect("random numbers are drawn", next_step="draw them outside, and pass them as an input")
            elsewhere = function is torch.Tensor.to and any(_elsewhere(x) for x in (*args[1:], moved.get("device")))
            if elsewhere or function in movers:
                raise SideEffect("a tensor is moved to another device")
            refuse_overlap(function, args)
            return questions.of_call(function, args, moved, function(*args, **moved))

    return OnMeta()


@contextmanager
def _lines() -> Iterator[None]:
    """Each recorded node gets the line of the text that made it."""
    import torch

    original = torch.fx.Graph.create_node
    owner = threading.get_ident()

    def create(self: torch.fx.Graph, *args: object, **kwargs: object) -> torch.fx.Node:
        node = original(self, *args, **kwargs)
        if threading.get_ident() == owner:
            node.meta.setdefault("mirage_line", current_line())
        return node

    torch.fx.Graph.create_node = create
    try:
        yield
    finally:
        torch.fx.Graph.create_node = original


def record(
    call: Callable[..., object], metas: Sequence[torch.Tensor], questions: Questions, *, functional: bool = False
) -> torch.fx.GraphModule:
    """A GraphModule: the PyTorch calls that `call` makes on meta tensors. Of a `functional` one nothing is written in place: what writes to
    a part of a tensor makes a new tensor, which all views of the old one show from then on. Raises WrittenInput where an input is."""
    import torch
    from torch.fx.experimental.proxy_tensor import make_fx

    deferred_compiler.defer()

    def plain(*tensors: torch.Tensor) -> object:
        names = LocalNames()
        with on_meta(questions, names):
            made = call(*tensors)
        names.end()
        return made

    with _lines(), kernels_by_schema(), torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not functional:
            return make_fx(plain, pre_dispatch=True)(*metas)
        written: list[WrittenInput] = []
        module = make_fx(_without_writes(plain, written), pre_dispatch=True)(*metas)
        if written:
            raise written[0]
        return module


class WrittenInput(Exception):
    """The input of this number is written to, in this line of the text."""

    def __init__(self, number: int, line: int | None) -> None:
        super().__init__(number, line)
        self.number, self.line = number, line


def _without_writes(call: Callable[..., object], written: list[WrittenInput]) -> Callable[..., object]:
    """`written` gets what is to be raised: exceptions that go through PyTorch's tracer come out as others."""
    from torch._functorch._aot_autograd.functional_utils import has_data_mutation
    from torch._subclasses.functional_tensor import FunctionalTensorMode, dispatch_functionalize
    from torch.overrides import TorchFunctionMode

    def looked_at(*tensors: torch.Tensor) -> object:
        def look() -> None:
            for number, x in enumerate(tensors):
                if not written and has_data_mutation(x):
                    written.append(WrittenInput(number, current_line()))

        class Look(TorchFunctionMode):  # type: ignore[misc]
            """Looks behind each call: there the line is known."""

            def __torch_function__(
                self,
                function: Callable[..., object],
                types: object,
                args: tuple[object, ...] = (),
                kwargs: dict[str, object] | None = None,
            ) -> object:
                made = function(*args, **(kwargs or {}))
                look()
                return made

        with Look():
            made = call(*tensors)
        look()
        return made

    found: Callable[..., object] = dispatch_functionalize(
        looked_at, FunctionalTensorMode(pre_dispatch=True, export=True)
    )
    return found
