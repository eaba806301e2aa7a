"""The times of an attempt's candidates on this machine's GPU: a first kernel beside the search, all of them after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mirage.errors import WorkerDied, WorkerRaised, WorkerTimeout
from mirage.ir.program import Program
from mirage.isolate.runner import Worker
from mirage.isolate.task_table import Emit, Payload, Value
from mirage.mugraph.grammar import MuGraph
from mirage.pipeline.processes import Tools
from mirage.profile.candidate_choice import Measured, lead, measured
from mirage.results.codec import structure
from mirage.results.progress import CancelToken, Progress, ProgressCounts
from mirage.search.engine import Candidate

TUNE_S = 180.0  # limit of one tuning on the GPU
Report = Callable[[Progress], None]


@dataclass(frozen=True)
class TimedFunction:
    """What is timed: a function's name, its program, the GPU's target."""

    function: str
    program: Program
    target: str


@dataclass
class CandidateTiming:
    """One attempt's use of the GPU. `emit` gives the text that the GPU times."""

    tools: Tools
    worker: Worker
    subject: TimedFunction
    emit: Callable[[MuGraph], str]
    written: str  # the text of a module without kernels, by which the baselines are timed
    progress: Report
    cancel: CancelToken
    why_none: str = ""  # why the GPU that is here gave no times
    leading: bool = False  # a first kernel went to the GPU
    first: float = 0.0  # the µs that it took there

    def lead(self, candidate: Candidate) -> None:
        """Once: the search's answer so far goes to the GPU, while the search goes on, which then says what it took there."""
        if self.leading:
            return
        self.leading = True
        ended = CancelToken(lambda: self.cancel.cancelled or self.tools.stop.cancelled)

        def event(counts: Value) -> None:
            self.first = counts.get("ns", 0) / 1e3 or self.first

        def work() -> None:
            asked = self.subject
            lead(
                candidate, asked.program, asked.function, self.emit, lambda p: self.timed(p, ended, event), asked.target
            )

        self.tools.on_gpu(work)

    def timed(self, payload: Payload, cancel: CancelToken, event: Emit) -> Value:
        """The GPU worker's answer to the task "tune"; after a broken one the next comes from a fresh process."""
        answer = self.worker.call("tune", payload, timeout_s=TUNE_S, cancel=cancel, on_event=event)
        if answer.get("broken"):
            self.worker.close()
        return answer

    def run(self, name: str, payload: Payload) -> Value:
        """Any other task of the GPU's worker; a worker that dies of it is a fresh one for the next."""
        self.tools.gpu_idle()
        return self.worker.call(name, payload, timeout_s=TUNE_S, cancel=self.cancel)

    def tune(self, best: list[Candidate], *, as_they_are: bool = False) -> Measured | None:
        """The candidates with their times; None where none of them ran, nor a baseline without them (`as_they_are`: where none
        of them ran)."""
        if not best and not self.written:
            return None
        self.progress(Progress("tuning", ProgressCounts(mugraphs=len(best))))

        def event(counts: Value) -> None:
            first = f"{counts['ns'] / 1e3:.1f} µs measured" if "ns" in counts else ""
            told = {name: n for name, n in counts.items() if name != "ns"}
            self.progress(Progress("tuning", structure(told, ProgressCounts), first))

        def call(payload: Payload) -> Value:
            answer = self.timed(payload, self.cancel, event)
            if not answer["device"]:
                self.why_none = f"nothing was measured on this machine's GPU: {answer['why']}"
            return answer

        self.tools.gpu_idle()
        if self.first:  # the worker tells of a first kernel once, and the search may have ended before it was timed
            self.progress(Progress("tuning", ProgressCounts(mugraphs=len(best)), f"{self.first:.1f} µs measured"))
        try:
            found = measured(
                best, self.subject.program, self.subject.function, self.emit, call, self.subject.target,
                as_they_are=as_they_are, written=self.written,
            )  # fmt: skip
        except (WorkerDied, WorkerRaised, WorkerTimeout) as e:  # the answer is then by the estimate, and says so
            self.why_none = f"nothing was measured on this machine's GPU: {e.message}"
            return None
        known = found is not None and (found.candidates or (found.peers and not as_they_are))
        return found if known else None
