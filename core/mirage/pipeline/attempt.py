"""One attempt to optimize a traced program: search, time, plan, emit, verify, until a candidate is accepted.

Everything that runs user or generated code does so in a worker (`isolate`); this module runs in the caller's process
and imports neither torch nor triton.
"""

from __future__ import annotations

import math
import time
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import cached_property

from mirage.codegen.baseline_module import emit_baselines
from mirage.codegen.emit import emit_module
from mirage.derivation.json_form import derived
from mirage.devices.table import Device
from mirage.errors import DerivationBroken, EmissionRefused, MirageError
from mirage.ir.program import Program
from mirage.isolate.task_table import Payload, Value
from mirage.mugraph.capacity import Limits, room
from mirage.mugraph.grammar import MuGraph
from mirage.mugraph.without_calls import opened
from mirage.pipeline.answer import Answer, Verified, header, with_explanation
from mirage.pipeline.candidate_order import Tries, inaccurate, widened
from mirage.pipeline.candidate_timing import CandidateTiming, Report, TimedFunction
from mirage.pipeline.fusion_remarks import compiled_instead, explain
from mirage.pipeline.phase_clock import PhaseClock
from mirage.pipeline.processes import Tools
from mirage.pipeline.request import Function, Request
from mirage.pipeline.search_problems import which
from mirage.pipeline.searches import asked_bounds, search_all, search_for
from mirage.pipeline.source_names import named_by_source
from mirage.plan import plan
from mirage.profile.candidate_choice import EQUAL, Measured
from mirage.profile.roofline import baseline, estimate, speed_of_light
from mirage.profile.worker_tasks import KernelRow
from mirage.results.baselines import EAGER
from mirage.results.progress import CancelToken, Progress, ProgressCounts
from mirage.results.result import Remark, Result
from mirage.results.verdict import Verdict
from mirage.search.engine import Bounds, Candidate, Problem, Search, SearchCounts, reported
from mirage.verify.floats.device_opinion import device_opinion
from mirage.verify.judge import Case, emitted_module, judge

VERIFY_S, COMPILE_S = 120.0, 120.0  # limits of one worker call
TOTAL_S = 240.0  # after this long no further candidate is verified
NOT_HELD = "not run at its real shape: the device's memory does not hold the function in float64 there"


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
    clock: PhaseClock = field(default_factory=PhaseClock)
    measured: Measured | None = None
    counts: SearchCounts = field(default_factory=SearchCounts)  # of the searches that have ended

    def run(self) -> Result:
        start = time.monotonic()
        bounds = asked_bounds(self.request, self.function, timed=self.timing is not None)
        with self.clock.phase("search"):
            searches, best = search_all(self.program, bounds, self.searched)
        base = self.written
        rejected: list[str] = []
        chosen = None
        self.measured = self.tune(best)
        tries = Tries(best := [replace(c, us=c.us + self.copies) for c in best])
        # a refused one may have been followed by one of another structure: what is faster comes after it
        if self.measured is not None:
            base = self.measured.baseline(base)
            tries = Tries(self.measured.candidates)
            start = time.monotonic()  # what follows has its own time
        below = self.limit(base)
        too_slow = tries.best_beyond(below)
        while (candidate := tries.next(below)) is not None:
            self.cancel.check()
            if time.monotonic() - start > TOTAL_S and rejected:
                rejected.append(f"the other candidates: {TOTAL_S:.0f} s have passed")
                break
            search = searches[which([s.problem for s in searches], candidate.mugraph)]
            outcome = self.verify(candidate, search.problem, base, rejected)
            if outcome is not None:
                chosen, below = outcome, outcome.candidate.us * EQUAL
        seconds = time.monotonic() - start
        shown = too_slow if chosen is None else chosen.candidate
        search = searches[0 if shown is None else which([s.problem for s in searches], shown.mugraph)]
        result = self.result(base, chosen, rejected, seconds, 0.0 if too_slow is None else too_slow.us)
        with self.clock.phase("explaining"):
            remarks = self.remarks(search, shown, base, result)
            if chosen is None or not result.mugraphs:
                return replace(result, remarks=remarks)
            return self.explained(result, search.problem, chosen.mugraph, remarks)

    def limit(self, base: float) -> float:
        """The µs below which a kernel can be the answer."""
        if self.request.anyway:
            return math.inf
        return base if self.measured is None else self.measured.limit(base)

    def remarks(self, search: Search, chosen: Candidate | None, base: float, result: Result) -> tuple[Remark, ...]:
        """Why the answer is what it is; without a GPU also what torch.compile would take."""
        if self.measured is not None:
            return explain(search, chosen, self.measured.standing(base), self.dev)
        us = chosen.us if chosen is not None and result.answer == "kernel" else base
        return (*explain(search, chosen, base, self.dev), compiled_instead(self.program, us, self.dev))

    def without_search(self, refused: MirageError) -> Result:
        """The best baseline of a function for which no kernel can be searched, since it was `refused`. Raises that where nothing is
        measured to be faster than the function as written."""
        self.measured = self.tune([])
        if self.measured is None or not self.measured.better:
            raise refused
        base = self.measured.baseline(math.inf)
        answer = Answer(
            self.function.decorated.name, self.program, self.dev, self.counts, 0.0, base, self.measured, "", [], self.by_baseline,
            str(refused),
        )  # fmt: skip
        return answer.without_kernel()

    def searched(self, found: Problem, bounds: Bounds) -> Search:
        """The search for a problem, done."""
        search = search_for(found, bounds, self.request, self.dev, self.cancel, self.searching)
        for candidate in search.run():
            if search.best and self.timing is not None:  # what comes before has no rank yet
                self.timing.lead(candidate)
        self.counts += search.counts
        return search

    @cached_property
    def written(self) -> float:
        """The estimate (µs) of the function as written."""
        return baseline(self.program, self.dev)

    def searching(self, p: Progress) -> None:
        first = 0.0 if self.timing is None else self.timing.first
        counts = p.counts + reported(self.counts)
        self.progress(Progress(p.state, counts, f"{first:.1f} µs measured" if first else p.best))

    def unverified(self, graph: MuGraph) -> str:
        """The text that the GPU times."""
        return self.emit(graph, None, 0.0, self.written)

    @cached_property
    def timing(self) -> CandidateTiming | None:
        """This machine's GPU; None where there is none, or where it was not asked for."""
        if self.tools.gpu is None or not self.request.measure:
            return None
        asked = TimedFunction(self.function.decorated.name, self.program, self.dev.target)
        try:
            written = self.baseline_text(self.function, "compile", {})
        except EmissionRefused:  # then no kernel has a text either
            written = ""
        return CandidateTiming(self.tools, self.tools.gpu, asked, self.unverified, written, self.progress, self.cancel)

    def tune(self, best: list[Candidate], *, as_they_are: bool = False) -> Measured | None:
        """The candidates timed on this machine's GPU; None without one, or where none of them ran there."""
        if self.timing is None:
            return None
        with self.clock.phase("waiting"):
            self.tools.gpu_idle()
        with self.clock.phase("tuning"):
            found = self.timing.tune(best, as_they_are=as_they_are)
        if found is not None:
            self.clock.move("tuning", "baselines", found.baselines_s)
        return self.with_copies(found) if found is not None and self.copies else found

    @cached_property
    def copies(self) -> float:
        """The µs of copying the new values to the inputs that the function writes to."""
        writes = self.function.writes
        written = () if writes is None else tuple(self.program.inputs[i].type.bytes for i in writes.inputs)
        return sum(speed_of_light(2.0 * n, 0.0, 0.0, 1, self.dev) for n in written)

    def with_copies(self, found: Measured) -> Measured:
        """What was measured of a function on copies, of the function as the user wrote it: kernels copy the results, and PyTorch made
        copies that the user's function does not make. Its compiler makes none."""
        peers = {k: max(us - self.copies, us / 2) if k == EAGER else us for k, us in found.peers.items()}
        kernels = tuple(replace(c, us=c.us + self.copies) for c in found.candidates)
        return replace(found, candidates=kernels, peers=peers)

    def explained(self, result: Result, found: Problem, graph: MuGraph, remarks: tuple[Remark, ...]) -> Result:
        """The result with the way to its µGraph, and why it is not fused further."""
        targets = {o.tensor: (o.term, o.dims) for o in found.outputs}
        try:
            way = derived(found.t, targets, opened(graph), Limits.of(self.dev))
        except DerivationBroken as e:
            return replace(result, remarks=remarks, notes=(*result.notes, e.message))
        source = with_explanation(result.source, found, way, graph, self.dev) if result.source else ""
        return replace(result, remarks=remarks, derivation=way, source=source)

    def verify(self, candidate: Candidate, found: Problem, base: float, rejected: list[str]) -> Verified | None:
        """The candidate with its verdict; None where it is refused, whose reason joins `rejected`."""
        counts = ProgressCounts(values=self.counts.values, mugraphs=self.counts.mugraphs, tried=len(rejected) + 1)
        self.progress(Progress("verifying", counts, f"{candidate.us:.1f} µs"))
        with self.clock.phase("emission"):
            graph = plan(named_by_source(candidate.mugraph, self.program, found.t), self.dev)
        if not room(graph, Limits.of(self.dev)):
            rejected.append(f"{candidate.label}: needs more shared memory than {self.dev.name} has")
            return None
        try:
            with self.clock.phase("emission"):
                text = self.emit(graph, None, candidate.us, base)
        except MirageError as e:
            rejected.append(f"{candidate.label}: {e.message}")
            return None
        compiled = self.compile(text)
        case = Case(
            found.t, found.outputs, graph, text, self.program, self.function.slice.text, self.function.decorated.name,
            self.request.rules, found.calls, found.returns,
        )  # fmt: skip
        with self.clock.phase("verdict"):
            verdict = self.on_device(case, judge(case, self.task, floats_first=True))
        self.cancel.check()  # to an opinion, a run that was stopped is one that failed
        with self.clock.phase("compile"):
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
        self.clock.verified()
        with self.clock.phase("emission"):
            text = self.emit(graph, verdict, candidate.us, base)
        return Verified(candidate, graph, verdict, text, rows)

    def on_device(self, case: Case, verdict: Verdict) -> Verdict:
        """The verdict with what the module does at its real shape, where it was measured."""
        if self.measured is None or self.timing is None or not verdict.accepted:
            return verdict
        found = device_opinion(emitted_module(case), self.timing.run)
        if found is None:
            return replace(verdict, notes=(*verdict.notes, NOT_HELD))
        return replace(verdict, evidence=(*verdict.evidence, found))

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

    def by_baseline(self, name: str, header: dict[str, str]) -> str:
        """The module in which a baseline of the user's function runs."""
        return self.baseline_text(self.function.users, name, header)

    def baseline_text(self, of: Function, name: str, header: dict[str, str]) -> str:
        rows, known = [(self.program, name)], of.decorated
        return emit_baselines(
            rows, of.slice.readable, function=known.name, header=header, docstring=known.docstring
        )  # fmt: skip

    def compile(self, text: str) -> Future[list[KernelRow] | MirageError]:
        """The static profile beside the verification; a MirageError is its value when the compiler refuses."""

        def work() -> list[KernelRow] | MirageError:
            try:
                payload = {"text": text, "target": self.dev.target}
                compiler = self.tools.compiler_for(self.dev)
                rows: list[KernelRow] = compiler.call("compile", payload, timeout_s=COMPILE_S, cancel=self.cancel)[
                    "kernels"
                ]
                return rows
            except MirageError as e:
                return e

        return self.tools.beside.submit(work)

    def task(self, name: str, payload: Payload) -> Value:
        return self.tools.runner.call(name, payload, timeout_s=VERIFY_S, cancel=self.cancel)

    def result(
        self, base: float, chosen: Verified | None, rejected: list[str], seconds: float, too_slow: float = 0.0
    ) -> Result:
        """`too_slow`: the µs of the best candidate where that is why none was verified."""
        unmeasured = "" if self.timing is None else self.timing.why_none
        answer = Answer(
            self.function.decorated.name, self.program, self.dev, self.counts, seconds, base, self.measured, unmeasured,
            rejected, self.by_baseline, too_slow=too_slow,
        )  # fmt: skip
        return answer.result(chosen, anyway=self.request.anyway)
