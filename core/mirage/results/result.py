"""The result of optimizing one function: plain data, the same on the wire, in the cache and in `--json`."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

SCHEMA = 1


@dataclass(frozen=True)
class KernelFacts:
    """One kernel at the target: bytes of shared memory, registers a thread, bytes spilled; None where not compiled."""

    name: str
    grid: tuple[int, ...]
    loops: tuple[dict[str, Any], ...]
    warps: int
    stages: int
    shared_bytes: int | None = None
    registers: int | None = None
    spill_bytes: int | None = None
    tensor_core: bool | None = None
    target: str = ""


@dataclass(frozen=True)
class Estimate:
    """Times in microseconds. `device` says which roofline; `measured` whether a GPU was timed."""

    us: float
    speed_of_light_us: float
    baseline_us: float
    device: str
    measured: bool = False


@dataclass(frozen=True)
class BySize:
    """A row of the table of kernels by size: shape and dtype of the inputs for which this µGraph was chosen (its place in
    `Result.mugraphs`, -1 where the function runs as written), the verdict on that row, and its own times."""

    inputs: tuple[tuple[tuple[int, ...], str], ...]
    mugraph: int
    verdict: str = ""
    estimate: Estimate | None = None


@dataclass(frozen=True)
class Remark:
    """Why an answer is not fused further or not taken: a stable code, one line of text, and its figures (µs, bytes, counts,
    names) as the cost model or the rule gives them."""

    code: str
    text: str
    figures: dict[str, float | str] = field(default_factory=dict)


@dataclass(frozen=True)
class Result:
    """`answer` is "kernel", or "keep" with `reason` (nothing was found that is better, or nothing that is right)."""

    function: str
    answer: Literal["kernel", "keep"]
    reason: str
    inputs: tuple[dict[str, Any], ...]
    program_key: str
    verdict: dict[str, Any]
    search: dict[str, Any]
    kernels: tuple[KernelFacts, ...] = ()
    estimate: Estimate | None = None
    measured: dict[str, Any] = field(
        default_factory=dict
    )  # on a GPU: {"peers": µs by name, "read": µs, "variants", "dropped"}
    source: str = ""  # the generated module's text
    mugraphs: tuple[dict[str, Any], ...] = ()  # the chosen µGraphs, JSON form
    by_size: tuple[BySize, ...] = ()
    derivation: dict[str, Any] = field(default_factory=dict)  # of the first of `mugraphs`: derivation/portable.py
    remarks: tuple[Remark, ...] = ()
    notes: tuple[str, ...] = ()
    versions: dict[str, str] = field(default_factory=dict)
    schema: int = SCHEMA

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)
