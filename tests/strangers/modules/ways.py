"""The ways in which a module is run: by eager, by the backend, by the decorator, and by PyTorch's own backends for comparison."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from strangers.modules.compare import Difference, differences
from strangers.modules.record import Record, taken
from strangers.modules.session import Runner, Session


def as_written(model: nn.Module) -> Callable[..., Any]:
    return model


def compiled(**settings: Any) -> Runner:
    return lambda model: torch.compile(model, **settings)


def decorated(model: nn.Module) -> Callable[..., Any]:
    import mirage

    return mirage.optimize(model)


class Kernels:
    """Kernels that run on any device, for every region that was cut: its function as written. `runs`: how often one ran."""

    runs = 0

    @classmethod
    def give(cls) -> None:
        """One to each region that has none."""
        from mirage.dynamo import region_kernels

        for kernel in region_kernels._known.values():
            if kernel.kernel is None:
                kernel._use(cls.counted(kernel.function))

    @classmethod
    def counted(cls, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*inputs: Any) -> Any:
            cls.runs += 1
            return function(*inputs)

        return run

    @classmethod
    def forget(cls) -> None:
        """No region is known."""
        from mirage.dynamo import region_kernels

        region_kernels._known.clear()
        cls.runs = 0


@dataclass(frozen=True)
class Way:
    """`kernels`: are regions given kernels between two calls, as if a daemon had found them? `again`: is the session held twice, the
    second time with the kernels of the first from its start? `control`: PyTorch's own backend that stands for the rest."""

    name: str
    runner: Runner
    control: str
    kernels: bool = False
    again: bool = False


WAYS = {
    w.name: w
    for w in (
        Way("inductor", compiled(backend="inductor"), ""),
        Way("aot_eager", compiled(backend="aot_eager"), ""),
        Way("backend", compiled(backend="mirage"), "inductor"),
        Way("backend_kernels", compiled(backend="mirage"), "inductor", kernels=True),
        Way("rest_eager", compiled(backend="mirage", options={"rest": "eager"}), "aot_eager"),
        Way(
            "rest_eager_kernels",
            compiled(backend="mirage", options={"rest": "eager"}),
            "aot_eager",
            kernels=True,
            again=True,
        ),
        Way("decorated", decorated, "inductor"),
        Way("decorated_kernels", decorated, "inductor", kernels=True),
    )
}


class Coarsest(TorchDispatchMode):
    """The largest spacing at 1 of a floating dtype narrower than float32 that an operator gives."""

    def __init__(self) -> None:
        super().__init__()
        self.eps = 0.0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        for x in out if isinstance(out, (tuple, list)) else [out]:
            if isinstance(x, torch.Tensor) and x.is_floating_point():
                self.eps = max(self.eps, torch.finfo(x.dtype).eps)
        return out


@dataclass(frozen=True)
class Expected:
    """What eager gives, in the module's dtypes and in float64, and the coarsest spacing it computed with."""

    eager: list[Record]
    wide: list[Record]
    coarsest: float


def widen(model: nn.Module) -> None:
    """The model in float64, with the tensors that are plain attributes."""
    model.double()
    for module in model.modules():
        for name, x in vars(module).items():
            if isinstance(x, torch.Tensor) and x.is_floating_point():
                setattr(module, name, x.double())


def held(
    kind: type[nn.Module], runner: Runner, wide: bool = False, between: Callable[[], None] | None = None
) -> list[Record]:
    """The records of one session of a case, in a model made from the same seed; what it prints is dropped."""
    torch.manual_seed(0)
    model = kind()
    if wide:
        widen(model)
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = Session(model, runner, wide, between)
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64 if wide else before)
        try:
            kind.steps(session)  # type: ignore[attr-defined]
        except Exception as e:  # a scenario goes on with what a call gave: another answer may end it
            session.records.append(taken("scenario", [], e))
        finally:
            torch.set_default_dtype(before)
        session.end()
    return session.records


def expected(kind: type[nn.Module]) -> Expected:
    """Eager's side. A scenario that float64 cannot follow has no wide records."""
    with Coarsest() as seen:
        eager = held(kind, as_written)
    return Expected(eager, held(kind, as_written, wide=True), seen.eps)


def compared(kind: type[nn.Module], way: Way, wanted: Expected) -> list[Difference]:
    """How the way differs from eager."""
    found: list[Difference] = []
    Kernels.forget()
    for _ in range(2 if way.again else 1):
        torch._dynamo.reset()
        got = held(kind, way.runner, between=Kernels.give if way.kernels else None)
        found += differences(wanted.eager, wanted.wide, got, wanted.coarsest)
    return sorted(set(found))


def not_pytorchs(kind: type[nn.Module], way: Way, wanted: Expected) -> tuple[list[Difference], list[Difference]]:
    """The way's differences: those that are its own, and those that PyTorch's own backend shows too."""
    found = compared(kind, way, wanted)
    theirs = {x.key for x in compared(kind, WAYS[way.control], wanted)} if found and way.control else set()
    return [x for x in found if x.key not in theirs], [x for x in found if x.key in theirs]
