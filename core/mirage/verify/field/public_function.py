"""The public function of an emitted module on a small launch, and the test of its guard, in a worker.

It is called as a user would, and with what its kernels were not made for, which must reach the original."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from types import ModuleType
from typing import TYPE_CHECKING

from mirage.verify.field.device_memory import TextFault

if TYPE_CHECKING:
    import torch

Arguments = Mapping[str, object]
Tensors = Mapping[str, "torch.Tensor"]


@lru_cache(maxsize=4)  # every run of a module's text asks
def public_name(text: str) -> str:
    """The function of the launcher's part of a module that has an original."""
    begin = "# mirage:begin launcher"
    if begin not in text:
        raise TextFault("the module has no launcher")
    part = text.partition(begin)[2].partition("# mirage:end launcher")[0]
    every = {n.name for n in ast.parse(text).body if isinstance(n, ast.FunctionDef)}
    found = [n.name for n in ast.parse(part).body if isinstance(n, ast.FunctionDef) and f"_original_{n.name}" in every]
    if len(found) != 1:
        raise TextFault(f"the launcher defines {len(found)} functions that have an original")
    return found[0]


class Fallback(Exception):
    """The original was called, with these arguments by name."""

    def __init__(self, arguments: Arguments) -> None:
        self.arguments = arguments


def bound(function: Callable[..., object], values: Arguments) -> tuple[list[object], dict[str, object]]:
    """The arguments of a call that gives each named parameter its value."""
    parameters = inspect.signature(function).parameters
    missing = [n for n in values if n not in parameters]
    if missing:
        raise TextFault(f"the public function has no parameter {missing[0]!r}")
    first = [n for n, p in parameters.items() if p.kind is p.POSITIONAL_ONLY and n in values]
    return [values[n] for n in first], {n: v for n, v in values.items() if n not in first}


def _shape(function: Callable[..., object]) -> list[tuple[str, object, str]]:
    return [(n, p.kind, repr(p.default)) for n, p in inspect.signature(function).parameters.items()]


def key_of(values: Iterable[object]) -> tuple[tuple[tuple[int, ...], object], ...]:
    """The key that a guard compares: the shapes and dtypes of the tensors among the values."""
    return tuple((tuple(t.shape), t.dtype) for t in values if hasattr(t, "shape") and hasattr(t, "dtype"))


def set_tables(module: ModuleType, sizes: Mapping[str, int], tiles: Mapping[str, Mapping[str, int]]) -> None:
    """Makes the module one for a small launch: its launcher refuses other sizes and tiles than the module's own."""
    for table, own in ((module.SIZES, sizes), (module.TILES, tiles)):
        table.clear()
        table.update(own)


def _same(row: object, made: tuple[object, ...]) -> bool:
    return isinstance(row, tuple) and len(row) == len(made) and all(a is b for a, b in zip(row, made))


class Public:
    """A module's public function whose tables are those of a small launch."""

    def __init__(
        self, module: ModuleType, text: str, sizes: Mapping[str, int], tiles: Mapping[str, Mapping[str, int]]
    ) -> None:
        self.name = public_name(text)
        self.describes = "tensor_descriptor" in text  # the interpreter itself puts names into the module
        self.function = getattr(module, self.name)
        self.expected = [(list(shape), str(dtype)) for shape, dtype in module._EXPECTED]
        original = getattr(module, f"_original_{self.name}")

        if _shape(self.function) != _shape(original):
            raise TextFault("the public function takes its parameters otherwise than the original")

        def fallback(*args: object, **kwargs: object) -> object:
            raise Fallback(inspect.signature(original).bind(*args, **kwargs).arguments)

        module.__dict__[f"_original_{self.name}"] = fallback
        set_tables(module, sizes, tiles)
        self.module = module
        self.rows = getattr(module, "_BY_SIZE", None)
        made = (module._run, module.SIZES, module.TILES)
        if self.rows is not None and not _same(self.rows.get(module._EXPECTED), made):
            raise TextFault("the table of sizes has something else for these inputs")

    def __call__(self, tensors: Tensors) -> object:
        """The results of the kernels. Raises TextFault where the guard turns these tensors down."""
        small = key_of(tensors.values())
        if self.rows is not None:  # the other rows stay, but where this launch has their sizes
            strange = {
                key_of(values.values())
                for _, values in self._strange(tensors)
                if len(key_of(values.values())) == len(small)
            }
            own = self.module._EXPECTED
            self.module.__dict__["_BY_SIZE"] = {
                small if k == own else k: row for k, row in self.rows.items() if k == own or k not in {small, *strange}
            }
        self.module.__dict__["_EXPECTED"] = small
        args, kwargs = bound(self.function, tensors)
        try:
            return self.function(*args, **kwargs)
        except Fallback:
            raise TextFault("the guard turns the tensors down that the kernels were made for") from None

    def check_guard(self, tensors: Tensors) -> None:
        """Raises TextFault where the function takes what its kernels were not made for, or hands it on wrongly."""
        for what, values in self._strange(tensors):
            args, kwargs = bound(self.function, values)
            try:
                self.function(*args, **kwargs)
            except Fallback as e:
                for n, v in values.items():
                    if e.arguments.get(n) is not v:
                        raise TextFault(f"the original gets another {n} than the public function") from None
                continue
            except ValueError as e:
                raise TextFault(f"the guard takes {what}: {e}") from None
            raise TextFault(f"the guard takes {what}")

    def _strange(self, tensors: Tensors) -> Iterator[tuple[str, dict[str, object]]]:
        import torch

        for name, t in tensors.items():
            for what, other in strange_tensors(t):
                yield f"{what} for {name}", {**tensors, name: other}
            if self.describes:
                yield f"what begins between 16 bytes for {name}", {**tensors, name: between(t)}
        away = {n: torch.empty(t.shape, dtype=t.dtype, device="meta") for n, t in tensors.items()}
        yield "tensors of another device", away
        for name in inspect.signature(self.function).parameters:
            if name not in tensors:
                yield f"another value of {name}", {**tensors, name: object()}


def between(t: torch.Tensor) -> torch.Tensor:
    """A tensor like `t` that begins 8 bytes behind a multiple of 16."""
    import torch

    first = max(1, 8 // t.element_size())
    return torch.empty(t.numel() + first, dtype=t.dtype)[first:].view(t.shape)


def strange_tensors(t: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
    """Tensors that differ from `t` in one thing that its kernels depend on."""
    import torch

    yield "another dtype", torch.empty(t.shape, dtype=torch.int16)
    yield "another shape", torch.empty((t.shape[0] + 1, *t.shape[1:]) if t.ndim else (2,), dtype=t.dtype)
    yield "another device", torch.empty(t.shape, dtype=t.dtype, device="meta")
    if t.numel() > 1:
        yield "gaps between elements", torch.empty((*t.shape, 2), dtype=t.dtype)[..., 0]
    if t.dtype.is_floating_point:
        yield "a tensor that needs its gradient", torch.empty(t.shape, dtype=t.dtype, requires_grad=True)
