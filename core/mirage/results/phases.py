"""Where the seconds of an answer went: one field a phase of the pipeline, of the thread that answers."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class PhaseSeconds:
    """Seconds of wall clock by phase, none counted twice. `trace`: running the user's function on meta tensors; `search`: until all
    candidates are there; `tuning`: compiling, checking and timing them on a GPU; `baselines`: compiling and timing what a user would
    run instead; `emission`: planning a µGraph and writing its text; `verdict`: the opinions on it; `compile`: what the
    compiler took longer than the verdict beside it; `waiting`: for the GPU's worker; `explaining`: the derivation and the
    remarks. `first_kernel`: until a first kernel was verified, 0 without one; `total`: until the answer."""

    trace: float = 0.0
    search: float = 0.0
    tuning: float = 0.0
    baselines: float = 0.0
    emission: float = 0.0
    verdict: float = 0.0
    compile: float = 0.0
    waiting: float = 0.0
    explaining: float = 0.0
    first_kernel: float = 0.0
    total: float = 0.0


PHASES = tuple(f.name for f in fields(PhaseSeconds) if f.name not in ("first_kernel", "total"))
