"""Tuning on a GPU: emitted modules compiled side by side, checked against float64 at their own shapes, and timed.

Everything here runs in a worker: `task` is asked by name. A candidate that does not compile, launch or agree is dropped
with the reason; the others are halved by short timings (`halving.py`), and the last ones are timed beside the baselines
in one run, interleaved.
"""

from __future__ import annotations

import math
import multiprocessing
import signal
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict
from typing import Any

from mirage.profile.gpu import Function, measure, random_tensor, relative_difference
from mirage.profile.halving import halve

ROOM = 24  # times the inputs' bytes that a check takes on the device: float64 and what eager makes
WRONG = 0.02  # of the largest value
CONTEXT = 1 << 30  # bytes on the device that any process takes
COMPILE_S = 60  # of one candidate
BATCH = 4  # candidates that one process checks
POISON = (1 << 18, 1 << 25)  # elements of float16: one size for each pool of the caching allocator
SKIPPED = "not run"
Row = dict[str, Any]


def poison() -> None:
    """Fills memory that the allocator will hand out next with NaN, so that what a kernel does not write shows."""
    import torch

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
        "registers": max((k.n_regs for k in kernels), default=0),
        "spills": sum(k.n_spills for k in kernels),
        "shared": max((k.metadata.shared for k in kernels), default=0),
    }


def check(function: str, texts: Sequence[str]) -> list[Row]:
    """Each module twice on fresh inputs and poisoned memory: its `error` and eager's against float64, or why it `failed`.
    After a CUDA error the process is of no use: the rest of the batch says so."""
    import torch

    from mirage.codegen.interpreter import load_module

    def late(*_: object) -> None:
        raise TimeoutError(f"not compiled after {COMPILE_S} s")

    signal.signal(signal.SIGALRM, late)
    rows: list[Row] = []
    for i, text in enumerate(texts):
        if any("CUDA error" in r.get("failed", "") for r in rows):
            rows.append({"failed": SKIPPED})
            continue
        module = load_module(text, interpret=False)
        original = getattr(module, f"_original_{function}")
        generator = torch.Generator("cuda").manual_seed(i + 1)
        given = [random_tensor(shape, dtype, generator) for shape, dtype in module._EXPECTED]
        want = original(*[x.double() if x.dtype.is_floating_point else x for x in given])
        start = time.monotonic()
        signal.alarm(COMPILE_S)
        try:
            errors = []
            for _ in range(2):
                poison()
                errors.append(relative_difference(module._run(*given), want))
        except Exception as e:  # what does not compile or launch is a row of the report
            said = str(e).strip().splitlines()
            rows.append({"failed": f"{type(e).__name__}: {said[-1][:200] if said else ''}"})
            continue
        finally:
            signal.alarm(0)
        error = max(errors, key=lambda e: (e != e, e))
        row = {"error": error, "eager_error": relative_difference(original(*given), want), **resources(module)}
        rows.append({**row, "seconds": time.monotonic() - start})
    return rows


def checked(function: str, texts: Sequence[str], processes: int) -> list[Row]:
    """`check` in several processes at a time; what stood behind a CUDA error or died with its process runs again alone."""
    rows: list[Row] = [{"failed": SKIPPED} for _ in texts]
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["torch", "triton", "triton.language"])
    for size in (BATCH, 1):
        todo = [i for i, r in enumerate(rows) if r.get("failed") == SKIPPED]
        batches = [todo[i : i + size] for i in range(0, len(todo), size)]
        if not batches:
            break
        with ProcessPoolExecutor(min(processes, len(batches)), context) as pool:
            waiting = [(b, pool.submit(check, function, [texts[i] for i in b])) for b in batches]
            for batch, future in waiting:
                try:
                    found = future.result()
                except BrokenProcessPool:
                    found = [{"failed": SKIPPED if size > 1 else "its process died"} for _ in batch]
                for i, row in zip(batch, found, strict=True):
                    rows[i] = row
    return rows


def attention_backends(function: Function, inputs: Sequence[Any]) -> dict[str, Function]:
    """The function with each backend of PyTorch's fused attention that takes these inputs; none where it calls no
    attention (all backends give the same kernels there, so one that cannot run says nothing)."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    def with_backend(backend: Any) -> Function:
        def run(*tensors: Any) -> Any:
            with sdpa_kernel(backend):
                return function(*tensors)

        return run

    found: dict[str, Function] = {}
    for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.CUDNN_ATTENTION):
        run = with_backend(backend)
        try:
            run(*inputs)
        except RuntimeError:  # the backend refuses: "No available kernel"
            continue
        found[f"sdpa_{backend.name.split('_')[0].lower()}"] = run
    return found


def baselines(original: Function, inputs: Sequence[Any], *, compiled: bool, attention: bool) -> dict[str, Function]:
    """What a user would run instead: the function as written, compiled in two ways, with each backend of attention."""
    import torch

    found: dict[str, Function] = {"eager": original}
    if compiled:
        found["compile"] = torch.compile(original, dynamic=False)
        found["compile_max"] = torch.compile(original, dynamic=False, mode="max-autotune-no-cudagraphs")
    if attention:
        found |= attention_backends(original, inputs)
    for f in found.values():
        f(*inputs)
    return found


def here() -> str:
    """The target of this machine's GPU, "" without one."""
    import torch

    if not torch.cuda.is_available():
        return ""
    major, minor = torch.cuda.get_device_capability()
    return f"sm_{major}{minor}"


def task(payload: dict[str, Any], emit: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """For the isolated worker. Takes {"texts", "function", "target", "processes", "bytes" (of the inputs), "compiled",
    "attention"}; gives {"device" ("" where there is no GPU of the target), "rows" (one a text: error, resources, `cold` µs
    of its last timing; or why it failed), "times" (name -> Timing, of the last round: texts by their index, baselines by
    name, "read": a plain read of the inputs), "seconds" (until the choice, without the baselines)}. Emits counts:
    {"checked", "right"}, then {"timed"} a round."""
    import torch

    from mirage.codegen.interpreter import load_module
    from mirage.profile.stream import read_all

    if payload.get("target", here()) != here() or not here():
        return {"device": "", "rows": [], "times": {}}

    start = time.monotonic()
    texts, name = [str(t) for t in payload["texts"]], str(payload["function"])
    room = int(torch.cuda.get_device_properties(0).total_memory * 0.8)
    fitting = max(1, room // (ROOM * int(payload.get("bytes", 0)) + CONTEXT))
    rows = checked(name, texts, min(int(payload.get("processes", 8)), fitting))
    right = [i for i, r in enumerate(rows) if r.get("error", math.nan) <= WRONG]
    emit({"checked": len(rows), "right": len(right)})
    if not right:
        return {"device": torch.cuda.get_device_name(), "rows": rows, "times": {}, "seconds": time.monotonic() - start}
    modules = {i: load_module(texts[i], interpret=False) for i in right}

    def make_inputs(seed: int) -> list[Any]:
        generator = torch.Generator("cuda").manual_seed(seed)
        return [random_tensor(shape, dtype, generator) for shape, dtype in modules[right[0]]._EXPECTED]

    def times(some: Sequence[int], effort: int) -> dict[int, float]:
        found = measure({str(i): modules[i]._run for i in some}, make_inputs, repetitions=effort)
        for i in some:
            rows[i]["cold"] = found[str(i)].cold
        emit({"timed": len(some)})
        return {i: found[str(i)].cold for i in some}

    last = halve(right, times, protected=right[:1])
    seconds = time.monotonic() - start
    functions: dict[str, Function] = {str(i): modules[i]._run for i in last}
    original = getattr(modules[right[0]], f"_original_{name}")
    functions |= baselines(
        original, make_inputs(0), compiled=bool(payload.get("compiled")), attention=bool(payload.get("attention"))
    )
    functions["read"] = read_all
    found = {k: asdict(v) for k, v in measure(functions, make_inputs).items()}
    for i in last:
        rows[i]["cold"] = found[str(i)]["cold"]
    return {"device": torch.cuda.get_device_name(), "rows": rows, "times": found, "seconds": seconds}
