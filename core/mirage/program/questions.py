"""What a traced text asks of tensors and of PyTorch that shapes and dtypes do not fix: the questions and their answers.

A `Questions` belongs to one run of the text. It may turn the answers to some yes-or-no questions round, so that a run
shows what the text does then.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType

from mirage.ir.tensor_spec import TensorSpec
from mirage.program import tracked_values
from mirage.program.asked_modules import AskedModule
from mirage.program.question_table import FIXED, KIND, SHAPING, SIZES
from mirage.program.text_frames import asking_line
from mirage.program.tracked_values import Shape, TrackedInt, device_text, tracked_math
from mirage.program.written_text import OWN, SAME, TRIED


@dataclass(frozen=True)
class Question:
    """`number`: how often it was asked before at that line."""

    kind: str
    what: str
    subject: str
    line: int
    number: int


@dataclass(frozen=True)
class SizeRead:
    """A line that does with a size what the terms do not say; `name` is the dim's, '' if it has none."""

    line: int
    what: str
    name: str


class Questions:
    """The questions of one run. `turned`: those that get the other answer."""

    def __init__(self, turned: Collection[Question] = ()) -> None:
        self.turned = frozenset(turned)
        self.answers: dict[Question, object] = {}
        self.sizes: list[SizeRead] = []
        self.dtypes: list[int] = []  # lines that read the dtype of a computed tensor
        self.names: dict[int, str] = {}  # id of an input -> its name
        self.dims: dict[int, tuple[str, ...]] = {}  # id of an input -> its dims' names

    def about(self, tensors: Sequence[object], inputs: Sequence[TensorSpec]) -> None:
        """The tensors that the text is called with."""
        for x, i in zip(tensors, inputs, strict=True):
            self.names[id(x)] = i.name
            self.dims[id(x)] = tuple("" if n.isdigit() else n for n in i.names)

    def ask(self, what: str, subject: str, answer: object) -> object:
        """The answer that the text gets to a question of its own; PyTorch's own code gets the plain one."""
        line = asking_line()
        if line is None:
            return answer
        kind = KIND.get(what, "setting")
        number = sum((q.what, q.subject, q.line) == (what, subject, line) for q in self.answers)
        question = Question(kind, what, subject, line, number)
        if question in self.turned and isinstance(answer, bool):
            answer = not answer
        self.answers[question] = answer
        return answer

    def _dtype_read(self) -> None:
        """The dtype of a computed tensor is another one under autocast, and that of a factory with another default."""
        line = asking_line()
        if line is not None and line not in self.dtypes:
            self.dtypes.append(line)

    def _of_pytorch(self, what: str, answer: object) -> object:
        return self.ask(what, "PyTorch", answer)

    def size_read(self, what: str, name: str) -> None:
        self.sizes.append(SizeRead(asking_line() or 0, what, name))

    def of_call(self, function: Callable[..., object], args: tuple[object, ...], kwargs: Mapping[str, object],
                result: object) -> object:  # fmt: skip
        """What the text gets of a call that PyTorch's modes see."""
        name = _name(function)
        if name not in SHAPING and tracked_values.as_number([*args, *kwargs.values()]) and asking_line() is not None:
            self.size_read("is rounded to a number", "")
        of = args[0] if args else None
        if name == "dtype" and id(of) not in self.names:
            self._dtype_read()
        if name in FIXED or _has_tensors(result):
            return result
        if name in SIZES:
            return self._sizes(of, result, args[1:], kwargs)
        if name == "is_contiguous" and (len(args) > 1 or kwargs):
            name = "is_contiguous in a format"
        if type(result).__name__ == "device":
            if not _is_tensor(of):
                return result  # one that the text makes
            subject = self._subject(of)
            return device_text(str(result), lambda what, answer: self.ask(what, subject, answer))
        if result is None and function.__name__ != "__get__" and name not in KIND:
            return result  # it is called for what it does
        return result if type(result).__name__ == "dtype" else self.ask(name, self._subject(of), result)

    def _subject(self, of: object) -> str:
        return self.names.get(id(of), "a computed tensor")

    def _sizes(self, of: object, result: object, given: tuple[object, ...], kwargs: Mapping[str, object]) -> object:
        names = self.dims.get(id(of), ())
        if isinstance(result, tuple):
            named = [*names, *[""] * len(result)]
            return Shape(tracked_values.size(int(n), named[i], self.size_read) for i, n in enumerate(result))
        if not isinstance(result, int):
            return result
        dim = given[0] if given else kwargs.get("dim", 0)
        one = isinstance(dim, int) and -len(names) <= dim < len(names) and (given or kwargs)
        return tracked_values.size(result, names[int(dim)] if one and isinstance(dim, int) else "", self.size_read)

    def module(self, real: ModuleType) -> ModuleType:
        """A module as the text sees it."""
        return tracked_math() if real is math else AskedModule(real, self._of_pytorch)

    def builtins(self) -> dict[str, object]:
        """The builtins through which a size would become a plain number, or a tensor answer without being called."""

        def length(x: object) -> object:
            shape = getattr(x, "shape", None)
            return shape[0] if isinstance(shape, Shape) and shape else len(x)  # type: ignore[arg-type]

        def counted(*given: int) -> object:
            plain = [int.__int__(x) if isinstance(x, int) else x for x in given]
            if not any(isinstance(x, TrackedInt) for x in given):
                return range(*plain)
            return [tracked_values.size(i, "", self.size_read) for i in range(*plain)]

        def identity(x: object) -> object:
            return self.ask("id", self._subject(x), id(x)) if _is_tensor(x) else id(x)

        def kind(x: object, classes: type | tuple[type, ...]) -> object:
            answer = isinstance(x, classes)
            return self.ask("isinstance", self._subject(x), answer) if _is_tensor(x) and _is_narrow(classes) else answer

        def has(x: object, name: str) -> object:
            answer = hasattr(x, name)
            return self.ask("attribute", self._subject(x), answer) if _is_attached(x, name) else answer

        def attribute(x: object, name: str, *otherwise: object) -> object:
            answer = getattr(x, name, *otherwise)
            return self.ask("attribute", self._subject(x), answer) if _is_attached(x, name) else answer

        asking = {SAME: self.same, TRIED: self.tried, OWN: self.own, "hasattr": has, "getattr": attribute}
        return {"len": length, "range": counted, "id": identity, "isinstance": kind, **asking}

    def same(self, a: object, b: object) -> object:
        """`a is b`. Whether a call of a tensor gives the tensor itself may depend on its strides and its device."""
        return self.ask("is", self._subject(a), a is b) if _is_tensor(a) and _is_tensor(b) else a is b

    def own(self, x: object, name: str) -> object:
        """`x.__class__` and `x.__dict__`."""
        answer: object = getattr(x, name)
        return self.ask(name, self._subject(x), answer) if _is_tensor(x) else answer

    def tried(self) -> None:
        """A `try` whose handler may run for tensors of another kind."""
        self.ask("try", "PyTorch", None)


def _name(function: Callable[..., object]) -> str:
    """A function's name; a property's own, not that of its getter."""
    name = str(getattr(function, "__name__", ""))
    return str(getattr(getattr(function, "__self__", None), "__name__", name)) if name == "__get__" else name


def _is_tensor(value: object) -> bool:
    import torch

    return isinstance(value, torch.Tensor)


def _has_tensors(value: object) -> bool:
    return any(map(_has_tensors, value)) if isinstance(value, (list, tuple)) else _is_tensor(value)


def _is_attached(x: object, name: str) -> bool:
    """An attribute that a tensor has only if somebody gave it."""
    import torch

    return _is_tensor(x) and not hasattr(torch.Tensor, name)


def _is_narrow(kind: object) -> bool:
    """A class of which some tensors are, and others with the same shape and dtype are not."""
    import torch

    listed = kind if isinstance(kind, tuple) else (kind,)
    return torch.Tensor not in listed and any(isinstance(c, type) and issubclass(c, torch.Tensor) for c in listed)
