"""The result of optimizing one function: plain data, the same on the wire, in the cache and in `--json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mirage.ir.tensor_spec import TensorSpec
from mirage.results.baselines import Answer
from mirage.results.phases import PhaseSeconds
from mirage.results.verdict import Verdict

SCHEMA = 4  # an entry of the cache that has another is not found


@dataclass(frozen=True)
class LoopFacts:
    """A loop of a kernel: its dim, how many iterations, the elements of one."""

    dim: str
    range: int
    tile: int


@dataclass(frozen=True)
class KernelFacts:
    """One kernel at the target: bytes of shared memory, registers a thread, bytes spilled; None where not compiled."""

    name: str
    grid: tuple[int, ...]
    loops: tuple[LoopFacts, ...]
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
class Measurement:
    """What a GPU timed: the baselines in µs by name, a plain read of the inputs, how many variants of the candidates, and
    those that were left out with the reason."""

    peers: dict[str, float]
    read: float
    variants: int
    dropped: tuple[str, ...] = ()


@dataclass(frozen=True)
class MeasuredElsewhere:
    """What another machine says that its GPU, called `device`, measured of this very µGraph: µs of the kernel and of the best
    baseline, whose name is in BASELINES. `by` is whose word it is. Nothing of it was checked here, and nothing follows from it."""

    device: str
    us: float
    baseline_us: float
    against: str
    by: str


@dataclass(frozen=True)
class SearchStats:
    """What the searches met. `exhaustive` is False when a limit cut them, and `limits` says which; `total_seconds` is from
    the first search to the last verdict."""

    values: int = 0
    systems: int = 0
    structures: int = 0
    mugraphs: int = 0
    parts: int = 0
    resumed: int = 0
    cut_sets: int = 0
    shifts: int = 0
    seconds: float = 0.0
    exhaustive: bool = True
    limits: tuple[str, ...] = ()
    total_seconds: float = 0.0

    def __add__(self, other: SearchStats) -> SearchStats:
        """Of searches for one function at two sizes."""
        return SearchStats(
            values=self.values + other.values,
            systems=self.systems + other.systems,
            structures=self.structures + other.structures,
            mugraphs=self.mugraphs + other.mugraphs,
            parts=self.parts + other.parts,
            resumed=self.resumed + other.resumed,
            cut_sets=self.cut_sets + other.cut_sets,
            shifts=self.shifts + other.shifts,
            seconds=self.seconds + other.seconds,
            exhaustive=self.exhaustive and other.exhaustive,
            limits=tuple(dict.fromkeys((*self.limits, *other.limits))),
            total_seconds=self.total_seconds + other.total_seconds,
        )


@dataclass(frozen=True)
class BySize:
    """A row of the table of kernels by size: the inputs for which this µGraph was chosen (its place in `Result.mugraphs`, -1
    where the user's own function runs: by PyTorch as `baseline` names it, "": as written), the verdict on that row within the
    module, and its own times."""

    inputs: tuple[TensorSpec, ...]
    mugraph: int
    verdict: Verdict | None = None
    estimate: Estimate | None = None
    baseline: str = ""


@dataclass(frozen=True)
class Remark:
    """Why an answer is not fused further or not taken: a stable code, one line of text, and its figures (µs, bytes, counts,
    names) as the cost model or the rule gives them."""

    code: str
    text: str
    figures: dict[str, float | str] = field(default_factory=dict)


@dataclass(frozen=True)
class Result:
    """`answer` is "kernel"; "compile" or "library", where a GPU measured PyTorch's compiler on the user's own function, or another
    fused call of PyTorch, to be the fastest (`baseline` names it in BASELINES, and nothing of it is verified); or "keep" with
    `reason` (nothing was found that is better, or nothing that is right). `verdict` is that on the kernel, where one was
    accepted: of several sizes the weakest. `measured`: where a GPU timed it. `source`: the module, unless the answer is "keep".
    `seconds`: what the answer took. `elsewhere`: what another machine measured, beside this one's own `estimate`."""

    function: str
    answer: Answer
    reason: str
    inputs: tuple[TensorSpec, ...]
    program_key: str
    verdict: Verdict | None = None
    search: SearchStats = SearchStats()
    kernels: tuple[KernelFacts, ...] = ()
    estimate: Estimate | None = None
    measured: Measurement | None = None
    elsewhere: MeasuredElsewhere | None = None
    source: str = ""  # the generated module's text
    mugraphs: tuple[Mapping[str, object], ...] = ()  # the chosen µGraphs: mugraph/json_form.py
    by_size: tuple[BySize, ...] = ()
    derivation: dict[str, object] | None = None  # of the first of `mugraphs`: derivation/json_form.py
    remarks: tuple[Remark, ...] = ()
    notes: tuple[str, ...] = ()
    versions: dict[str, str] = field(default_factory=dict)
    baseline: str = ""
    seconds: PhaseSeconds = field(default_factory=PhaseSeconds)
    schema: int = SCHEMA
