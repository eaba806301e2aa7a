"""One graph of Dynamo's at run time: its rest's code at first, then the same with verified kernels in the places of regions."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from mirage.dynamo.functional_graph import Flat, Role, functional
from mirage.dynamo.functional_part import FunctionalPart
from mirage.dynamo.rest_compiler import Rest

if TYPE_CHECKING:
    import torch

LOOK_S = 1.0  # between two looks at the kernels
NO_REGIONS = "no region: the graph is Inductor's"
DRAWN_AGAIN = "the backward draws random numbers of the forward again (a checkpoint): both are Inductor's"


class SwappedGraph:
    """Called with the graph's inputs. `parts` are what it consists of: one functional graph, or a forward and a backward one.

    A call that needs a gradient keeps its pair: what `whole` saved is read by the backward of `whole`, and what the forward part
    saved by the backward part, whichever kernels each of the two has by then, since all their codes have the same inputs and outputs."""

    def __init__(self, module: torch.fx.GraphModule, example_inputs: Sequence[object], rest: Rest) -> None:
        self._rest = rest
        self._look_at = 0.0
        self.parts: list[FunctionalPart] = []
        self._functional = functional(module, example_inputs, self._flat)
        self._taken = [frozenset[int]() for _ in self.parts]

    def why_whole(self) -> str:
        """Why it is better compiled as a whole; "" where it has regions that can be swapped."""
        if any(part.role is Role.BACKWARD and part.draws() for part in self.parts):
            return DRAWN_AGAIN
        return "" if any(part.regions for part in self.parts) else NO_REGIONS

    def begin(self, whole: Callable[..., Any]) -> None:
        """`whole` runs the graph until a kernel is there, as it does where kernels turn out not to be usable."""
        self._whole = self._current = whole
        self._look()

    def __call__(self, *args: Any) -> Any:
        if time.monotonic() >= self._look_at:
            self._look()
        return (self._whole if self._is_saved_by_others() else self._current)(*args)

    def _is_saved_by_others(self) -> bool:
        """Whether hooks take what the forward saves. A checkpoint does and calls again in the backward: it must be saved the same then,
        also if a kernel came in between."""
        import torch

        if all(part.role is Role.INFERENCE for part in self.parts):
            return False
        return torch._C._autograd._top_saved_tensors_default_hooks(False) is not None

    def _flat(self, module: torch.fx.GraphModule, role: Role, static: Sequence[int]) -> Flat:
        """Called once with each functional graph; gives what runs it."""
        self.parts.append(FunctionalPart(module, role, static))
        return self.parts[-1].run

    def _look(self) -> None:
        """Compile the functional graphs again if there are other kernels: here, since AOTAutograd's own calls run with its
        dispatch keys off."""
        self._look_at = time.monotonic() + LOOK_S
        ready = [part.ready() for part in self.parts]
        if ready == self._taken:
            return
        first = self._current is self._whole
        for part, taken, now in zip(self.parts, self._taken, ready, strict=True):
            if first or now != taken:
                part.compile(self._rest, now)
        self._taken, self._current = ready, self._functional
