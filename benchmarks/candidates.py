"""A point of the GPU benchmark made ready: its function traced, searched, and the variants to measure as module texts."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from points import WORKLOADS

from mirage.codegen.emit import emit_module
from mirage.errors import EmissionRefused
from mirage.pipeline import Request, floor, problem, read
from mirage.plan import plan
from mirage.profile.devices import device
from mirage.profile.roofline import baseline, estimate
from mirage.profile.variants import variants
from mirage.program.ir import Program
from mirage.program.lower import lower
from mirage.search.engine import Bounds, Search

TARGET = "sm_90"
KEPT = 192  # candidates of a search, so that several structures are among them
COUNT, STRUCTURES = 20, 12


@dataclass(frozen=True)
class Emitted:
    """A variant as a module's text; the rest as in `mirage.profile.variants.Variant`."""

    rank: int
    structure: str
    label: str
    warps: int
    stages: int
    us: float
    text: str

    @property
    def name(self) -> str:
        return f"{self.label}, {self.warps or 'its own'} warps, {self.stages} stages"

    def described(self) -> dict[str, Any]:
        """The row of a report, without the text."""
        return {k: getattr(self, k) for k in ("rank", "structure", "label", "warps", "stages", "us")}


@dataclass(frozen=True)
class Prepared:
    """A point: its function's name, its variants, the µs of its bytes alone, the model's time of eager, the bytes of the inputs,
    and the seconds that all this took."""

    name: str
    batch: int
    variants: tuple[Emitted, ...]
    floor: float
    baseline: float
    bytes: int
    seconds: float

    @property
    def point(self) -> str:
        return f"{self.name}/bs{self.batch}"


def traced(name: str, batch: int, dtype: str) -> tuple[Any, Program]:
    """A point's decorated function as it was read, and its tensor program."""
    from mirage.program.task import trace

    function = read(Request(WORKLOADS[name].text(name, (batch,), dtype), f"{name}.py", name))
    inputs = [
        {"name": i.name, "shape": list(i.shape), "dtype": i.dtype, "names": list(i.dim_names)} for i in function.inputs
    ]
    payload = {"text": function.slice.text, "function": name, "inputs": inputs}
    return function, Program.from_dict(trace(payload)["program"])


def prepare(name: str, batch: int, dtype: str = "fp16", most: int = 48) -> Prepared:
    """Traces, searches and emits. Raises MirageError where the function cannot be read or traced."""
    start = time.monotonic()
    function, program = traced(name, batch, dtype)
    dev = device(TARGET)
    search = Search(problem(program, lower(program)), lambda g: estimate(g, dev), bounds=Bounds(keep=KEPT))
    for _ in search.run():
        pass
    found: dict[str, Emitted] = {}
    for v in variants(search.best, plan, count=COUNT, structures=STRUCTURES)[:most]:
        try:
            text = emit_module(program, v.mugraph, function.slice.text, function=name, header={})
        except EmissionRefused:
            continue
        found.setdefault(text, Emitted(v.rank, v.structure, v.label, v.warps, v.stages, v.us, text))
    size = sum(i.type.bytes for i in program.inputs)
    return Prepared(
        name, batch, tuple(found.values()), floor(program, dev), baseline(program, dev), size, time.monotonic() - start
    )
