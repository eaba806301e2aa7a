"""From a decorated function to a result: read, trace, search, plan, emit, verify, profile. The one path through the house.

Everything that runs user or generated code does so in a worker (`isolate`); this module runs in the caller's process
and imports neither torch nor triton.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from importlib import metadata
from typing import Any

from mirage.codegen.emit import emit_module
from mirage.derivation.json_form import derived
from mirage.devices.table import Device, device
from mirage.errors import (
    DerivationBroken,
    DtypeOfDevice,
    FunctionNotFound,
    MirageError,
    UntrustedWorkspace,
    WorkerDied,
    WorkerRaised,
    WorkerTimeout,
)
from mirage.ir.program import DTYPES, TORCH_NAMES, Program, computing
from mirage.isolate.runner import Worker
from mirage.mugraph import json_form, maps
from mirage.mugraph.grammar import CustomKernel, DTensor, Loop, MuGraph
from mirage.mugraph.without_calls import opened, other_calls
from mirage.pipeline import by_size
from mirage.pipeline.fusion_remarks import explain
from mirage.pipeline.processes import Tools
from mirage.plan import plan
from mirage.profile.candidate_choice import EQUAL, KEPT, Measured, lead, measured
from mirage.profile.roofline import baseline, estimate, speed_of_light
from mirage.program.axis_names import output_names
from mirage.program.library_variants import ways
from mirage.program.lower import Lowered, lower
from mirage.results.codec import unstructure
from mirage.results.progress import CancelToken, Progress
from mirage.results.result import Estimate, KernelFacts, Remark, Result
from mirage.results.verdict import Verdict
from mirage.search.checkpoint import Checkpoint
from mirage.search.engine import Bounds, Candidate, Problem, Search, SearchCounts
from mirage.search.kernel_pieces import Target
from mirage.search.one_row import bounds_for, one_row
from mirage.source import detect, shapes, slice
from mirage.verify.judge import Case, judge
from mirage.verify.proof.user_rules import Rules

TRACE_S, VERIFY_S, COMPILE_S = 60.0, 120.0, 120.0  # limits of one worker call
TUNE_S = 180.0  # limit of one tuning on the GPU
TOTAL_S = 240.0  # after this long no further candidate is verified
TRIES = 8  # candidates that are verified before the answer is "keep yours"
Report = Callable[[Progress], None]


@dataclass(frozen=True)
class Request:
    """What is asked: the file's text and path, the function, the target architecture, the search's bounds. What the
    decorator asks of every kernel holds unless `bounds.given` asks for something."""

    text: str
    path: str
    function: str
    target: str = "sm_90"
    trusted: bool = True
    anyway: bool = False  # give the best verified kernel also where the answer is "keep yours"
    measure: bool = True  # time the candidates where this machine has a GPU of the target
    bounds: Bounds = field(default_factory=Bounds)
    rules: Rules | None = None  # the user's, read and tested
    checkpoint: Checkpoint | None = None  # where searches keep their finished parts (a file: those of one)


@dataclass(frozen=True)
class Function:
    """A decorated function that was read: its slice, and its inputs' specs (of the last of the `rows` that it asks for)."""

    decorated: detect.Decorated
    slice: slice.Slice
    inputs: tuple[shapes.InputSpec, ...]
    rows: tuple[tuple[shapes.InputSpec, ...], ...]


def read(request: Request) -> Function:
    """The function's slice and shapes, or the error that says why not."""
    scan = detect.find(request.text, request.path)
    found = next((f for f in scan.functions if f.name == request.function), None)
    if found is None:
        names = ", ".join(f.name for f in scan.functions) or "none"
        raise FunctionNotFound(f"no decorated function {request.function} (decorated here: {names})", path=request.path)
    if found.error is not None:
        raise found.error
    rows = tuple(dict.fromkeys(map(tuple, shapes.rows(found))))
    return Function(found, slice.cut_decorated(found), rows[-1], rows)


def trace(function: Function, path: str, worker: Worker, cancel: CancelToken) -> Program:
    """The tensor program, traced in the worker."""
    payload = {
        "text": function.slice.text,
        "function": function.decorated.name,
        "inputs": [
            {"name": i.name, "shape": list(i.shape), "dtype": i.dtype, "names": list(i.dim_names)}
            for i in function.inputs
        ],
    }
    try:
        return Program.from_dict(worker.call("trace", payload, timeout_s=TRACE_S, cancel=cancel)["program"])
    except MirageError as e:
        e.path = e.path or path
        raise


def runnable(program: Program, dev: Device, path: str) -> None:
    """Raises DtypeOfDevice where the device has not a dtype of the program."""
    lacking = dev.lacks([i.type.dtype for i in program.inputs] + [n.type.dtype for n in program.nodes])
    if lacking:
        names = ", ".join(TORCH_NAMES[d] for d in lacking)
        raise DtypeOfDevice(f"kernels for {dev.target} ({dev.name}) have no {names}", path=path)


def problem(program: Program, lowered: Lowered) -> Problem:
    """The search's problem: the terms of the outputs, and the device tensors."""
    names = output_names(program)
    called = {x.name for x in lowered.given}
    targets = [
        Target(name, term, dims, program.type_of(x).dtype)
        for name, x, (term, dims) in zip(names, program.outputs, lowered.outputs, strict=True)
        if name not in called
    ]
    targets += [Target(x.name, x.term, x.dims, x.dtype, "temp") for x in lowered.made]
    outputs = [program.type_of(x).dtype for x in program.outputs]
    dtype = min(computing((i.type.dtype for i in program.inputs), outputs), key=lambda d: DTYPES[d][0])
    return Problem(
        program.name, lowered.terms, tuple(lowered.tensors), tuple(targets), dtype, lowered.given, lowered.calls,
        tuple(names),
    )  # fmt: skip


def problems(program: Program) -> list[Problem]:
    """The search's problems: the program as the table means it; with what stays PyTorch's own
    (`program/library_variants.py`); and with the one row of its products as an axis (`search/one_row.py`)."""
    found = [problem(p, lower(p)) for p in ways(program)]
    row = one_row(found[0])
    return found if row is None else [*found, row]


def which(posed: Sequence[Problem], graph: MuGraph) -> int:
    """The number of the problem whose calls a µGraph makes, and whose axes its inputs have; the first where there is none."""

    def axes(inputs: Iterable[DTensor]) -> dict[str, tuple[int, ...]]:
        return {x.name: tuple(map(len, x.dims)) for x in inputs}

    have = axes(graph.inputs).items()
    return next(
        (
            i
            for i, p in enumerate(posed)
            if not other_calls(p.calls, graph) and have <= axes((*p.inputs, *p.given)).items()
        ),
        0,
    )


def facts(mugraph: MuGraph, compiled: list[dict[str, Any]], target: str) -> tuple[KernelFacts, ...]:
    """What the table says of each kernel; `compiled` are the static profile's rows, in launch order."""
    out = []
    for i, k in enumerate(x for x in mugraph.kernels if isinstance(x, CustomKernel)):
        row = compiled[i] if i < len(compiled) else {}
        loops = tuple(
            {"dim": s.dim, "range": maps.loop_range(mugraph, k, s), "tile": k.block.dim(s.dim).tile}
            for s in k.block.body if isinstance(s, Loop)
        )  # fmt: skip
        out.append(
            KernelFacts(
                str(row.get("name", k.name)),  # as in the module: that is where people look
                maps.grid(mugraph, k),
                loops,
                k.warps,
                k.stages,
                row.get("shared"),
                row.get("registers"),
                row.get("spills"),
                row.get("tensor_cores"),
                target,
            )
        )
    return tuple(out)


def widened(candidate: Candidate) -> Candidate | None:
    """The candidate with computed operands, and what goes from kernel to kernel, in float32's range; None if they have
    it already."""
    kernels = tuple(
        replace(k, operands="wide") if isinstance(k, CustomKernel) else k for k in candidate.mugraph.kernels
    )
    made = {k.out for k in kernels if not isinstance(k, CustomKernel)}  # a library gives its operands' dtype
    read = {a for k in kernels if not isinstance(k, CustomKernel) for a in k.args}
    tensors = tuple(
        replace(t, dtype="fp32") if t.kind == "temp" and t.dtype == "fp16" and t.name not in made | read else t
        for t in candidate.mugraph.tensors
    )
    if (kernels, tensors) == (candidate.mugraph.kernels, candidate.mugraph.tensors):
        return None
    wide = replace(candidate.mugraph, kernels=kernels, tensors=tensors)
    return replace(candidate, mugraph=wide, label=f"{candidate.label} wide")


def inaccurate(verdict: Verdict) -> bool:
    """Was it rejected for a number (an overflow, an error) that the float opinion met? A wider dtype may mend that."""
    return any(e.opinion == "float" and e.counterexample is not None for e in verdict.rejections)


class Tries:
    """The candidates to verify, at most TRIES: best first, but where one was refused, those that share nothing of what may
    be wrong with it (its structure, its library calls) come before those that do. Of candidates with one label and
    one time, which differ in the order of their operations at most, the first comes before the others."""

    def __init__(self, best: Sequence[Candidate]) -> None:
        self.left, self.tried = list(best), 0
        self.met: set[object] = set()
        self.alike: set[tuple[str, float]] = set()

    def next(self) -> Candidate | None:
        """The next one; asking for it says that the one before was refused."""
        if not self.left or self.tried == TRIES:
            return None
        chosen = min(self.left, key=lambda c: ((c.label, c.us) in self.alike, not self.met.isdisjoint(suspects(c))))
        self.left = [c for c in self.left if c is not chosen]
        self.tried += 1
        self.met |= suspects(chosen)
        self.alike.add((chosen.label, chosen.us))
        return chosen


def suspects(candidate: Candidate) -> set[object]:
    """What of a candidate others may have in common with it, and a fault with that."""
    calls = {(k.op, k.args, k.out) for k in candidate.mugraph.kernels if not isinstance(k, CustomKernel)}
    padded = {axis for axis, size in candidate.mugraph.axes if size == 1}  # one row on the matrix instruction
    return {candidate.structure, *calls, *padded}


def floor(program: Program, dev: Device) -> float:
    """The speed of light of the program: inputs read once, outputs written once."""
    moved = sum(i.type.bytes for i in program.inputs) + sum(program.type_of(o).bytes for o in program.outputs)
    return speed_of_light(moved, 0.0, 0.0, 0, dev)


def header(
    program: Program, verdict: Verdict | None, us: float, base: float, dev: Device, found: Measured | None
) -> dict[str, str]:
    """The provenance at the module's top."""
    rows = {"made by": "mirage", "program": program.key[:16]}
    if verdict is not None:
        rows["verdict"] = verdict.headline
    rows["time"] = f"{us:.1f} us estimated for {dev.name}, {base:.1f} us as written"
    if found is not None:
        rows["time"] = f"{us:.1f} us measured on {found.device}, {base:.1f} us by {found.peer}"
    return rows


def versions() -> dict[str, str]:
    out = {}
    for package in ("mirage-superoptimizer", "torch", "triton", "numpy"):
        try:
            out[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            out[package] = "missing"
    return out


def optimize(request: Request, progress: Report, cancel: CancelToken, tools: Tools | None = None) -> Result:
    """The best verified kernel for a function, or "keep" with the reason; where several sizes are asked for, that of each
    in one module. Raises MirageError for the user's mistakes.

    `tools` serve several runs one after the other; without them a run has its own."""
    if not request.trusted:
        raise UntrustedWorkspace("nothing of this workspace may run", path=request.path)
    function = read(request)
    dev = device(request.target)
    rows = []
    with nullcontext(tools) if tools is not None else Tools() as own:
        if request.measure:
            own.warm(dev.target)
        for inputs in function.rows:
            progress(Progress("tracing"))
            program = trace(replace(function, inputs=inputs), request.path, own.runner, cancel)
            runnable(program, dev, request.path)
            attempt = Attempt(request, function, program, dev, progress, cancel, own)
            result, posed = attempt.run(), problems(program)
            found = posed[which(posed, json_form.from_json(result.mugraphs[0])) if result.mugraphs else 0]
            rows.append(by_size.Row(program, found, result))
        if len(rows) == 1:
            return rows[0].result
        progress(Progress("verifying", {"sizes": len(rows)}))
        return by_size.together(rows, by_size.Book(function.decorated, function.slice, request.rules, attempt.task))


@dataclass
class Attempt:
    """One run of the path after tracing."""

    request: Request
    function: Function
    program: Program
    dev: Device
    progress: Report
    cancel: CancelToken
    tools: Tools
    measured: Measured | None = None
    unmeasured: str = ""  # why a GPU that is here gave no times
    leading: bool = False  # a first kernel went to the GPU
    first: float = 0.0  # the µs that it took there
    counts: SearchCounts = field(default_factory=SearchCounts)  # of the searches that have ended

    def run(self) -> Result:
        start = time.monotonic()
        bounds = self.request.bounds
        if not bounds.given:
            bounds = replace(bounds, given=self.function.decorated.options.given)
        if self.tools.gpu is not None and self.request.measure:
            bounds = replace(bounds, keep=max(bounds.keep, KEPT))
        posed = problems(self.program)[: 1 if bounds.given else None]  # narrowed: no calls
        searches: list[Search] = []
        best: list[Candidate] = []
        for found in posed:
            searches.append(self.searched(found, bounds_for(found, bounds, best)))
            best = sorted([*best, *searches[-1].best], key=lambda c: c.us)
        base = self.written
        rejected: list[str] = []
        chosen = None
        tries = Tries(best)
        self.measured = self.tune(best)
        if self.measured is not None:
            base = self.measured.peers[self.measured.peer]
            tries = Tries(self.measured.candidates)
            start = time.monotonic()  # what follows has its own time
        while (candidate := tries.next()) is not None:
            self.cancel.check()
            if time.monotonic() - start > TOTAL_S and rejected:
                rejected.append(f"the other candidates: {TOTAL_S:.0f} s have passed")
                break
            search = searches[which([s.problem for s in searches], candidate.mugraph)]
            outcome = self.verify(candidate, search.problem, base, rejected)
            if outcome is not None:
                chosen = outcome
                break
        seconds = time.monotonic() - start
        search = searches[0 if chosen is None else which([s.problem for s in searches], chosen[1])]
        result = self.result(base, chosen, rejected, seconds)
        remarks = explain(search, None if chosen is None else chosen[0], base, self.dev)
        if chosen is None:
            return replace(result, remarks=remarks)
        return self.explained(result, search.problem, chosen[1], remarks)

    def searched(self, found: Problem, bounds: Bounds) -> Search:
        """The search for a problem, done."""
        search = Search(
            found, lambda g: estimate(g, self.dev), bounds=bounds, cancel=self.cancel, progress=self.searching,
            checkpoint=self.request.checkpoint,
        )  # fmt: skip
        for candidate in search.run():
            if search.best:  # what comes before has no rank yet
                self.lead(candidate)
        self.counts += search.counts
        return search

    @cached_property
    def written(self) -> float:
        """The estimate (µs) of the function as written."""
        return baseline(self.program, self.dev)

    def lead(self, candidate: Candidate) -> None:
        """Once: the search's answer so far goes to the GPU, while the search goes on, which then says what it took there."""
        if self.leading or self.tools.gpu is None or not self.request.measure:
            return
        self.leading = True
        ended = CancelToken(lambda: self.cancel.cancelled or self.tools.stop.cancelled)

        def event(counts: dict[str, Any]) -> None:
            self.first = counts.get("ns", 0) / 1e3 or self.first

        def work() -> None:
            name, target = self.function.decorated.name, self.dev.target
            lead(candidate, self.program, name, self.unverified, lambda p: self.timed(p, ended, event), target)

        self.tools.on_gpu(work)

    def searching(self, p: Progress) -> None:
        counts = {k: n + getattr(self.counts, k) for k, n in p.counts.items()}
        self.progress(Progress(p.state, counts, f"{self.first:.1f} µs measured" if self.first else p.best))

    def unverified(self, graph: MuGraph) -> str:
        """The text that the GPU times."""
        return self.emit(graph, None, 0.0, self.written)

    def timed(
        self, payload: dict[str, Any], cancel: CancelToken, event: Callable[[dict[str, Any]], None]
    ) -> dict[str, Any]:
        """The GPU worker's answer to the task "tune"; after a broken one the next comes from a fresh process."""
        worker = self.tools.gpu
        assert worker is not None
        answer = worker.call("tune", payload, timeout_s=TUNE_S, cancel=cancel, on_event=event)
        if answer.get("broken"):
            worker.close()
        return answer

    def explained(self, result: Result, found: Problem, graph: MuGraph, remarks: tuple[Remark, ...]) -> Result:
        """The result with the way to its µGraph, and why it is not fused further."""
        targets = {o.tensor: (o.term, o.dims) for o in found.outputs}
        try:
            return replace(result, remarks=remarks, derivation=derived(found.t, targets, opened(graph)))
        except DerivationBroken as e:
            return replace(result, remarks=remarks, notes=(*result.notes, e.message))

    def tune(self, best: list[Candidate], *, as_they_are: bool = False) -> Measured | None:
        """The candidates timed on this machine's GPU; None without one, or where none of them ran there."""
        if self.tools.gpu is None or not self.request.measure or not best:
            return None
        self.progress(Progress("tuning", {"mugraphs": len(best)}))

        def event(counts: dict[str, Any]) -> None:
            first = f"{counts['ns'] / 1e3:.1f} µs measured" if "ns" in counts else ""
            self.progress(Progress("tuning", {str(k): int(v) for k, v in counts.items() if k != "ns"}, first))

        def call(payload: dict[str, Any]) -> dict[str, Any]:
            answer = self.timed(payload, self.cancel, event)
            if not answer["device"]:
                self.unmeasured = f"nothing was measured on this machine's GPU: {answer['why']}"
            return answer

        self.tools.gpu_idle()
        if self.first:  # the worker tells of a first kernel once, and the search may have ended before it was timed
            self.progress(Progress("tuning", {"mugraphs": len(best)}, f"{self.first:.1f} µs measured"))
        try:
            found = measured(
                best, self.program, self.function.decorated.name, self.unverified, call, self.dev.target,
                as_they_are=as_they_are,
            )  # fmt: skip
        except (WorkerDied, WorkerRaised, WorkerTimeout) as e:  # the answer is then by the estimate, and says so
            self.unmeasured = f"nothing was measured on this machine's GPU: {e.message}"
            return None
        return found if found is not None and found.candidates else None

    def verify(
        self, candidate: Candidate, found: Problem, base: float, rejected: list[str]
    ) -> tuple[Candidate, MuGraph, Verdict, str, list[dict[str, Any]]] | None:
        counts = {"values": self.counts.values, "mugraphs": self.counts.mugraphs, "tried": len(rejected) + 1}
        self.progress(Progress("verifying", counts, f"{candidate.us:.1f} µs"))
        graph = plan(candidate.mugraph)
        try:
            text = self.emit(graph, None, candidate.us, base)
        except MirageError as e:
            rejected.append(f"{candidate.label}: {e.message}")
            return None
        compiled = self.compile(text)
        case = Case(
            found.t, found.outputs, graph, text, self.program, self.function.slice.text, self.function.decorated.name,
            self.request.rules, found.calls, found.returns,
        )  # fmt: skip
        verdict = judge(case, self.task, floats_first=True)
        rows = compiled.result()
        if not verdict.accepted:
            why = next((f"{e.link}: {e.summary}" for e in verdict.rejections), "rejected")
            rejected.append(f"{candidate.label}: {why}")
            wide = self.widened(candidate)
            if wide is not None and inaccurate(verdict):
                again = self.tune([wide], as_they_are=True) if self.measured is not None else None
                if self.measured is None or again is not None:
                    wide = wide if again is None else again.candidates[0]
                    return self.verify(wide, found, base, rejected)
            return None
        if isinstance(rows, MirageError):
            rejected.append(f"{candidate.label}: {rows.message}")
            return None
        if not all(r["fits"] for r in rows):
            rejected.append(f"{candidate.label}: more shared memory than {self.dev.name} has")
            return None
        return candidate, graph, verdict, self.emit(graph, verdict, candidate.us, base), rows

    def widened(self, candidate: Candidate) -> Candidate | None:
        """The candidate `widened`, with what its wider tensors cost in its time."""
        wide = widened(candidate)
        if wide is None:
            return None
        more = estimate(wide.mugraph, self.dev) - estimate(candidate.mugraph, self.dev)
        return replace(wide, us=candidate.us + more)

    def emit(self, graph: MuGraph, verdict: Verdict | None, us: float, base: float) -> str:
        return emit_module(
            self.program, graph, self.function.slice.readable, function=self.function.decorated.name,
            header=header(self.program, verdict, us, base, self.dev, self.measured), docstring=self.function.decorated.docstring,
        )  # fmt: skip

    def compile(self, text: str) -> Future[Any]:
        """The static profile beside the verification; a MirageError is its value when the compiler refuses."""

        def work() -> Any:
            try:
                payload = {"text": text, "target": self.dev.target}
                return self.tools.compiler_for(self.dev).call(
                    "compile", payload, timeout_s=COMPILE_S, cancel=self.cancel
                )["kernels"]
            except MirageError as e:
                return e

        return self.tools.beside.submit(work)

    def task(self, name: str, payload: dict[str, Any]) -> dict[str, Any]:
        return self.tools.runner.call(name, payload, timeout_s=VERIFY_S, cancel=self.cancel)

    def result(
        self, base: float, chosen: tuple[Candidate, MuGraph, Verdict, str, list[dict[str, Any]]] | None,
        rejected: list[str], seconds: float,
    ) -> Result:  # fmt: skip
        light = floor(self.program, self.dev)
        counts = asdict(self.counts)
        counts["total_seconds"] = round(seconds, 3)
        common: dict[str, Any] = {
            "measured": {} if self.measured is None else self.measured.to_dict(),
            "function": self.function.decorated.name,
            "inputs": tuple(
                {"name": i.name, "shape": list(i.type.shape), "dtype": i.type.dtype, "names": list(i.names)}
                for i in self.program.inputs
            ),
            "program_key": self.program.key,
            "search": counts,
            "versions": versions(),
        }
        notes = tuple(self.program.notes) + tuple(f"not taken: {r}" for r in rejected)
        notes += (self.unmeasured,) if self.unmeasured else ()
        if chosen is None:
            reason = "nothing found that fits: keep yours"
            if rejected:  # the best one's
                reason = f"no candidate was verified: keep yours (of {len(rejected)} refused, the first: {rejected[0]})"
            return Result(
                answer="keep", reason=reason, verdict={}, notes=notes, estimate=self.time(base, light, base), **common
            )
        candidate, graph, verdict, text, rows = chosen
        table = facts(graph, rows, self.dev.target)
        slower = candidate.us >= base * (1.0 if self.measured is None else EQUAL)
        how = "the estimate" if self.measured is None else f"measurement (against {self.measured.peer})"
        if slower and not self.request.anyway:
            written = "as written" if self.measured is None else f"by {self.measured.peer}"
            reason = f"keep yours: {base:.1f} µs {written}, {candidate.us:.1f} µs at best by {how}"
            return Result(
                answer="keep",
                reason=reason,
                verdict=unstructure(verdict),
                kernels=table,
                notes=notes,
                estimate=self.time(candidate.us, light, base),
                mugraphs=(json_form.to_json(graph),),
                **common,
            )
        custom = sum(isinstance(k, CustomKernel) for k in graph.kernels)
        word = "estimated" if self.measured is None else f"measured over {self.measured.peer}"
        reason = f"{base / candidate.us:.1f}x {word}, {custom} kernel{'s' if custom > 1 else ''}, {verdict.headline}"
        if slower:
            reason += f"; not faster than yours by {how}, given because you asked"
        return Result(
            answer="kernel", reason=reason, verdict=unstructure(verdict), kernels=table, notes=notes, source=text,
            estimate=self.time(candidate.us, light, base), mugraphs=(json_form.to_json(graph),), **common,
        )  # fmt: skip

    def time(self, us: float, light: float, base: float) -> Estimate:
        us, light, base = (float(f"{x:.4g}") for x in (us, light, base))  # tiny tensors take less than a nanosecond
        if self.measured is None:
            return Estimate(us, light, base, f"{self.dev.name} ({self.dev.target})")
        return Estimate(us, light, base, f"{self.measured.device} ({self.dev.target})", True)
