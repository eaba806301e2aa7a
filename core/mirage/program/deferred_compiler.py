"""PyTorch's compiler put off: `torch._dynamo` and `torch._inductor` run when something of them is used, not when they are named.

The first operator on a meta tensor, and `make_fx`, name both packages for one decorator and one flag. Running them takes
as long as importing PyTorch, and a trace needs nothing else of them.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec
from types import ModuleType

DYNAMO, INDUCTOR = "torch._dynamo", "torch._inductor"
# What a trace uses of them, in every trace: flags, and a pass over symbolic sizes. These need no other part of their packages.
USED = (
    "torch._dynamo.config",
    "torch._inductor.config",
    "torch._inductor.compiler_bisector",
    "torch._inductor.fx_passes.dedupe_symint_uses",
)
BESIDE = "torch._higher_order_ops.triton_kernel_wrap"  # used too, and elsewhere imported by the packages alone


class _Deferred(ModuleType):
    """A package that runs when an attribute is asked for that it has not yet."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):  # what the import system asks of every module
            raise AttributeError(name)
        _run(self)
        return getattr(self, name)


def _run(package: ModuleType) -> None:
    """Runs the package in the module that stands for it, as its import would have."""
    if isinstance(package, _Deferred):
        spec = package.__spec__
        assert spec is not None and spec.loader is not None
        package.__class__ = ModuleType  # type: ignore[assignment]
        try:
            spec.loader.exec_module(package)
        except BaseException:
            sys.modules.pop(spec.name, None)
            raise


class _Imported(Loader):
    """Gives a module that is imported already, with the specification that it has."""

    def __init__(self, module: ModuleType) -> None:
        self.module, self.spec = module, module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        vars(module)["__spec__"] = self.spec


class _PackageFirst(MetaPathFinder):
    """Runs a deferred package before any of its submodules is imported, as the import system does with packages."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        package = sys.modules.get(".".join(name.split(".")[:2]))
        if not isinstance(package, _Deferred) or name == package.__name__:
            return None
        _run(package)
        found = sys.modules.get(name)
        if found is None:
            return None
        # the package has imported it, and the import system would run the specification that it finds there once more
        spec = ModuleSpec(name, _Imported(found))
        vars(found)["__spec__"] = spec  # a configuration's module allows no assignment
        return spec


def _place(name: str) -> _Deferred:
    """The package among the imported modules, not yet run. ModuleNotFoundError."""
    spec = find_spec(name)
    if spec is None:
        raise ModuleNotFoundError(name, name=name)
    module = module_from_spec(spec)
    module.__class__ = _Deferred
    assert isinstance(module, _Deferred)
    sys.modules[name] = module
    return module


def _disable(package: ModuleType) -> Callable[..., object]:
    """`torch._dynamo.disable` while the package has not run: nothing is compiled, so that there is nothing to disable."""

    def disable(fn: Callable[..., object] | None = None, *args: object, **kwargs: object) -> object:
        if fn is None or not isinstance(package, _Deferred):
            _run(package)
            return package.disable(fn, *args, **kwargs)
        disabled: list[Callable[..., object]] = []

        @functools.wraps(fn)
        def undisturbed(*a: object, **k: object) -> object:
            if isinstance(package, _Deferred):
                return fn(*a, **k)
            if not disabled:
                disabled.append(package.disable(fn, *args, **kwargs))
            return disabled[0](*a, **k)

        return undisturbed

    return disable


def defer() -> None:
    """Puts both packages off, unless one of them is imported already. PyTorch must be imported."""
    if DYNAMO in sys.modules or INDUCTOR in sys.modules:
        return
    dynamo = _place(DYNAMO)
    _place(INDUCTOR)
    vars(dynamo)["disable"] = _disable(dynamo)
    for name in (*USED, BESIDE):
        importlib.import_module(name)
    sys.meta_path.insert(0, _PackageFirst())


def run() -> bool:
    """Runs what is put off. Whether there was anything."""
    found = [x for x in map(sys.modules.get, (DYNAMO, INDUCTOR)) if isinstance(x, _Deferred)]
    for package in found:
        _run(package)
    return bool(found)
