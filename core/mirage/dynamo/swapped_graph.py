"""One graph of Dynamo's at run time: its rest's code at first, then the same with verified kernels in the places of regions."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from mirage.dynamo import whole_timing
from mirage.dynamo.functional_graph import Flat, Role, functional
from mirage.dynamo.functional_part import FunctionalPart
from mirage.dynamo.rest_compiler import Rest
from mirage.dynamo.whole_timing import Run, SetTried

if TYPE_CHECKING:
    import torch

log = logging.getLogger("mirage.dynamo")
LOOK_S = 1.0  # between two looks at the kernels
PATIENCE_S = (
    120.0  # a graph is timed with the kernels that are there when no other came for so long, though some are undecided
)
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
        self._seen, self._since = list(self._taken), 0.0
        self._judged = frozenset[int]()
        self._key = tuple((k.written.name, len(p.module.graph.nodes)) for p in self.parts for _, k in p.regions)

    def why_whole(self) -> str:
        """Why it is better compiled as a whole; "" where it has regions that can be swapped."""
        if any(part.role is Role.BACKWARD and part.draws() for part in self.parts):
            return DRAWN_AGAIN
        return "" if any(part.regions for part in self.parts) else NO_REGIONS

    def begin(self, whole: Callable[..., Any]) -> None:
        """`whole` runs the graph until a kernel is there, as it does where kernels turn out not to be usable."""
        self._whole = self._current = whole

    def __call__(self, *args: Any) -> Any:
        if time.monotonic() >= self._look_at:
            self._look(args)
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

    def _look(self, args: Sequence[Any]) -> None:
        """Compile the functional graphs again if there are other kernels: here, since AOTAutograd's own calls run with its
        dispatch keys off. A graph of inference on a GPU takes them only where the whole is then faster."""
        now = time.monotonic()
        self._look_at = now + LOOK_S
        ready = [part.ready() for part in self.parts]
        if ready != self._seen:
            self._seen, self._since = ready, now
        if self.parts[0].role is not Role.INFERENCE or not whole_timing.on_gpu(args):
            self._swap(ready)
            return
        waits = not self.parts[0].is_decided() and now - self._since < PATIENCE_S
        if ready[0] != self._judged and not waits and not whole_timing.is_recorded():
            self._swap_if_faster(self.parts[0], ready[0], args)

    def _swap(self, ready: list[frozenset[int]]) -> None:
        if ready == self._taken:
            return
        first = self._current is self._whole
        for part, taken, now in zip(self.parts, self._taken, ready, strict=True):
            if first or now != taken:
                part.use(part.compiled(self._rest, now))
        self._taken, self._current = ready, self._functional

    def _swap_if_faster(self, part: FunctionalPart, ready: frozenset[int], args: Sequence[Any]) -> None:
        """The set of kernels with which a call is fastest, or none."""
        gains = {part.regions[i][1].written.name: part.regions[i][1].gain for i in sorted(ready)}
        written = whole_timing.written_by(part.module.graph, args)
        codes: dict[frozenset[str], Run] = {}

        def time_with(kinds: frozenset[str]) -> tuple[float, float]:
            places = frozenset(i for i in ready if part.regions[i][1].written.name in kinds)
            begin = time.monotonic()
            codes[kinds] = part.compiled(self._rest, places)
            part.use(codes[kinds])
            compiled = time.monotonic()
            with_s, without_s = whole_timing.seconds([self._functional, self._whole], args, written)
            log.info(
                "a graph with %d kernels of %d kinds: %.1f µs with them, %.1f without (compiled in %.0f s, timed in %.0f s)",
                len(places), len(kinds), with_s * 1e6, without_s * 1e6, compiled - begin, time.monotonic() - compiled,
            )  # fmt: skip
            return with_s, without_s

        self._judged = ready
        try:
            tried = whole_timing.choose(sorted(gains, key=lambda kind: gains[kind]), time_with)
        except RuntimeError as error:  # of the device, its memory too: what ran until now runs on
            log.warning("a graph keeps no kernels, since it could not be timed (%s: %s)", type(error).__name__, error)
            self._current = self._whole
            return
        _told[self._key] = tried
        chosen = whole_timing.best(tried)
        if chosen is None:
            self._current = self._whole
        else:
            part.use(codes[chosen.kinds])
            self._current = self._functional

    def why_not(self, kind: str) -> str:
        """Why a kernel that is there is in no code of this graph; "" where it is, or where the graph is not timed as a whole."""
        tried = _told.get(self._key)
        if tried is None:
            return ""
        chosen = whole_timing.best(tried)
        if chosen is not None and kind in chosen.kinds:
            return ""
        other = chosen or min(tried, key=lambda x: x.with_s)
        last = next((x for x in reversed(tried) if kind in x.kinds), other)
        without = chosen.with_s if chosen is not None else last.without_s
        return (
            f"its graph takes {last.with_s * 1e6:.1f} µs with it and {without * 1e6:.1f} µs without, measured in turns"
        )


_told: dict[
    tuple[tuple[str, int], ...], Sequence[SetTried]
] = {}  # how graphs were timed in this process, for `explain`
