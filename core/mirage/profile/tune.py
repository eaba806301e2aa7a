"""Tuning on a GPU: emitted modules compiled side by side, checked against float64 at their own shapes, and timed.

Everything here runs in a worker: `tune_modules` is asked by name. Compilers run beside it (`parallel_compile.py`) and never touch the GPU;
this process alone launches, checks and times. A candidate that does not compile, launch or agree is dropped with the reason;
the others are halved by short timings (`successive_halving.py`), and the last ones are timed beside the baselines in one run,
interleaved.
"""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, cast

from mirage.codegen.interpreter import load_module
from mirage.profile import parallel_compile
from mirage.profile.gpu_timing import (
    Function,
    Result,
    Tensors,
    graph_of,
    measure,
    random_tensor,
    relative_difference,
    steady,
    timing_row,
    warm,
)
from mirage.profile.memory_shortage import retried
from mirage.profile.successive_halving import halve
from mirage.profile.timed_baselines import baselines
from mirage.profile.worker_tasks import Emit, ModuleRow, TimingRow, TuneAnswer, TunePayload, WarmAnswer, WarmPayload
from mirage.verify.floats.device_worker import poison
from mirage.verify.floats.worker import cast_floats, exactly

if TYPE_CHECKING:
    import torch

PROCESSES = 8  # that compile, unless the payload says how many
WRONG = 0.02  # of the largest value
LAUNCH_S = 60  # of one check
BASELINES_S = 30  # of what baselines do at their first calls (torch.compile tunes), all together
TOO_LONG = f"not ready when the baselines' {BASELINES_S} s had passed"
SEEDS = (1, 2)  # of the inputs that a module is checked on
AGAIN, MORE_AGAIN = 8, 200  # calls on the same inputs with the same bits: of every module and seed, of the last ones
UNSTEADY = "calls on the same inputs give different results"
SKIPPED = "not run"
BROKEN = ("CUDA error", "Triton Error [CUDA]")  # after one of these the process launches nothing more
_known: dict[tuple[str, str], tuple[ModuleRow, ModuleType]] = {}  # (function, text) -> what was found right
_references: dict[tuple[str, object], Reference] = {}  # (function, its inputs' shapes and dtypes)
_prepared: dict[tuple[str, object], dict[str, Function]] = {}  # the baselines of the same that run


def resources(module: ModuleType) -> ModuleRow:
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


def inputs_of(module: ModuleType, seed: int, *, inside: bool = False) -> list[torch.Tensor]:
    """Random inputs on the device, of the shapes that the module is for (`random_tensor` says what `inside` means)."""
    import torch

    generator = torch.Generator("cuda").manual_seed(seed)
    return [random_tensor(shape, dtype, generator, inside=inside) for shape, dtype in module._EXPECTED]


class Reference:
    """What a function gives in float64 on the inputs of each seed (in float32 where the device's memory does not hold that), how
    far it is from that as written, and whether as written it is `steady` (PyTorch has operators that add in any order). Where it has
    no value on inputs of any sign, the inputs are `inside` the range where roots and logarithms have values, if that helps: on
    NaN no kernel could be told from another."""

    def __init__(self, module: ModuleType, function: str) -> None:
        import torch

        self.module, self.original, self.inside = module, getattr(module, f"_original_{function}"), False
        self.want = self._results()
        if any(map(lacks_values, self.want)):
            self.inside = True
            inside = self._results()
            self.inside = not any(map(lacks_values, inside))
            self.want = inside if self.inside else self.want
        errors = [
            relative_difference(self.original(*self.inputs(seed)), want)
            for seed, want in zip(SEEDS, self.want, strict=True)
        ]
        self.eager_error = max(errors)
        self.steady = steady(self.original, self.inputs(SEEDS[0]), AGAIN)
        torch.cuda.empty_cache()

    def inputs(self, seed: int) -> list[torch.Tensor]:
        """The inputs of a seed, for any module of the function at these shapes."""
        return inputs_of(self.module, seed, inside=self.inside)

    def _results(self) -> list[Result]:
        import torch

        found = []
        for seed in SEEDS:
            given = self.inputs(seed)
            try:
                found.append(_wide(self.original, given, torch.float64))
            except torch.OutOfMemoryError:
                torch.cuda.empty_cache()
                found.append(_wide(self.original, given, torch.float32))
        return found


def lacks_values(result: Result) -> bool:
    """Whether a result has NaN."""
    tensors = result if isinstance(result, (tuple, list)) else (result,)
    return any(bool(x.isnan().any()) for x in tensors)


def _wide(original: Function, given: Tensors, dtype: torch.dtype) -> Result:
    """The function in a wider dtype."""
    return cast("Result", exactly(original, dtype)(*cast_floats(given, dtype)))


def reference_of(module: ModuleType, function: str) -> Reference:
    """The reference of a module's function at the module's inputs, computed once."""
    key = (function, module._EXPECTED)
    if key not in _references:
        _references.clear()
        _references[key] = Reference(module, function)
    return _references[key]


def check(text: str, reference: Reference) -> tuple[ModuleRow, ModuleType | None]:
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
            given = reference.inputs(seed)
            poison()
            errors.append(relative_difference(module._run(*given), want))
            if errors[-1] <= WRONG and reference.steady and not steady(module._run, given, AGAIN):
                return {"failed": UNSTEADY}, None
    except Exception as e:  # what does not launch is a row of the report
        return {"failed": said_of(e)}, None
    finally:
        signal.alarm(0)
    error = max(errors, key=lambda e: (e != e, e))
    row: ModuleRow = {"error": error, "eager_error": reference.eager_error, **resources(module)}
    return {**row, "check_s": time.monotonic() - start}, module


def said_of(error: Exception) -> str:
    """The error in one line: the one that says that the process is broken, else the last."""
    said = str(error).strip().splitlines() or [""]
    line = next((x for x in said if breaks(x)), said[-1])
    return f"{type(error).__name__}: {line[:200]}"


def breaks(said: str) -> bool:
    """Whether the process launches nothing more after an error that says so."""
    return any(b in said for b in BROKEN)


def here() -> str:
    """The target of this machine's GPU, "" without one."""
    import torch

    if not torch.cuda.is_available():
        return ""
    major, minor = torch.cuda.get_device_capability()
    return f"sm_{major}{minor}"


def warm_gpu(payload: WarmPayload) -> WarmAnswer:
    """In the worker, while the search still runs: starts the compilers, and what CUDA and Triton do once."""
    waiting = parallel_compile.start(payload.get("processes", PROCESSES), payload.get("target", "sm_90"))
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


def tune_modules(payload: TunePayload, emit: Emit) -> TuneAnswer:
    """In the worker. Emits counts: {"checked", "right"}, and {"ns"} of the first that is right, then {"timed"} a round."""
    start, target = time.monotonic(), payload.get("target") or here()
    if not here() or here() != target:
        why = f"this machine's GPU is {here()}, not {target}" if here() else "torch sees no CUDA GPU"
        return {"device": "", "why": why, "rows": [], "times": {}, "seconds": 0.0}
    import torch

    answer = retried(lambda: _tuned(_Tuning(payload, target, emit, start)), _forget)
    if not answer.get("broken"):  # then no call to CUDA returns
        torch.cuda.empty_cache()  # others tune on this GPU too
    return answer


def _forget() -> None:
    _known.clear()
    _references.clear()
    _prepared.clear()


def _tuned(run: _Tuning) -> TuneAnswer:
    """What a call gives, one that broke the process included. Raises OutOfMemoryError."""
    import torch

    answer: TuneAnswer = {"device": torch.cuda.get_device_name(), "rows": run.rows, "times": {}}
    try:
        answer |= run.answer()
    except Exception as e:
        if not breaks(said_of(e)):
            raise
        run.blame(said_of(e))
        answer["broken"] = True
    if run.first:
        answer["first"] = run.first
    return {
        **answer,
        "seconds": (run.chosen_s or time.monotonic() - run.start) - run.prepared_s,
        "prepared": run.prepared_s,
        "missing": run.missing,
        "notes": run.notes,
    }


class _Tuning:
    """One call: `rows` of the texts, the `modules` that are right by their index, how long the `first` took, the choice
    (`chosen_s`), and the baselines (`prepared_s`) within that. `running`: what is on the device now, texts by index
    or a baseline by name."""

    def __init__(self, payload: TunePayload, target: str, emit: Emit, start: float) -> None:
        self.payload, self.target, self.emit, self.start = payload, target, emit, start
        self.texts, self.name = payload["texts"], payload["function"]
        self.rows: list[ModuleRow] = [{"failed": SKIPPED} for _ in self.texts]
        self.modules: dict[int, ModuleType] = {}
        self.first = self.chosen_s = self.prepared_s = 0.0
        self.running: Sequence[int | str] = ()
        self.missing: dict[str, str] = {}
        self.notes: list[str] = []
        for i, text in enumerate(self.texts):
            if (self.name, text) in _known:
                self.rows[i], self.modules[i] = _known[self.name, text]

    def answer(self) -> TuneAnswer:
        """What this call adds to the answer. Raises what breaks the process while modules or baselines are timed."""
        added: dict[str, object] = {}
        if not self.compile_and_check():
            return cast("TuneAnswer", {"broken": True})
        right = sorted(self.modules)
        for i in right if self.payload.get("alone") else ():
            self.times([i], 1)
        if not self.payload.get("last", True):
            if right:
                self.times(right, 1)
            return cast("TuneAnswer", added)
        chosen = self.choose(right)
        self.chosen_s = time.monotonic() - self.start
        some = self.modules[right[0]] if chosen else self.written()
        if some is not None:
            added["times"] = self.beside_baselines(chosen, some)
            _forget()
        return cast("TuneAnswer", added)

    def written(self) -> ModuleType | None:
        """The module without kernels; None where none was given."""
        text = self.payload.get("written", "")
        return load_module(text, interpret=False) if text else None

    def blame(self, said: str) -> None:
        """What ran when the process broke: a baseline is missing from now on; a text by itself has failed; of several texts
        nobody knows which, and they are timed one by one in another process."""
        if len(self.running) != 1:
            return
        (one,) = self.running
        if isinstance(one, str):
            self.missing[one] = said
        else:
            self.rows[one] = {"failed": said}

    def times(self, some: Sequence[int], effort: int) -> dict[int, float]:
        """Cold µs of each of these modules."""
        functions: dict[str, Function] = {str(i): self.modules[i]._run for i in some}
        self.running = some
        found = measure(
            functions, lambda s: inputs_of(self.modules[some[0]], s), repetitions=effort, hot=False
        )  # fmt: skip
        for i in some:
            self.rows[i]["cold"] = found[str(i)].cold
        return {i: found[str(i)].cold for i in some}

    def compile_and_check(self) -> bool:
        """What is not yet known, as the compilers are done with it. False where the process launches nothing more."""
        todo = [i for i in range(len(self.texts)) if i not in self.modules]
        until = self.start + self.payload.get("seconds", math.inf)
        texts, processes = [self.texts[i] for i in todo], self.payload.get("processes", PROCESSES)
        ready = parallel_compile.compiled(texts, self.target, processes, until)
        # the reference while they compile
        reference = reference_of(load_module(texts[0], interpret=False), self.name) if todo else None
        if reference is not None and self.payload.get("prepare", False):
            began = time.monotonic()
            self.runnable(reference.module)
            self.prepared_s = time.monotonic() - began
            until += self.prepared_s  # what was compiled meanwhile is checked
        for n, (k, row) in enumerate(ready):
            i = todo[k]
            self.rows[i] = row if time.monotonic() <= until else {"failed": parallel_compile.LATE}
            if "failed" not in self.rows[i] and reference is not None and not self._check(i, row, reference):
                return False
            self.emit({"checked": n + 1, "right": len(self.modules)})
        return True

    def _check(self, i: int, row: ModuleRow, reference: Reference) -> bool:
        """Checks a compiled module; the first that is right is timed at once."""
        found, module = check(self.texts[i], reference)
        self.rows[i] = {**row, **found}
        if breaks(found.get("failed", "")):
            return False
        if module is not None and found["error"] <= WRONG:
            self.modules[i] = module
            _known[self.name, self.texts[i]] = self.rows[i], module
            if len(_known) == 1:
                self.emit({"ns": int(self.times([i], 1)[i] * 1e3)})
                self.first = time.monotonic() - self.start
        return True

    def choose(self, right: list[int]) -> list[int]:
        """The fastest, timed longer and longer, and the first of `right`; what is unsteady among them falls out of `right`."""

        def counted(some: Sequence[int], effort: int) -> dict[int, float]:
            self.emit({"timed": len(some)})
            return self.times(some, effort)

        while right:
            chosen = halve(right, counted, protected=right[:1])
            unsteady = [i for i in chosen if not self._steady(i)]
            if not unsteady:
                return chosen
            for i in unsteady:
                self.rows[i] = {"failed": UNSTEADY}
                right.remove(i)
                del _known[self.name, self.texts[i]]
        return []

    def _steady(self, i: int) -> bool:
        if not all(r.steady for r in _references.values()):  # the function itself is not
            return True
        self.running = [i]
        return steady(self.modules[i]._run, inputs_of(self.modules[i], 0), MORE_AGAIN)

    def runnable(self, some: ModuleType) -> dict[str, Function]:
        """The baselines that run and can be in a CUDA graph; of the others the reason is kept. They are made once, the quick ones
        first; what is not ready after `BASELINES_S` has no time."""
        key = (self.name, some._EXPECTED)
        if key not in _prepared:
            inputs = inputs_of(some, 0)
            given = baselines(
                getattr(some, f"_original_{self.name}"), inputs,
                compiled=self.payload.get("compiled", False), attention=self.payload.get("attention", False),
            )  # fmt: skip
            until, ready = time.monotonic() + BASELINES_S, {}
            for name, function in given.items():
                if name not in self.payload.get("without", []) and self.runs(name, function, inputs, until):
                    ready[name] = function
            _prepared.clear()
            _prepared[key] = ready
        return {k: f for k, f in _prepared[key].items() if k not in self.payload.get("without", [])}

    def runs(self, name: str, function: Function, inputs: Tensors, until: float) -> bool:
        """Whether a baseline is ready before `until` (monotonic) and runs in a CUDA graph. Raises what breaks the process."""
        import torch

        def late(*_: object) -> None:
            raise TimeoutError(TOO_LONG)

        self.running = [name]
        signal.signal(signal.SIGALRM, late)
        # again and again: PyTorch's own tuning takes an error for one of the kernel that it tries
        signal.setitimer(signal.ITIMER_REAL, max(until - time.monotonic(), 1e-3), 1.0)
        try:
            warm(function, [inputs])
            graph_of(function, [inputs], 1).replay()
            torch.cuda.synchronize()
        except Exception as e:  # torch.compile raises what it likes; a process that is broken is not this one's to mend
            if breaks(said_of(e)):
                raise
            self.missing[name] = said_of(e)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        if time.monotonic() >= until:  # PyTorch may have gone on with less than it would have tried
            self.missing[name] = TOO_LONG
        return name not in self.missing

    def beside_baselines(self, chosen: Sequence[int], some: ModuleType) -> dict[str, TimingRow]:
        """The chosen ones, the baselines of `some` and a plain read of the inputs, interleaved in one run."""
        from mirage.profile.streaming_read import read_all

        functions: dict[str, Function] = {str(i): self.modules[i]._run for i in chosen}
        functions |= self.runnable(some) | {"read": read_all}
        self.running = chosen
        times = {
            k: timing_row(v) for k, v in measure(functions, lambda s: inputs_of(some, s), notes=self.notes).items()
        }
        for i in chosen:
            self.rows[i]["cold"] = times[str(i)]["cold"]
        return times
