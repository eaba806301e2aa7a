"""The answer of an attempt: the best that is known, the facts of its kernels, and the provenance at the module's top."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from mirage.codegen import module_header
from mirage.derivation.infix import written
from mirage.derivation.json_form import laws
from mirage.devices.table import Device
from mirage.ir.dtypes import DTYPES
from mirage.ir.program import Program
from mirage.mugraph import json_form, maps
from mirage.mugraph.grammar import CustomKernel, Loop, MuGraph
from mirage.pipeline.tile_reasons import why
from mirage.profile.candidate_choice import Measured
from mirage.profile.roofline import ATTENTION, operator_flops, speed_of_light
from mirage.profile.worker_tasks import KernelRow
from mirage.results.baselines import BASELINES, EAGER, TRUSTED
from mirage.results.result import Estimate, KernelFacts, LoopFacts, Result, SearchStats
from mirage.results.verdict import Verdict
from mirage.results.versions import package_versions
from mirage.search.engine import Candidate, SearchCounts
from mirage.search.problem import Problem


def floor(program: Program, us: float, dev: Device) -> float:
    """The µs of the speed of light of the program: inputs read once, outputs written once, and its products as they are written; the
    bytes alone where `us`, what is known, is less than those products take: other products compute the same."""
    moved = sum(i.type.bytes for i in program.inputs) + sum(program.type_of(o).bytes for o in program.outputs)
    products = 0.0
    for n in program.nodes:
        types = [program.type_of(x) for x in n.args]
        if n.op != ATTENTION:  # a mask may leave half of it out
            products += operator_flops(n.op, types, n.type) * min((DTYPES[t.dtype].bytes for t in types), default=2) / 2
    light = speed_of_light(moved, products, 0.0, 0, dev)
    return light if light <= us else speed_of_light(moved, 0.0, 0.0, 0, dev)


def time_of(program: Program, dev: Device, us: float, base: float) -> Estimate:
    """Estimated times, with that of the speed of light."""
    figures = (us, floor(program, us, dev), base)
    us, light, base = (float(f"{x:.4g}") for x in figures)  # tiny tensors take less than a nanosecond
    return Estimate(us, light, base, f"{dev.name} ({dev.target})")


def header(
    program: Program, verdict: Verdict | None, us: float, base: float, dev: Device, found: Measured | None
) -> dict[str, str]:
    """The provenance at the module's top."""
    rows = {"made by": "mirage", "program": program.key[:16]}
    if verdict is not None:
        rows["verdict"] = verdict.headline
    rows["time"] = f"{us:.1f} us estimated for {dev.name}, {base:.1f} us as written"
    if found is not None:
        rows["time"] = f"{us:.1f} us measured on {found.device}, {base:.1f} us by {found.against}"
    return rows


def with_explanation(module: str, problem: Problem, derivation: dict[str, Any], mugraph: MuGraph, dev: Device) -> str:
    """The module, at whose top it is said what it computes, by which laws, and in which tiles and why."""
    formulas = [
        f"{o.tensor}[{', '.join('*'.join(d) or '1' for d in o.dims)}] = {written(problem.t, o.term)}"
        for o in problem.outputs
    ]
    used = [law for law in laws(derivation) if law != "inside"]
    said = {"formula": "\n".join(formulas), "laws": ", ".join(used) or "none: as it is written"}
    said |= {"tiles": module_header.tiles(mugraph), "why": "\n".join(why(mugraph, dev))}
    return module_header.with_entries(module, said)


def baseline_header(key: str, rows: Sequence[str], times: Sequence[str]) -> dict[str, str]:
    """The same of a module without kernels: what runs, and what was measured."""
    said = {"made by": "mirage", "program": key[:16]}
    return said | {"runs": "\n".join(rows), "verdict": f"none: {TRUSTED}", "time": "\n".join(times)}


def stats(counts: SearchCounts, seconds: float) -> SearchStats:
    """The counts of a search that has ended; `seconds` until the last verdict."""
    found = {f.name: getattr(counts, f.name) for f in fields(counts)}
    return SearchStats(**{**found, "limits": tuple(counts.limits)}, total_seconds=round(seconds, 3))


def nothing_found(counts: SearchCounts) -> str:
    """Why a search that has ended without an accepted kernel has none, as far as its counts tell."""
    cut = f"; bounded: {'; '.join(counts.limits)}" if counts.limits else ""
    if counts.mugraphs:
        return f"nothing found that fits (none of {counts.mugraphs} candidates could be compiled and timed{cut})"
    return f"nothing found that fits (no kernel holds its tiles on the device, {counts.values} values searched{cut})"


def facts(mugraph: MuGraph, compiled: list[KernelRow], target: str) -> tuple[KernelFacts, ...]:
    """What the table says of each kernel; `compiled` are the static profile's rows, in launch order."""
    out = []
    for i, k in enumerate(x for x in mugraph.kernels if isinstance(x, CustomKernel)):
        loops = tuple(
            LoopFacts(s.dim, maps.loop_range(mugraph, k, s), k.block.dim(s.dim).tile)
            for s in k.block.body if isinstance(s, Loop)
        )  # fmt: skip
        known = KernelFacts(k.name, maps.grid(mugraph, k), loops, k.warps, k.stages, target=target)
        if i < len(compiled):  # its name is as in the module: that is where people look
            row = compiled[i]
            known = replace(
                known, name=row["name"], shared_bytes=row["shared"], registers=row["registers"],
                spill_bytes=row["spills"], tensor_core=row["tensor_cores"],
            )  # fmt: skip
        out.append(known)
    return tuple(out)


@dataclass(frozen=True)
class Verified:
    """A candidate that was accepted: its planned µGraph, the verdict, the module's text, the compiler's figures by kernel."""

    candidate: Candidate
    mugraph: MuGraph
    verdict: Verdict
    text: str
    compiled: list[KernelRow]


@dataclass(frozen=True)
class Answer:
    """What an attempt knows when its candidates were tried, but for the one that was accepted."""

    function: str
    program: Program
    dev: Device
    counts: SearchCounts
    seconds: float
    base: float  # µs without a kernel of ours
    measured: Measured | None
    unmeasured: str  # why a GPU that is here gave no times
    rejected: Sequence[str]
    emit: Callable[[str, dict[str, str]], str]  # a baseline's module, under a header
    refused: str = ""  # why no kernel was searched
    too_slow: float = 0.0  # the µs of our best, where none was verified because none could be the answer

    @property
    def standing(self) -> float:
        """The µs of what the user has."""
        return self.base if self.measured is None else self.measured.standing(self.base)

    def result(self, chosen: Verified | None, *, anyway: bool) -> Result:
        """The best that is known: of what was measured the fastest, a verified kernel of ours where the noise leaves that open.
        `anyway` gives a verified kernel also where it is not faster."""
        if chosen is None:
            return self.without_kernel()
        us, verdict, measured = chosen.candidate.us, chosen.verdict, self.measured
        slower = us >= (self.base if measured is None else measured.limit(self.base))
        if slower and not anyway and measured is not None and measured.better:
            return self.without_kernel()
        found = replace(
            self.kept(),
            verdict=verdict,
            kernels=facts(chosen.mugraph, chosen.compiled, self.dev.target),
            estimate=self.time(us, self.base),
            mugraphs=(json_form.to_json(chosen.mugraph),),
        )
        if slower and not anyway:
            return replace(found, reason=self.slower(us), estimate=self.time(us, self.standing))
        custom = sum(isinstance(k, CustomKernel) for k in chosen.mugraph.kernels)
        word = "estimated" if measured is None else f"measured over {measured.against}"
        if measured is not None and measured.better:
            word += f", {self.standing / us:.1f}x over the function as written"
        reason = f"{self.base / us:.1f}x {word}, {custom} kernel{'s' if custom > 1 else ''}, {verdict.headline}"
        if slower:
            reason += f"; not faster than yours by {self.how}, given because you asked"
        return replace(found, answer="kernel", reason=reason, source=chosen.text)

    @property
    def how(self) -> str:
        """What times are by."""
        return "the estimate" if self.measured is None else "measurement"

    def slower(self, us: float) -> str:
        """The reason of "keep yours" where our best takes so many µs."""
        as_written = self.measured is None or EAGER in self.measured.peers
        written = "as written" if self.measured is None or as_written else f"by {self.measured.against}"
        return f"keep yours: {self.standing:.1f} µs {written}, {us:.1f} µs at best by {self.how}"

    def without_kernel(self) -> Result:
        """The answer where no kernel is: a baseline that was measured to be better, else "keep yours"."""
        found, measured = self.kept(), self.measured
        if measured is None or not measured.better:
            return found
        name, us = measured.better, measured.peers[measured.better]
        row, slow = BASELINES[name], self.standing
        why = "nothing of ours was found that fits"
        if self.refused:
            why = f"no kernel of ours was searched: {self.refused}"
        elif self.rejected:
            why = f"no faster kernel of ours was verified (of {len(self.rejected)} refused, the first: {self.rejected[0]})"
        elif measured.candidates:
            why = f"our best kernel took {measured.candidates[0].us:.1f} µs"
        reason = f"{slow / us:.1f}x measured over the function as written by {row.words}, {TRUSTED}; {why}"
        says = f"{us:.1f} us measured on {measured.device}, {slow:.1f} us as written"
        text = self.emit(name, baseline_header(self.program.key, [f"the function as written by {row.words}"], [says]))
        return replace(
            found, answer=row.answer, baseline=name, reason=reason, estimate=self.time(us, slow), source=text
        )

    def kept(self) -> Result:
        """The answer "keep yours" where nothing was accepted."""
        reason = f"{nothing_found(self.counts)}: keep yours"
        if self.measured is not None and not self.measured.candidates and self.measured.dropped:
            reason = f"no candidate ran right on the device: keep yours (the first: {self.measured.dropped[0]})"
        if self.too_slow:
            reason = self.slower(self.too_slow)
        if self.rejected:  # the best one's
            many, first = len(self.rejected), self.rejected[0]
            reason = f"no candidate was verified: keep yours (of {many} refused, the first: {first})"
        of_timing = () if self.measured is None else self.measured.notes
        notes = (*self.program.notes, *of_timing, *(f"not taken: {r}" for r in self.rejected))
        return Result(
            function=self.function,
            answer="keep",
            reason=reason,
            inputs=self.program.inputs,
            program_key=self.program.key,
            search=stats(self.counts, self.seconds),
            estimate=self.time(self.too_slow or self.standing, self.standing),
            measured=None if self.measured is None else self.measured.measurement,
            notes=(*notes, self.unmeasured) if self.unmeasured else notes,
            versions=package_versions(),
        )

    def time(self, us: float, base: float) -> Estimate:
        found = time_of(self.program, self.dev, us, base)
        if self.measured is None:
            return found
        return replace(found, device=f"{self.measured.device} ({self.dev.target})", measured=True)
