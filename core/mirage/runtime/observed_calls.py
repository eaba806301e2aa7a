"""The inputs that a decorated function is called with, observed at next to no cost.

The first calls are observed, then ever fewer. New inputs go to a background thread, or are dropped.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING

from mirage.runtime.call_types import Arguments, Function, Keywords

if TYPE_CHECKING:
    from mirage.ir.json_value import JsonObject
    from mirage.link.client import Client
    from mirage.link.request_parameters import Inputs as Rows

Inputs = tuple[tuple[str, tuple[int, ...], str], ...]  # parameter, shape, dtype of the tensors, in their order
FIRST, RAREST = 8, 256  # so many calls are looked at, then every 2nd, 4th, ... and at last every 256th
MOST = 16  # different inputs of one function
AGAIN_S, SELDOM_S = 5.0, 300.0  # a kernel is asked for so long after the last time, and ever later


class Observer:
    """Called with the arguments of a call; gives the number of calls until it wants to see one again.

    `send(observer, inputs, new)` must return at once. `use` puts a kernel (with the function behind it) in the function's
    place; `done` is set when there is one, or none can be used. `seldom_s` is the longest pause between two questions."""

    seldom_s = SELDOM_S

    def __init__(self, function: FunctionType, use: Callable[[Function], None]) -> None:
        import torch

        from mirage.runtime import daemon_thread

        self.function, self.use, self.done = function, use, False
        self._send = daemon_thread.send
        code = function.__code__
        self._names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        self._plain = (torch.Tensor, torch.nn.Parameter)
        self._words = {d: str(d) for d in vars(torch).values() if isinstance(d, torch.dtype)}
        self._known: set[Inputs] = set()
        self._calls, self._ask_at, self._pause = 0, 0.0, AGAIN_S

    def __call__(self, args: Arguments, kwargs: Keywords) -> int:
        self._calls += 1
        inputs = self._inputs(args, kwargs)
        if inputs:
            self.ask(inputs)
        return 1 if self._calls < FIRST else min(RAREST, 2 << (self._calls - FIRST))

    def ask(self, inputs: Inputs) -> None:
        """Tell of the inputs, if they are new, and ask for a kernel, if it is time to."""
        new, now = inputs not in self._known and len(self._known) < MOST, time.monotonic()
        if (new or (now >= self._ask_at and not self.done)) and self._send(self, inputs, new):
            if new:
                self._known.add(inputs)
            self._ask_at, self._pause = now + self._pause, min(2 * self._pause, self.seldom_s)

    def tell(self, client: Client, text: str, path: str, rows: Rows) -> None:
        """Say to the daemon what the function is called with."""
        client.seen(path, self.function.__name__, rows)

    def wants(self, answer: JsonObject) -> bool:
        """Whether an answer of the daemon's may take the function's place."""
        return True

    def _inputs(self, args: Arguments, kwargs: Keywords) -> Inputs:
        """() where there is a tensor of another kind: somebody traces the call, or shards it."""
        given = zip(self._names, args)
        values = [*given, *((n, kwargs[n]) for n in self._names if n in kwargs)] if kwargs else list(given)
        found = []
        for name, value in values:
            if type(value) in self._plain:
                if value.is_nested:  # it has no shape
                    return ()
                shape = tuple(value.shape)
                if not all(type(n) is int for n in shape):  # traced with symbolic sizes
                    return ()
                found.append((name, shape, self._words.get(value.dtype, "")))
            elif isinstance(value, self._plain[0]):
                return ()
        return tuple(found)
