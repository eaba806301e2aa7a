"""Tuning on a GPU: emitted modules compiled side by side, checked against float64 at their own shapes, and timed.

Everything here runs in a worker: `task` is asked by name. Compilers run beside it (`parallel_compile.py`) and never touch the GPU;
this process alone launches, checks and times. A candidate that does not compile, launch or agree is dropped with the reason;
the others are halved by short timings (`successive_halving.py`), and the last ones are timed beside the baselines in one run,
interleaved.
"""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from types import ModuleType
from typing import Any

from mirage.codegen.interpreter import load_module
from mirage.profile import parallel_compile
from mirage.profile.gpu_timing import Function, measure, random_tensor, relative_difference, steady
from mirage.profile.successive_halving import halve
from mirage.verify.floats.worker import exactly

WRONG = 0.02  # of the largest value
LAUNCH_S = 60  # of one check
SEEDS = (1, 2)  # of the inputs that a module is checked on
AGAIN, MORE_AGAIN = (
    8,
    200,
)  # calls on the same inputs that must give the same bits: of every module and seed, of the last ones
UNSTEADY = "calls on the same inputs give different results"
POISON = (1 << 18, 1 << 25)  # elements of float16: one size for each pool of the caching allocator
SKIPPED = "not run"
BROKEN = ("CUDA error", "Triton Error [CUDA]")  # after one of these the process launches nothing more
Row = dict[str, Any]
Emit = Callable[[dict[str, Any]], None]
_known: dict[tuple[str, str], tuple[Row, ModuleType]] = {}  # (function, text) -> what was found right
_references: dict[tuple[str, object], Reference] = {}  # (function, its inputs' shapes and dtypes)


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


def inputs_of(module: ModuleType, seed: int) -> list[Any]:
    """Random inputs on the device, of the shapes that the module is for."""
    import torch

    generator = torch.Generator("cuda").manual_seed(seed)
    return [random_tensor(shape, dtype, generator) for shape, dtype in module._EXPECTED]


class Reference:
    """What a function gives in float64 on the inputs of each seed, how far it is from that as written, and whether as written it
    is `steady` (PyTorch has operators that add in any order)."""

    def __init__(self, module: ModuleType, function: str) -> None:
        import torch

        original = getattr(module, f"_original_{function}")
        double = exactly(original, torch.float64)
        self.want, errors = [], []
        for seed in SEEDS:
            given = inputs_of(module, seed)
            self.want.append(double(*[x.double() if x.dtype.is_floating_point else x for x in given]))
            errors.append(relative_difference(original(*given), self.want[-1]))
        self.eager_error = max(errors)
        self.steady = steady(original, inputs_of(module, SEEDS[0]), AGAIN)
        torch.cuda.empty_cache()


def reference_of(module: ModuleType, function: str) -> Reference:
    """The reference of a module's function at the module's inputs, computed once."""
    key = (function, module._EXPECTED)
    if key not in _references:
        _references.clear()
        _references[key] = Reference(module, function)
    return _references[key]


def check(text: str, reference: Reference) -> tuple[Row, ModuleType | None]:
    """A compiled module on fresh inputs of each seed and poisoned memory: its `error` and eager's against float64, or why it
    `failed`."""

    def late(*_: object) -> None:
        raise TimeoutError(f"not launched after {LAUNCH_S} s")

    signal.signal(signal.SIGALRM, late)
    start = time.monotonic()
    module = load_module(text, interpret=False)
    signal.alarm(LAUNCH_S)
    try:
        errors = []
        for seed, want in zip(SEEDS, reference.want, strict=True):
            given = inputs_of(module, seed)
            poison()
            errors.append(relative_difference(module._run(*given), want))
            if errors[-1] <= WRONG and reference.steady and not steady(module._run, given, AGAIN):
                return {"failed": UNSTEADY}, None
    except Exception as e:  # what does not launch is a row of the report
        said = str(e).strip().splitlines()
        return {"failed": f"{type(e).__name__}: {said[-1][:200] if said else ''}"}, None
    finally:
        signal.alarm(0)
    error = max(errors, key=lambda e: (e != e, e))
    row = {"error": error, "eager_error": reference.eager_error, **resources(module)}
    return {**row, "check_s": time.monotonic() - start}, module


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
        # its processes would ask CUDA which GPU is there, and CUDA does not start in a child of this sandbox
        torch._inductor.config.compile_threads = 1
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


def warm(payload: dict[str, Any]) -> dict[str, Any]:
    """For the isolated worker, while the search still runs: {"processes", "target"} -> {"device"}. Starts the compilers, and what CUDA
    and Triton do once."""
    waiting = parallel_compile.start(int(payload.get("processes", 8)), str(payload.get("target", "sm_90")))
    import torch
    from triton.runtime import driver

    found = here()
    if found:
        x = torch.ones(16, 16, dtype=torch.float64, device="cuda")
        x @ x
        driver.active.get_current_device()
        torch.cuda.synchronize()
    for future in waiting:
        future.result()
    return {"device": found}


def task(payload: dict[str, Any], emit: Emit) -> dict[str, Any]:
    """For the isolated worker. Takes {"texts", "function", "target", "processes", "seconds" (after these no further module is
    compiled), "last", "compiled", "attention"}; gives {"device" ("" where there is no GPU of the target, and "why"), "rows"
    (one a text: error, resources, `cold` µs of its last timing; or why it failed), "times" (name -> Timing, of the last round:
    texts by their index, baselines by name, "read": a plain read of the inputs), "seconds" (until the choice, without the
    baselines), "first" (until the first was checked and timed), "broken": this process launches nothing more, the texts
    that were not run are to be asked of another}.

    Unless it is the "last" one, a call times all once; what it found is known to the next. Emits counts: {"checked", "right"},
    and {"ns"} of the first that is right, then {"timed"} a round."""
    import torch

    from mirage.profile.streaming_read import read_all

    start, target = time.monotonic(), str(payload.get("target") or here())
    if not here() or here() != target:
        why = f"this machine's GPU is {here()}, not {target}" if here() else "torch sees no CUDA GPU"
        return {"device": "", "why": why, "rows": [], "times": {}, "seconds": 0.0}
    texts, name, last = [str(t) for t in payload["texts"]], str(payload["function"]), bool(payload.get("last", True))
    rows: list[Row] = [{"failed": SKIPPED} for _ in texts]
    answer: dict[str, Any] = {"device": torch.cuda.get_device_name(), "rows": rows, "times": {}}
    modules: dict[int, ModuleType] = {}
    for i, text in enumerate(texts):
        if (name, text) in _known:
            rows[i], modules[i] = _known[name, text]
    todo = [i for i in range(len(texts)) if i not in modules]
    until = start + float(payload.get("seconds", math.inf))

    def times(some: Sequence[int], effort: int) -> dict[int, float]:
        functions: dict[str, Function] = {str(i): modules[i]._run for i in some}
        found = measure(functions, lambda s: inputs_of(modules[some[0]], s), repetitions=effort, hot=False)
        for i in some:
            rows[i]["cold"] = found[str(i)].cold
        return {i: found[str(i)].cold for i in some}

    ready = parallel_compile.compiled([texts[i] for i in todo], target, int(payload.get("processes", 8)), until)
    reference = reference_of(load_module(texts[todo[0]], interpret=False), name) if todo else None  # while they compile
    for n, (k, row) in enumerate(ready):
        i = todo[k]
        rows[i] = row if time.monotonic() <= until else {"failed": parallel_compile.LATE}
        if "failed" not in rows[i] and reference is not None:
            found, module = check(texts[i], reference)
            rows[i] = {**row, **found}
            if any(b in found.get("failed", "") for b in BROKEN):
                return {**answer, "broken": True, "seconds": time.monotonic() - start}
            if module is not None and found["error"] <= WRONG:
                modules[i] = module
                _known[name, texts[i]] = rows[i], module
                if len(_known) == 1:
                    emit({"ns": int(times([i], 1)[i] * 1e3)})
                    answer["first"] = time.monotonic() - start
        emit({"checked": n + 1, "right": len(modules)})
    right = sorted(modules)
    if not right or not last:
        if right:
            times(right, 1)
        return {**answer, "seconds": time.monotonic() - start}

    def counted(some: Sequence[int], effort: int) -> dict[int, float]:
        emit({"timed": len(some)})
        return times(some, effort)

    chosen = halve(right, counted, protected=right[:1])
    deterministic = all(r.steady for r in _references.values())
    while unsteady := [
        i for i in chosen if deterministic and not steady(modules[i]._run, inputs_of(modules[i], 0), MORE_AGAIN)
    ]:
        for i in unsteady:
            rows[i] = {"failed": UNSTEADY}
            right.remove(i)
            del _known[name, texts[i]]
        if not right:
            return {**answer, "seconds": time.monotonic() - start}
        chosen = halve(right, counted, protected=right[:1])
    answer["seconds"] = time.monotonic() - start
    functions: dict[str, Function] = {str(i): modules[i]._run for i in chosen}
    some = modules[right[0]]
    functions |= baselines(
        getattr(some, f"_original_{name}"), inputs_of(some, 0), compiled=bool(payload.get("compiled")),
        attention=bool(payload.get("attention")),
    )  # fmt: skip
    functions["read"] = read_all
    answer["times"] = {k: asdict(v) for k, v in measure(functions, lambda s: inputs_of(some, s)).items()}
    for i in chosen:
        rows[i]["cold"] = answer["times"][str(i)]["cold"]
    _known.clear()
    _references.clear()
    return answer
