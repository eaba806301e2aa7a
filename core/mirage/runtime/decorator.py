"""The decorator `@mirage.optimize` at run time.

It runs the function as written until a kernel is installed for exactly its text, and whenever that kernel does not fit the call.
"""

from __future__ import annotations

import functools
import linecache
import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, TypedDict, TypeVar, cast, overload

from mirage.runtime.call_types import Arguments, Function, Keywords

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from mirage.ir.narrowing import Three
    from mirage.runtime.observed_calls import Observer

_Function = TypeVar("_Function", bound=Function)

# Code flags of generators, coroutines and async generators (`inspect` has the names, and takes long to import).
_NOT_PLAIN = 0x20 | 0x80 | 0x200


class KernelNotUsed(RuntimeWarning):
    """A module is installed for a function and cannot be used; the function as written runs instead."""


class DecoratorOptions(TypedDict, total=False):
    """What the decorator's call may say; None is as if it said nothing."""

    dims: Mapping[str, int | Sequence[int]] | None
    inputs: Sequence[object] | None
    griddims: Sequence[Three] | None
    blockdims: Sequence[Three] | None
    imaps: Sequence[Three] | None
    omaps: Sequence[Three] | None
    fmaps: Sequence[int] | None
    franges: Sequence[int] | None
    clusters: Sequence[int] | None


@overload
def optimize(function: _Function, /) -> _Function: ...
@overload
def optimize(**options: Unpack[DecoratorOptions]) -> Callable[[_Function], _Function]: ...
def optimize(function: Function | None = None, /, **options: object) -> Function:
    """Mark a function for Mirage, as `@mirage.optimize` or `@mirage.optimize(dims=..., inputs=...)`.

    `dims` gives sizes to the named dimensions of jaxtyping annotations: `{"b": 8}` or `{"b": (1, 8, 16)}`. `inputs`
    gives shapes and dtypes where there are no annotations: `[((16, 4096), "fp16"), ...]`, or a list of such lists, one
    for each set of sizes. Every size of either gets its own kernel, in one module; `{"b": mirage.any(1, 64)}` means every size of a
    range. The others narrow the
    search: each lists what every kernel may have (docs/search.md), such as `griddims=[(2, 16, 1), (2, 16, 4)]`. All are
    read from the text, and change nothing at run time.

    A call runs the kernel that is installed for exactly this text if it fits (shapes, dtypes, device, strides; no
    gradient needed; nothing traces the operators), and the function as written otherwise. The kernel is looked for at
    the first call. Methods, and modules of PyTorch (a class, or one module, in place), are compiled by
    `torch.compile(..., backend="mirage")` where no gradient is needed (docs/pytorch.md). A daemon that runs is told the
    inputs of calls, and one that it finished is taken at a later call (docs/daemon.md; MIRAGE_RUNTIME=off switches both off).
    """
    itself: Function | None = getattr(type(function), "__mirage_optimize__", None)
    if itself is not None:  # no function, but what another package optimizes in its own way
        given = {name: value for name, value in options.items() if name not in _OF_FUNCTIONS}
        kernel: Function = itself(function, **{n: v for n, v in given.items() if v is not None or n not in _NAMES})
        return kernel
    for name in options:
        if name not in _NAMES:
            raise TypeError(f"optimize() got an unexpected keyword argument {name!r}")
    if function is None:
        return _wrap
    return _wrap(function)


_NAMES = frozenset(DecoratorOptions.__annotations__)
_OF_FUNCTIONS = frozenset(("dims", "inputs", "clusters"))  # the others narrow any search


def _wrap(function: Function) -> Function:
    plain = isinstance(function, FunctionType) and not function.__code__.co_flags & _NOT_PLAIN
    if not plain and not hasattr(function, "_call_impl"):  # that of a module of PyTorch, or of a class of them
        return function
    try:
        from torch.compiler import is_compiling
    except ImportError:
        return function  # no kernel runs without torch
    from mirage.runtime import module_calls

    if not isinstance(function, FunctionType):
        return module_calls.of_modules(function)
    if module_calls.is_method(function):
        return module_calls.method(function)
    chosen: Function | None = None
    observer: Callable[[Arguments, Keywords], int] | None = None
    unseen = 0  # calls until the observer looks at one

    def use(kernel: Function) -> None:
        nonlocal chosen
        chosen = kernel

    @functools.wraps(function)
    def optimized(*args: object, **kwargs: object) -> object:
        nonlocal chosen, observer, unseen
        if is_compiling():  # torch.compile sees the function as written, and makes its own kernel of it
            return function(*args, **kwargs)
        if chosen is None:
            chosen = choose(function)
            observer = _observer(function, use, chosen is function)
        unseen -= 1
        if unseen <= 0 and observer is not None:
            unseen = observer(args, kwargs)
        return chosen(*args, **kwargs)

    return optimized


def _observer(function: FunctionType, use: Callable[[Function], None], lacks: bool) -> Observer | None:
    """Sees what the function is called with, and brings a kernel for one that lacks it; None where that is switched off."""
    from mirage.runtime.daemon_thread import SWITCH
    from mirage.runtime.observed_calls import Observer

    if os.environ.get(SWITCH, "").lower() in ("off", "0", "false"):
        return None
    observer = Observer(function, use)
    observer.done = not lacks
    return observer


def choose(function: FunctionType) -> Function:
    """The function, or the installed kernel with the function behind it."""
    from mirage.errors import MirageError
    from mirage.runtime import installed_kernels

    try:
        if installed_kernels.is_empty():
            return function
        from mirage.runtime.slice_identity import digest_of

        digest = digest_of(function)
        if digest is None:
            return function
        if installed_kernels.lookup(digest) is None:
            from mirage.runtime.daemon_kernels import place

            digest = place(digest)  # one that an earlier run took from the daemon
        kernel = load(digest, function.__name__)
        return function if kernel is None else with_kernel(function, kernel)
    except MirageError as error:
        _warn(function, str(error))
    except Exception as error:  # the module on disk may raise anything while it is imported
        _warn(function, f"it cannot be imported ({type(error).__name__}: {error})")
    return function


def load(digest: str, name: str) -> Function | None:
    """The function `name` of the module that is installed for `digest`; None where none is. What runs is the very text that was
    checked, never a file that is opened again or was compiled before. Raises what reading and the module's own import raise."""
    from mirage.link import paths
    from mirage.runtime import installed_kernels
    from mirage.verify.structure.loadable import check_loadable

    text = installed_kernels.read(digest)
    if text is None:
        return None
    check_loadable(text)
    path = str(paths.kernels_dir() / f"{digest}.py")
    module = ModuleType(f"_mirage_kernel_{digest[:16]}{digest[64:].replace('-', '_')}")
    module.__file__ = path
    linecache.cache[path] = (len(text), None, text.splitlines(True), path)  # torch and triton read a function's text
    sys.modules[module.__name__] = module  # and look its module up by its name
    try:
        exec(compile(text, path, "exec", dont_inherit=True), module.__dict__)
    except BaseException:
        del sys.modules[module.__name__]
        raise
    launcher = getattr(module, name, None)
    if not callable(launcher):
        raise ImportError(f"it has no function `{name}`")
    return cast(Function, launcher)


def with_kernel(function: FunctionType, kernel: Function) -> Function:
    from mirage.runtime.call_guards import left_over, make_fits

    fits = make_fits(function)
    broken = False

    def run(*args: object, **kwargs: object) -> object:
        nonlocal broken
        if broken or not fits(args, kwargs):
            return function(*args, **kwargs)
        try:
            return kernel(*args, **kwargs)
        except Exception as error:
            result = function(*args, **kwargs)  # what is wrong with the call itself is raised here, as ever
            if left_over(args, kwargs):
                return result
            broken = True
            _warn(function, f"it raised {type(error).__name__}: {error}")
            return result

    return run


def _warn(function: FunctionType, why: str) -> None:
    text = f"the module installed for `{function.__qualname__}` is not used: {why}"
    warnings.warn(text, KernelNotUsed, stacklevel=4)
