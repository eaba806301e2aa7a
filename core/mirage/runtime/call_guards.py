"""Guards of a call at run time: whether a kernel may stand in for the function.

Shape, dtype, device and strides are the launcher's own guards. These see what a launcher cannot: somebody watches the operators,
or needs their gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType

from mirage.runtime.call_types import Arguments, Keywords

Fits = Callable[[Arguments, Keywords], bool]


def make_fits(function: FunctionType) -> Fits:
    """A predicate on the arguments of a call. Made once torch is there, so that a call pays for no import."""
    import torch

    plain = (torch.Tensor, torch.nn.Parameter)
    watched = make_watched()
    grad_enabled, tensor = torch.is_grad_enabled, torch.Tensor
    casts = getattr(torch._C, "_is_any_autocast_enabled", None) or (
        lambda: any(map(torch.is_autocast_enabled, ("cpu", "cuda")))
    )  # of any kind of device: asking a tensor for its own takes longer
    as_default, positional = _make_as_default(function)

    def fits(args: Arguments, kwargs: Keywords) -> bool:
        if watched() or casts():
            return False
        grad = grad_enabled()
        for value in (*args, *kwargs.values()) if kwargs else args:
            if type(value) not in plain:
                if isinstance(value, tensor):
                    return False
                continue
            if value.is_neg() or (grad and value.requires_grad):
                return False
        return (not kwargs and len(args) <= positional) or as_default(args, kwargs)

    return fits


def make_watched() -> Callable[[], bool]:
    """Whether somebody watches the operators just now: a dispatch mode, a transform of torch.func, forward differentiation."""
    import torch
    from torch.autograd import forward_ad
    from torch.utils import _python_dispatch

    transform = torch._C._functorch.peek_interpreter_stack  # asked once, which costs less than each tensor
    modes = getattr(torch._C, "_len_torch_dispatch_stack", None) or (
        lambda: _python_dispatch._get_current_dispatch_mode() is not None
    )

    def watched() -> bool:
        return bool(modes()) or transform() is not None or getattr(forward_ad, "_current_level", -1) >= 0

    return watched


def left_over(args: Arguments, kwargs: Keywords) -> bool:
    """Whether a tensor of a transform that has ended is among the arguments: no kernel can read it, and the function can."""
    import torch

    is_wrapped = torch._C._functorch.is_functorch_wrapped_tensor
    return any(isinstance(x, torch.Tensor) and is_wrapped(x) for x in (*args, *kwargs.values()))


def _make_as_default(function: FunctionType) -> tuple[Fits, int]:
    """Whether every parameter with a default has that value: it is a constant of the kernel. So many arguments have none."""
    count = function.__code__.co_argcount
    names = function.__code__.co_varnames[:count]
    values = function.__defaults__ or ()
    first = count - len(values)
    defaults = {**dict(zip(names[first:], values)), **(function.__kwdefaults__ or {})}

    def as_default(args: Arguments, kwargs: Keywords) -> bool:
        given = list(zip(names[first:], args[first:]))
        given += [(name, value) for name, value in kwargs.items() if name in defaults]
        return all(_equal(value, defaults[name]) for name, value in given)

    return as_default, first


def _equal(value: object, default: object) -> bool:
    return value is default or (type(value) is type(default) and repr(value) == repr(default))
