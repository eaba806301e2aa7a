"""Decorated methods and modules of PyTorch: compiled by the backend `mirage` of torch.compile, which makes parameters and buffers inputs.

A call that needs a gradient, or whose operators somebody watches, runs as written. What is kept lies in closures, so that a state
dict, a deep copy, pickling and hooks meet the class and the modules as they are."""

from __future__ import annotations

import functools
from types import FunctionType
from typing import TYPE_CHECKING

from mirage.runtime.call_guards import make_watched
from mirage.runtime.call_types import Arguments, Function, Keywords

if TYPE_CHECKING:
    import torch

BACKEND = "mirage"


def is_method(function: FunctionType) -> bool:
    """Whether the function was defined in the body of a class."""
    owner = function.__qualname__.rpartition(".")[0]
    return bool(owner) and not owner.endswith("<locals>")


def method(function: FunctionType) -> Function:
    """The method, compiled at its first call that can run compiled."""
    return functools.wraps(function)(_compiled_where_it_fits(function))


def of_modules(what: Function) -> Function:
    """A class of modules whose `forward` is a `method`, or a module whose calls are; the same object. A copy of a module that
    was optimized by itself runs as written, as copies of a compiled module do."""
    import torch

    if isinstance(what, type) and issubclass(what, torch.nn.Module):
        owner: type[torch.nn.Module] = what
        if isinstance(owner.forward, FunctionType):
            owner.forward = method(owner.forward)
    elif isinstance(what, torch.nn.Module) and not isinstance(what, torch.jit.ScriptModule):
        run = _compiled_where_it_fits(what._call_impl)
        what._compiled_call_impl = run
    return what


def _compiled_where_it_fits(function: Function) -> Function:
    import torch
    from torch.compiler import is_compiling

    watched = make_watched()
    owner = getattr(function, "__self__", None)
    owners = (owner,) if isinstance(owner, torch.nn.Module) else ()
    compiled: Function | None = None

    def run(*args: object, **kwargs: object) -> object:
        nonlocal compiled
        if is_compiling() or watched() or (torch.is_grad_enabled() and _needs_gradient((*owners, *args), kwargs)):
            return function(*args, **kwargs)
        if compiled is None:
            compiled = torch.compile(function, backend=BACKEND)
        return compiled(*args, **kwargs)

    return run


def _needs_gradient(args: Arguments, kwargs: Keywords) -> bool:
    """Whether a tensor among the arguments, or a parameter or buffer of a module among them, wants its gradient. What stands
    elsewhere the backend sees: forward and backward have regions of their own there."""
    import torch

    for value in (*args, *kwargs.values()):
        tensors: object = ()
        if isinstance(value, torch.Tensor):
            tensors = (value,)
        elif isinstance(value, torch.nn.Module):
            tensors = (*value.parameters(), *value.buffers())
        if any(x.requires_grad for x in tensors):  # type: ignore[attr-defined]
            return True
    return False
