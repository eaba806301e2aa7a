"""PyTorch's modules as a traced text sees them: what they answer without a tensor, a setting or a flag, is a question."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import NoReturn

from mirage.errors import SideEffect
from mirage.program.question_table import FIXED, KIND
from mirage.program.tracked_values import Ask, TrackedText


class AskedModule(ModuleType):
    """One of PyTorch's modules; those inside are seen in the same way."""

    def __init__(self, real: ModuleType, ask: Ask) -> None:
        super().__init__(real.__name__)
        self.__dict__.update(_real=real, _ask=ask, _known={})

    def __getattr__(self, name: str) -> object:
        known: dict[str, object] = self.__dict__["_known"]
        ask: Ask = self.__dict__["_ask"]
        if name in known:
            return known[name]
        value = getattr(self.__dict__["_real"], name)
        whole = f"{self.__name__}.{name}"
        if isinstance(value, ModuleType):
            known[name] = AskedModule(value, ask)
        elif isinstance(value, FunctionType | BuiltinFunctionType):
            seen = name in FIXED or value in _overridable()
            known[name] = (
                _refusing(whole)
                if name.startswith("set_")
                else value
                if seen
                else _answering(value, name if name in KIND else f"{whole}()", ask)
            )
        elif callable(value) or _is_constant(name, value):
            known[name] = _device_type() if _is_device(value) else _autocast() if _is_autocast(value) else value
        else:
            return ask(whole, value)
        return known[name]

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self.__dict__["_real"], name, value)


def _is_constant(name: str, value: object) -> bool:
    """A value that no setting changes."""
    import torch

    own = name.startswith("__") and name != "__version__"
    return own or isinstance(value, torch.dtype | torch.layout | torch.memory_format | torch.Tensor | float)


def _answering(function: Callable[..., object], what: str, ask: Ask) -> Callable[..., object]:
    """The function, whose answers are asked for unless they are something to compute with."""
    import torch

    @functools.wraps(function)
    def call(*args: object, **kwargs: object) -> object:
        answer = function(*args, **kwargs)
        if answer is None:
            return ask(what, answer) if "get" in what else answer
        listed = answer if isinstance(answer, tuple) else (answer,)
        plain = all(isinstance(x, bool | int | float | str | torch.dtype | torch.device) for x in listed)
        return ask(what, answer) if plain else answer

    return call


@functools.cache
def _overridable() -> frozenset[object]:
    """The functions that a mode sees."""
    from torch.overrides import get_overridable_functions

    return frozenset(f for functions in get_overridable_functions().values() for f in functions)


def _refusing(what: str) -> Callable[..., NoReturn]:
    """A call that would change a setting for all that runs after it."""

    def refuse(*args: object, **kwargs: object) -> NoReturn:
        raise SideEffect(f"the function sets what PyTorch does from there on: {what}()")

    return refuse


def _is_autocast(value: object) -> bool:
    import torch

    return isinstance(value, type) and issubclass(value, torch.amp.autocast_mode.autocast)


@functools.cache
def _autocast() -> type:
    """Autocast that may be off: what it computes where it is on follows from tables of PyTorch's for each device."""
    import torch

    class Autocast(torch.autocast):  # type: ignore[misc]
        def __init__(self, device_type: str = "cuda", *args: object, **kwargs: object) -> None:
            enabled = kwargs.get("enabled", args[1] if len(args) > 1 else True)
            if enabled is not False:
                raise SideEffect(
                    "the function computes under autocast, which picks dtypes by tables of PyTorch's own",
                    next_step="cast the tensors yourself, or call the function under autocast, which runs it as written",
                )
            super().__init__(device_type, enabled=False)

    return Autocast


def _is_device(value: object) -> bool:
    import torch

    return value is torch.device


@functools.cache
def _device_type() -> type:
    """torch.device, to which a tensor's device as a text stays that text."""
    import torch

    class DeviceType(type):
        def __call__(cls, *args: object, **kwargs: object) -> object:
            known = args[0] if len(args) == 1 and isinstance(args[0], TrackedText) else None
            return torch.device(*args, **kwargs) if known is None else known

        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, torch.device | TrackedText)

    return DeviceType("device", (), {})
