"""A session: one module, the calls and changes that a scenario makes, and a record of each step."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from strangers.modules.record import Record, gradients, leaves, state, taken

Runner = Callable[[nn.Module], Callable[..., Any]]


class Session:
    """`model`: the module; `run`: what is called in its place. `wide`: everything drawn and cast is float64. A scenario draws inputs by
    `floats`, `ints` and `bools`, the same in every session, and calls by `call`."""

    def __init__(self, model: nn.Module, runner: Runner, wide: bool = False, between: Callable[[], None] | None = None):
        self.model, self.runner, self.wide = model, runner, wide
        self.run = runner(model)
        self.records: list[Record] = []
        self._random = torch.Generator().manual_seed(7)
        self._between = between or (lambda: None)
        self._held: list[tuple[str, Any]] = []  # every input and output, alive until the end

    # ---- inputs
    def floats(self, *shape: int, dtype: torch.dtype = torch.float32, grad: bool = False) -> torch.Tensor:
        """Normal numbers as `dtype` holds them."""
        x = torch.randn(shape, generator=self._random, dtype=torch.float64).to(dtype)
        return self.widened(x).requires_grad_(grad)

    def ints(self, high: int, *shape: int) -> torch.Tensor:
        """Integers of 0 to `high` - 1, int64."""
        return torch.randint(high, shape, generator=self._random)

    def bools(self, *shape: int) -> torch.Tensor:
        return self.ints(2, *shape).bool()

    def widened(self, x: torch.Tensor) -> torch.Tensor:
        return x.double() if self.wide and x.is_floating_point() else x

    def to(self, dtype: torch.dtype) -> None:
        """Cast the model: in a wide session its values are rounded, and stay float64."""
        self.model.to(dtype)
        if self.wide:
            self.model.double()

    # ---- steps
    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module; the output, or None after an exception. Records outputs, inputs, state and gradients."""
        return self.observe(lambda run: run(*args, **kwargs), *args, *kwargs.values())

    def observe(self, act: Callable[[Callable[..., Any]], Any], *inputs: Any) -> Any:
        """What `act` gives for the callable, recorded like a call's output."""
        n, found, error = len(self.records), None, None
        try:
            found = act(self.run)
        except Exception as e:
            error = e
        ins = [y for i, x in enumerate(inputs) for y in leaves(x, f"in.{n}.{i}")]
        named = [*leaves(found, f"out.{n}"), *ins, *state(self.model)]
        self.records.append(taken(f"step {n}", [*named, *gradients([*ins, *state(self.model)])], error))
        self._held += [(name, x) for name, x in named if not name.startswith("state.")]
        self._between()
        return found

    def backward(self, out: Any, retain_graph: bool = False) -> None:
        """The gradient of a weighted sum of every output that has one; nothing where the call gave none."""
        graded = [x for _, x in leaves(out, "out") if isinstance(x, torch.Tensor) and x.requires_grad]
        if not graded:
            return
        weights = [self.widened(torch.linspace(-1, 2, x.numel()).reshape(x.shape)) for x in graded]
        n, error = len(self.records), None
        try:
            sum((x * w).sum() for x, w in zip(graded, weights, strict=True)).backward(retain_graph=retain_graph)
        except Exception as e:
            error = e
        named = [*self._held, *state(self.model)]
        self.records.append(taken(f"step {n}, backward", list(gradients(named)), error))
        self._between()

    def sgd(self) -> None:
        """A step of plain gradient descent, then no gradients."""
        if parameters := list(self.model.parameters()):
            torch.optim.SGD(parameters, lr=0.05).step()
            self.model.zero_grad()

    def in_threads(self, *calls: tuple[Any, ...]) -> None:
        """Each call from a thread of its own, all at once."""
        found: list[Any] = [None] * len(calls)

        def one(i: int) -> None:
            with torch.no_grad():
                try:
                    found[i] = self.run(*calls[i])
                except Exception as e:
                    found[i] = f"{type(e).__name__}"

        threads = [threading.Thread(target=one, args=(i,)) for i in range(len(calls))]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.observe(lambda run: found)

    def use(self, model: nn.Module) -> None:
        """Go on with another module (a copy, an unpickled one), run in the same way."""
        self.model, self.run = model, self.runner(model)

    def end(self) -> None:
        """Record all that was handed in and out once more: nothing may have changed behind anybody's back."""
        named = [*self._held, *state(self.model)]
        self.records.append(taken("end", [*named, *gradients(named)]))
