"""The search's candidates for an example, as module texts, and their check on a GPU in a process of its own."""

from __future__ import annotations

import signal
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from mirage.codegen.emit import emit_module
from mirage.mugraph.grammar import CustomKernel, MuGraph
from mirage.pipeline import Request, floor, problem, read
from mirage.plan import plan
from mirage.profile.devices import device
from mirage.profile.roofline import baseline, estimate
from mirage.program.ir import Program
from mirage.program.lower import lower
from mirage.search.engine import Bounds, Candidate, Search
from mirage.source import detect

TARGET = "sm_90"
WARPS, STAGES = (4, 8), (3, 4)
KEPT = 256  # candidates of a search, so that several structures are among them
COMPILE_S = 60  # of one variant
POISON = (1 << 18, 1 << 25)  # elements of float16: one size for each pool of the caching allocator


@dataclass(frozen=True)
class Variant:
    """A candidate with chosen warps and stages. `rank` is the candidate's place in the model's order."""

    example: str
    rank: int
    structure: str
    label: str
    warps: int  # 0: as the search chose, for each kernel
    stages: int
    estimate: float  # µs, of the candidate as the search chose it
    text: str

    @property
    def name(self) -> str:
        return f"{self.label}, {self.warps or 'its own'} warps, {self.stages} stages"


@dataclass(frozen=True)
class Point:
    """An example: its function's name, its candidates, the µs of its bytes alone, and the model's baseline."""

    name: str
    variants: tuple[Variant, ...]
    floor: float
    baseline: float
    structures: int


def decorated(path: Path) -> bool:
    """Whether a file has a function to optimize."""
    return bool(detect.find(path.read_text(), str(path)).functions)


def traced(path: Path) -> tuple[Any, Program]:
    """The decorated function of a file, and its tensor program."""
    from mirage.program.task import trace

    text = path.read_text()
    name = detect.find(text, str(path)).functions[0].name
    function = read(Request(text, str(path), name))
    inputs = [
        {"name": i.name, "shape": list(i.shape), "dtype": i.dtype, "names": list(i.dim_names)} for i in function.inputs
    ]
    payload = {"text": function.slice.text, "function": name, "inputs": inputs}
    return function, Program.from_dict(trace(payload)["program"])


def chosen(best: list[Candidate], count: int, structures: int) -> list[int]:
    """The ranks to measure: the first `count`, and the best of each of the first `structures` structures."""
    first: dict[str, int] = {}
    for rank, c in enumerate(best):
        first.setdefault(c.structure, rank)
    return sorted({*range(min(count, len(best))), *list(first.values())[:structures]})


def with_launch(mugraph: MuGraph, warps: int, stages: int) -> MuGraph:
    """The µGraph with other warps (0: its own) and stages in all its kernels."""
    kernels = tuple(
        replace(k, warps=warps or k.warps, stages=stages) if isinstance(k, CustomKernel) else k for k in mugraph.kernels
    )
    return replace(mugraph, kernels=kernels)


def point(path: Path, count: int, structures: int) -> Point:
    """Traces, searches and emits. The first candidates also come with another number of stages."""
    function, program = traced(path)
    dev = device(TARGET)
    search = Search(problem(program, lower(program)), lambda g: estimate(g, dev), bounds=Bounds(keep=KEPT))
    for _ in search.run():
        pass
    name = function.decorated.name
    variants: dict[str, Variant] = {}
    for rank in chosen(search.best, count, structures):
        c = search.best[rank]
        own = STAGES[0]
        wanted = [(0, own)] + [(w, s) for s in STAGES for w in WARPS if s == own or rank < 3]
        for warps, stages in wanted:
            graph = plan(with_launch(c.mugraph, warps, stages))
            text = emit_module(program, graph, function.slice.text, function=name, header={})
            variant = Variant(name, rank, c.structure, c.label, warps, stages, c.us, text)
            variants.setdefault(text, variant)
    return Point(
        name, tuple(variants.values()), floor(program, dev), baseline(program, dev),
        len({c.structure for c in search.best}),
    )  # fmt: skip


def check(batch: list[Variant]) -> list[dict[str, Any]]:
    """Runs each variant twice on fresh inputs and poisoned memory; its error and eager's against float64, and what the
    compiler made of it. After a CUDA error the process is of no use: the rest of the batch says "not run"."""
    import torch

    from mirage.codegen.interpreter import load_module
    from mirage.profile.gpu import random_tensor, relative_difference

    def late(*_: object) -> None:
        raise TimeoutError(f"not compiled after {COMPILE_S} s")

    signal.signal(signal.SIGALRM, late)
    rows: list[dict[str, Any]] = []
    for v in batch:
        if any("CUDA error" in r.get("failed", "") for r in rows):
            rows.append({"failed": "not run"})
            continue
        module = load_module(v.text, interpret=False)
        original = getattr(module, f"_original_{v.example}")
        generator = torch.Generator("cuda").manual_seed(v.rank + 1)
        given = [random_tensor(shape, dtype, generator) for shape, dtype in module._EXPECTED]
        want = original(*[x.double() if x.dtype.is_floating_point else x for x in given])
        start = time.monotonic()
        signal.alarm(COMPILE_S)
        try:
            errors = []
            for _ in range(2):
                poison(torch)
                errors.append(relative_difference(module._run(*given), want))
            seconds = time.monotonic() - start
        except Exception as e:  # what does not compile or launch is a row of the report
            rows.append({"failed": f"{type(e).__name__}: {str(e).strip().splitlines()[-1][:200] if str(e) else ''}"})
            continue
        finally:
            signal.alarm(0)
        rows.append(
            {
                "error": max(errors, key=lambda e: (e != e, e)),
                "eager_error": relative_difference(original(*given), want),
                "seconds": seconds,
                **resources(module),
            }
        )
    return rows


def poison(torch: Any) -> None:
    """Fills memory that the allocator will hand out next with NaN, so that what a kernel does not write shows."""
    held = [torch.full((n,), float("nan"), dtype=torch.float16, device="cuda") for n in POISON for _ in range(4)]
    del held


def resources(module: Any) -> dict[str, int]:
    """The most registers and shared memory, and all bytes spilled, of the kernels that the module launched."""
    import triton

    kernels = [
        compiled
        for f in vars(module).values() if isinstance(f, triton.JITFunction)
        for caches in f.device_caches.values() for compiled in caches[0].values()
    ]  # fmt: skip
    return {
        "registers": max(k.n_regs for k in kernels),
        "spills": sum(k.n_spills for k in kernels),
        "shared": max(k.metadata.shared for k in kernels),
    }


def described(v: Variant) -> dict[str, Any]:
    """A variant as a row of the report, without its text."""
    return {k: x for k, x in asdict(v).items() if k != "text"}
