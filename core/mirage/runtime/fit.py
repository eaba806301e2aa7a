"""Whether a kernel may stand in for the function in this call. Shape, dtype, device and strides are the launcher's own
guards; here is what a launcher cannot see: somebody watches the operators, or needs their gradient."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

Fits = Callable[[tuple[Any, ...], dict[str, Any]], bool]


def make_fits(function: FunctionType) -> Fits:
    """A predicate on the arguments of a call. Made once torch is there, so that a call pays for no import."""
    import torch
    from torch.autograd import forward_ad
    from torch.utils import _python_dispatch

    plain = (torch.Tensor, torch.nn.Parameter)
    functorch = getattr(torch._C, "_functorch", None)
    is_wrapped = getattr(functorch, "is_functorch_wrapped_tensor", lambda tensor: False)
    mode = getattr(_python_dispatch, "_get_current_dispatch_mode", lambda: None)

    as_default = _make_as_default(function)

    def fits(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        if mode() is not None or getattr(forward_ad, "_current_level", -1) >= 0:
            return False
        grad = torch.is_grad_enabled()
        asked = ""  # the kind of device of which it is known that nothing casts there
        for value in (*args, *kwargs.values()) if kwargs else args:
            if type(value) not in plain:
                if isinstance(value, torch.Tensor):
                    return False
                continue
            if is_wrapped(value) or value.is_neg() or (grad and value.requires_grad):
                return False
            kind = "cuda" if value.is_cuda else value.device.type  # the second takes five times as long
            if kind != asked and torch.is_autocast_enabled(kind):
                return False
            asked = kind
        return as_default(args, kwargs)

    return fits


def _make_as_default(function: FunctionType) -> Fits:
    """Whether every parameter with a default has that value: it is a constant of the kernel."""
    count = function.__code__.co_argcount
    names = function.__code__.co_varnames[:count]
    values = function.__defaults__ or ()
    first = count - len(values)
    defaults = {**dict(zip(names[first:], values)), **(function.__kwdefaults__ or {})}

    def as_default(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        if not kwargs and len(args) <= first:
            return True
        given = list(zip(names[first:], args[first:]))
        given += [(name, value) for name, value in kwargs.items() if name in defaults]
        return all(_equal(value, defaults[name]) for name, value in given)

    return as_default


def _equal(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and repr(value) == repr(default))
