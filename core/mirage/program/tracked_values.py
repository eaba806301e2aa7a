"""Sizes and devices that a traced text reads, as values that notice what it does with them.

A size may be a shape's part, a factor or a divisor: terms say so. A comparison says nothing in the terms, and neither does a
quotient rounded down; those are told to a `Listener`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import SupportsIndex, TypeVar, overload

from mirage.program.text_frames import asking_line

Listener = Callable[[str, str], None]  # (what is done with it, the dim's name), where the text does it
Ask = Callable[[str, object], object]  # (what is asked, the answer) -> the answer that the text gets
C = TypeVar("C", bound=type)

_SMOOTH = ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "pow", "rpow", "neg", "pos")
_STEPPED = (
    "floordiv", "rfloordiv", "mod", "rmod", "divmod", "rdivmod", "lshift", "rlshift", "rshift", "rrshift", "and", "rand",
    "or", "ror", "xor", "rxor", "invert", "abs", "round", "floor", "ceil", "trunc",
)  # fmt: skip
_COMPARED = ("lt", "le", "gt", "ge", "eq", "ne")
_READ = ("bool", "hash", "int", "float", "str", "repr", "format")


class TrackedInt(int):
    """A size, or a whole number made of sizes. `subject`: the name of the dim whose size it is, '' if it has none; `stepped`:
    it may be the same at two sizes."""

    listener: Listener
    subject: str
    stepped: bool

    def bit_length(self) -> int:
        return _tracked(int(int.bit_length(self)), self, True)  # type: ignore[return-value]


class TrackedFloat(float):
    """A number made of sizes."""

    listener: Listener
    subject: str
    stepped: bool


Tracked = TrackedInt | TrackedFloat


def size(value: int, subject: str, listener: Listener, stepped: bool = False) -> TrackedInt:
    made = TrackedInt(value)
    made.listener, made.subject, made.stepped = listener, subject, stepped
    return made


def _tracked(value: object, of: Tracked, stepped: bool) -> object:
    """A number made of `of`; a pair of them."""
    if isinstance(value, tuple):
        return tuple(_tracked(v, of, stepped) for v in value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    if isinstance(value, int):
        return size(int.__int__(value), "", of.listener, stepped)
    made = TrackedFloat(value)
    made.listener, made.subject, made.stepped = of.listener, "", stepped
    return made


def _same_size(a: Tracked, b: object) -> bool:
    """Two reads of one named dim are equal at every size."""
    return isinstance(b, TrackedInt) and bool(a.subject) and a.subject == b.subject


def _computing(base: type, name: str, stepped: bool) -> Callable[..., object] | None:
    original = getattr(base, f"__{name}__", None)
    if original is None:
        return None

    def compute(self: Tracked, *others: object) -> object:
        further = any(isinstance(x, TrackedInt | TrackedFloat) and x.stepped for x in others)
        value = original(self, *others)
        if value is NotImplemented and isinstance(self, int) and isinstance(others[0], float):
            value = getattr(float, f"__{name}__")(float(int.__int__(self)), others[0])
        return _tracked(value, self, stepped or self.stepped or further)

    return compute


def _comparing(base: type, name: str) -> Callable[..., object]:
    original = getattr(base, f"__{name}__")

    def compare(self: Tracked, other: object) -> object:
        if not _same_size(self, other) and asking_line() is not None:
            self.listener("is compared", self.subject)
        return original(self, other)

    return compare


def _reading(base: type, name: str) -> Callable[..., object]:
    original = getattr(base, f"__{name}__")

    def read(self: Tracked, *given: object) -> object:
        if asking_line() is not None:
            self.listener("is read as a number", self.subject)
        return original(self, *given)

    return read


def _hooked(kind: C, base: type) -> C:
    for name in (*_SMOOTH, *_STEPPED):
        method = _computing(base, name, name in _STEPPED)
        if method is not None:
            setattr(kind, f"__{name}__", method)
    for name in _COMPARED:
        setattr(kind, f"__{name}__", _comparing(base, name))
    for name in _READ:
        if hasattr(base, f"__{name}__"):
            setattr(kind, f"__{name}__", _reading(base, name))
    return kind


_hooked(TrackedInt, int)
_hooked(TrackedFloat, float)


class Shape(tuple[object, ...]):
    """What the text reads as a tensor's shape: a tuple of sizes like torch.Size."""

    def numel(self) -> int:
        return math.prod(n for n in self if isinstance(n, int))

    @overload
    def __getitem__(self, at: SupportsIndex) -> object: ...
    @overload
    def __getitem__(self, at: slice) -> Shape: ...
    def __getitem__(self, at: SupportsIndex | slice) -> object:
        found = tuple.__getitem__(self, at)
        return Shape(found) if isinstance(at, slice) and isinstance(found, tuple) else found

    def __add__(self, other: Iterable[object]) -> Shape:
        return Shape((*self, *other))


class TrackedText(str):
    """A device as a text, which torch's calls take; whatever else the text does with it is a question."""

    ask: Ask

    @property
    def type(self) -> TrackedText:
        return device_text(str.partition(self, ":")[0], self.ask)

    @property
    def index(self) -> object:  # type: ignore[override]
        return self.ask("device.index", None)


def device_text(value: str, ask: Ask) -> TrackedText:
    made = TrackedText(value)
    made.ask = ask
    return made


def _text_method(name: str) -> Callable[..., object]:
    original = getattr(str, name)

    def method(self: TrackedText, *given: object) -> object:
        answer = original(self, *[str(x) if type(x).__name__ == "device" else x for x in given])
        together = name in ("__eq__", "__ne__") and any(isinstance(x, TrackedText) for x in given)
        return answer if together or asking_line() is None else self.ask("device", answer)

    return method


for _name in dir(str):
    _special = _name.startswith("__") and _name not in (
        "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__", "__str__", "__repr__", "__format__",
        "__len__", "__iter__", "__contains__", "__getitem__", "__add__", "__mod__", "__mul__", "__rmul__",
    )  # fmt: skip
    if not _special and _name not in ("index", "maketrans"):
        setattr(TrackedText, _name, _text_method(_name))


def as_number(value: object) -> bool:
    """Is it, or does it hold, a number made of sizes that may be the same at two sizes?"""
    if isinstance(value, (list, tuple)):
        return any(as_number(v) for v in value)
    return isinstance(value, TrackedInt | TrackedFloat) and value.stepped


_ROUNDING = {"floor", "ceil", "trunc", "isqrt", "gcd", "lcm", "fmod", "remainder", "frexp", "modf", "comb", "perm"}


def tracked_math() -> ModuleType:
    """`math`, whose functions of sizes give numbers made of sizes."""
    module = ModuleType(math.__name__)
    for name, value in vars(math).items():
        if not name.startswith("__"):
            setattr(module, name, _of_sizes(value) if callable(value) else value)
    return module


def _of_sizes(function: Callable[..., object]) -> Callable[..., object]:
    @functools.wraps(function)
    def call(*args: object, **kwargs: object) -> object:
        tracked = [x for x in args if isinstance(x, TrackedInt | TrackedFloat)]
        value = function(*[_plain(x) for x in args], **kwargs)
        if tracked and isinstance(value, bool):
            tracked[0].listener("is compared", "")
        stepped = function.__name__ in _ROUNDING or any(x.stepped for x in tracked)
        return _tracked(value, tracked[0], stepped) if tracked else value

    return call


def _plain(value: object) -> object:
    if isinstance(value, TrackedInt):
        return int.__int__(value)
    return float.__float__(value) if isinstance(value, TrackedFloat) else value
