"""The judge: all opinions on the three links of one candidate, one verdict.

algebra   the program and the µGraph with its sizes erased (proof; field at tiny sizes)
schedule  the µGraph on its own grid, loops, masks and splits (field; memory)
text      the emitted module (structure; memory; field in Triton's interpreter; float against float64; rounding; range)
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from mirage.codegen.size_table import focused, inputs_of
from mirage.errors import ModuleUnreadable
from mirage.ir.dtypes import DTYPES
from mirage.ir.index import DimIndex
from mirage.ir.program import Program
from mirage.meaning.axis_split import split_axis
from mirage.meaning.terms import Terms
from mirage.mugraph.grammar import LibraryKernel, MuGraph
from mirage.mugraph.without_calls import calls_of, opened, other_calls
from mirage.results.details import FieldDetails, FloatDetails
from mirage.results.verdict import Evidence, Verdict
from mirage.verify.emitted_module import EmittedModule
from mirage.verify.field.algebra_opinion import field_opinion
from mirage.verify.field.schedule_opinion import schedule_opinion
from mirage.verify.field.text_opinion import text_opinion, text_opinion_ahead
from mirage.verify.floats.launch_sizes import launch_sizes
from mirage.verify.floats.opinion import Record, float_opinion, float_opinion_ahead
from mirage.verify.memory.mugraph_opinion import memory_opinion
from mirage.verify.memory.text_opinion import text_memory_opinion
from mirage.verify.output_terms import Output, OutputTerm
from mirage.verify.proof.opinion import proof_opinion, trusted
from mirage.verify.proof.user_rules import Rules
from mirage.verify.ranges.opinion import range_opinion
from mirage.verify.rounding.opinion import RunsBounds, rounding_opinion
from mirage.verify.semantics.denote import NotDenoted, denote, same_axes
from mirage.verify.size_scope import all_sizes, named_lengths
from mirage.verify.structure.emitted_again import carries
from mirage.verify.structure.opinion import structure_opinion, syntax_opinion
from mirage.verify.worker_tasks import Ahead, RunTask

TEXT_DRAWS, MORE_DRAWS = 16, 64  # of the text's field opinion: at first, and where the first bound is weak
WEAK = 1e-9
KEPT = 8  # of the opinions that need no PyTorch, for whoever asks before the judge
MOST_ELEMENTS = 1 << 20  # of all tensors, for a run of the emitted text at the sizes that it is made for
MOST_NAMED = 1 << 21  # the same where the sizes alone are real that the function names


@dataclass(frozen=True)
class Case:
    """A candidate: what is wanted (terms), the µGraph, the module's text ("" where a µGraph alone is judged, on two links),
    and the user's function for the float opinion ("" where there is none).

    `calls` are those of the program that stay PyTorch's own: what they give is as free as an input (`opened`), what they take
    is among the targets, and the µGraph must have the same ones. `returns` names the outputs in their order where there are
    any, one of which may be what a call gives."""

    t: Terms
    targets: Sequence[OutputTerm]
    mugraph: MuGraph
    module: str
    program: Program
    slice: str
    function: str
    rules: Rules | None = None
    calls: Sequence[LibraryKernel] = ()
    returns: Sequence[str] = ()

    @property
    def inner(self) -> MuGraph:
        """The µGraph without its calls, which the opinions on terms judge."""
        return opened(self.mugraph)

    @property
    def returned(self) -> list[OutputTerm]:
        """The results of the function, in its order."""
        own = {x.tensor: x for x in self.targets}
        return [own.get(name) or self._given(name) for name in self.returns] if self.calls else list(self.targets)

    def _given(self, name: str) -> Output:
        dims = self.mugraph.tensor(name).dims
        return Output(name, self.t.input(name, tuple(DimIndex(d) for d in dims)), dims)


@lru_cache(KEPT)
def read_syntax(module: str) -> Evidence:
    """The syntax opinion on a text."""
    return syntax_opinion(module)


@lru_cache(KEPT)
def memory_of_graph(mugraph: MuGraph) -> Evidence:
    """The memory opinion on a µGraph."""
    return memory_opinion(mugraph)


@lru_cache(KEPT)
def memory_of_text(mugraph: MuGraph, module: str, parameters: tuple[str, ...]) -> Evidence:
    """The memory opinion on a module's text at the sizes of its µGraph."""
    return text_memory_opinion(mugraph, module, parameters)


def algebra(case: Case) -> list[Evidence]:
    """Proof where the normal form speaks; the field's opinion on the µGraph's meaning always."""
    out: list[Evidence] = []
    targets = {o.tensor: (o.term, o.dims) for o in case.targets}
    graph = case.inner
    proof = proof_opinion(case.t, targets, graph, rules=case.rules)
    if proof is not None:
        out.append(proof)
    t = case.t
    types = [(i.name, i.type.dtype) for i in case.program.inputs] + [(x.name, x.dtype) for x in graph.inputs]
    kinds = {name: "bool" if dtype == "bool" else "int" for name, dtype in types if not DTYPES[dtype].floating}
    try:
        meaning = denote(t, graph)
        for output, (name, (target, dims)) in enumerate(targets.items()):
            term, have = meaning.outputs[name]
            for axis, (part, rest) in meaning.splits.items():
                target = split_axis(t, target, axis, part, rest)
            found = field_opinion(t, target, same_axes(t, term, have, dims), kinds=kinds)
            out.append(found.of_output(output))
    except NotDenoted:
        pass  # the schedule's run, which contains the algebra at its sizes, then speaks for this link
    return out


def opinions(
    case: Case, run_task: RunTask, floats_first: bool = False, ahead: Ahead | None = None, reading: bool = True
) -> Iterator[list[Evidence]]:
    """The evidence link by link, in their order, so that a rejection spares the rest. Where runs can begin `ahead`, those of
    the text do."""
    wrong = other_calls(case.calls, case.mugraph)
    if wrong:
        yield [Evidence(link="algebra", opinion="field", word="REJECTED", summary=f"the µGraph has {wrong}")]
        return
    syntax = [read_syntax(case.module)] if reading and case.module else []
    if any(e.word == "REJECTED" for e in syntax):  # nothing of such a text is run
        yield syntax
        return
    record = Record()
    early = floats(case, run_task, record) if floats_first and case.module else []
    if any(e.word == "REJECTED" for e in early):
        yield early
        return
    read = in_focus(case)
    later = Record() if early else record
    late: Callable[[], list[Evidence]] = list
    if isinstance(read, Case):
        late, in_field = floats_begun(read, run_task, ahead, later), in_text(read, run_task, TEXT_DRAWS, ahead)
    found = algebra(case)
    schedule = schedule_opinion(case.t, case.targets, case.inner)
    yield found or [replace(schedule, link="algebra")]
    yield [schedule, memory_of_graph(case.mugraph)] if schedule.word != "REJECTED" else [schedule]
    if isinstance(read, Evidence):
        yield [read] if case.module else []
    elif case.module:
        bounds = RunsBounds(record, case.program, free_of_shifts(schedule))
        if ahead is not None and carries(case.module):
            record.judged = bounds.begin
        rounded = partial(with_rounding, case, record=record, schedule=schedule, bounds=bounds)
        yield in_module(
            case, read, run_task, in_field, lambda: rounded(early or late()), syntax, begun=ahead is not None
        )


def in_module(
    case: Case, read: Case, run_task: RunTask, in_field: Callable[[], Evidence], late: Callable[[], list[Evidence]],
    syntax: list[Evidence], *, begun: bool,
) -> list[Evidence]:  # fmt: skip
    """The evidence on the text, with `syntax` of what the module contains. What the text is beside the emitter's own is asked
    last: where it does something else, the other opinions show what. Where runs have `begun`, those on floats end first."""
    memory = memory_of_text(case.mugraph, read.module, tuple(i.name for i in case.program.inputs))
    if memory.word == "REJECTED":
        return [memory]
    on_floats = late() if begun else None
    text = in_field()
    if text.word == "TESTED" and text.bound is not None and text.bound > WEAK:
        text = in_text(read, run_task, MORE_DRAWS)()
    if text.word == "REJECTED":
        return [text]
    found = [text, memory, *(late() if on_floats is None else on_floats), in_range(case)]
    if any(e.word == "REJECTED" for e in found):
        return found
    beside = [structure_opinion(case.module, case.program, case.mugraph, case.slice, case.function, e) for e in syntax]
    return [*found, *beside]


def in_focus(case: Case) -> Case | Evidence:
    """The case with its module as it is at the case's sizes; a rejection where the module does not read."""
    try:
        return replace(case, module=focused(case.module, inputs_of(case.program)) if case.module else "")
    except ModuleUnreadable as e:
        return Evidence(link="text", opinion="memory", word="REJECTED", summary=e.message)


def in_text(case: Case, run_task: RunTask, draws: int, ahead: Ahead | None = None) -> Callable[[], Evidence]:
    """The field's opinion on the emitted module when it is called; with `ahead` its runs begin now."""
    parameters = [i.name for i in case.program.inputs]
    emitted = EmittedModule(case.t, case.targets, case.inner, case.module, parameters)
    returned, calls = [x.tensor for x in case.returned], calls_of(case.mugraph)
    if ahead is not None and case.module:
        return text_opinion_ahead(emitted, run_task, ahead, draws=draws, calls=calls, returned=returned)
    return partial(text_opinion, emitted, run_task, draws=draws, calls=calls, returned=returned)


def in_range(case: Case) -> Evidence:
    """Up to which size of the inputs nothing overflows in the kernels."""
    return range_opinion(case.t, case.targets, case.inner)


def with_rounding(
    case: Case, found: list[Evidence], record: Record, schedule: Evidence, bounds: RunsBounds
) -> list[Evidence]:
    """What the float opinion found, and of a text that is emitted from its µGraph bounds on the errors of what it ran."""
    if not record.runs or not carries(case.module) or any(e.word == "REJECTED" for e in found):
        return found
    returned = [x.tensor for x in case.returned]
    return [*found, rounding_opinion(record, returned, case.program, free_of_shifts(schedule), bounds)]


def free_of_shifts(schedule: Evidence) -> bool:
    """Did the schedule's runs show that the outputs do not depend on the running maxima?"""
    return isinstance(schedule.details, FieldDetails) and schedule.details.independent_of_shift is True


def emitted_module(case: Case) -> EmittedModule:
    """What the float opinions judge: with PyTorch's own calls among the results."""
    parameters = [i.name for i in case.program.inputs]
    return EmittedModule(case.t, case.returned, case.mugraph, case.module, parameters, case.slice, case.function)


def floats(case: Case, run_task: RunTask, record: Record | None = None) -> list[Evidence]:
    return floats_begun(case, run_task, record=record)()


def floats_begun(
    case: Case, run_task: RunTask, ahead: Ahead | None = None, record: Record | None = None
) -> Callable[[], list[Evidence]]:
    """The float opinion when it is called; with `ahead` its runs begin now."""
    emitted = emitted_module(case)
    if ahead is not None and case.module:
        first = float_opinion_ahead(emitted, run_task, ahead, record)
    else:
        first = partial(float_opinion, emitted, run_task, record=record)

    def opinion() -> list[Evidence]:
        found = first()
        for every in at_sizes_of_its_own(case):
            if not (isinstance(found.details, FloatDetails) and found.details.unlike):
                break  # it names sizes of its own, and nothing else has a call's value
            found = float_opinion(emitted, run_task, sizes=every, record=record)
        if found.counterexample is not None and (sizes := at_named_sizes(case)):
            found = float_opinion(emitted, run_task, sizes=sizes, record=record)
        return [found]

    return opinion


def at_sizes_of_its_own(case: Case) -> Iterator[dict[str, int]]:
    """Launches for a function that cannot run at other sizes or gives other shapes there: first with the real sizes of the dims that
    no input has, which are the function's own (a table that it makes), then with all of them, where that is not large."""
    graph = case.mugraph
    given = {a for x in graph.inputs for d in x.dims for a in d}
    own = launch_sizes(graph, {a for a, _ in graph.axes} - given)
    for sizes, most in ((own, MOST_NAMED), (dict(graph.axes), MOST_ELEMENTS)):
        if sizes != launch_sizes(graph) and elements_at(graph, sizes) <= most:
            yield sizes


def at_named_sizes(case: Case) -> dict[str, int] | None:
    """A small launch in which the dims have their real sizes whose sizes may be numbers in the function, such as that of
    `loss.sum() / x.shape[0]`: at another size it is another function. None where that is the launch that there was, or is large."""
    t, graph = case.t, case.mugraph
    named = named_lengths(t, [o.term for o in case.targets], t.sizes.values())
    sizes = launch_sizes(graph, {a for a, n in graph.axes if n in named})
    return sizes if sizes != launch_sizes(graph) and elements_at(graph, sizes) <= MOST_NAMED else None


def elements_at(graph: MuGraph, sizes: Mapping[str, int]) -> int:
    """Elements of all tensors of a µGraph where its axes have these sizes."""
    return sum(math.prod(sizes[a] for d in x.dims for a in d) for x in graph.tensors)


def judge(
    case: Case, run_task: RunTask, *, floats_first: bool = False, ahead: Ahead | None = None, reading: bool = True
) -> Verdict:
    """The verdict; links after the first rejected one are not looked at. With `floats_first` the float opinion is asked
    before all others, for candidates of a search: where they fail, it is there. `ahead` begins its runs in a worker of their
    own, beside the other opinions. Without `reading` the text is only run, which shows what the other opinions are worth."""
    evidence: list[Evidence] = []
    start = time.monotonic()
    for found in opinions(case, run_task, floats_first, ahead, reading):
        evidence += found
        if any(e.word == "REJECTED" for e in found):
            break
    scope, reasons = all_sizes([case.program], case.t, [o.term for o in case.targets])
    rests = trusted(evidence)
    assumed = [a.words for a in case.program.assumptions if a.kind != "size"]
    notes = (f"{time.monotonic() - start:.1f} s", *rests, *assumed, *reasons)
    return Verdict(tuple(evidence), len(case.targets), scope, notes)
