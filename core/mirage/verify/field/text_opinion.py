"""The text link's field opinion: the emitted module itself, its public function called in the fields on a small launch.

The module runs in a worker (`worker.py`); the opinion compares what it gives with what the program's terms give.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from mirage.errors import MirageError
from mirage.ir.dtypes import TORCH_NAMES
from mirage.mugraph.grammar import CustomKernel, LibraryKernel, MuGraph
from mirage.mugraph.resized import tiny_sizes, whole_sizes
from mirage.results.details import FieldDetails
from mirage.results.verdict import INTERPRETER, Counterexample, Evidence
from mirage.verify.emitted_module import EmittedModule
from mirage.verify.field import algebra_opinion
from mirage.verify.field.schedule_opinion import Launch, Small, small_case
from mirage.verify.field.worker import decode, encode
from mirage.verify.semantics.arrays import Array
from mirage.verify.semantics.evaluate_terms import ExecutionFault
from mirage.verify.worker_tasks import (
    Ahead,
    FieldAnswer,
    FieldCall,
    FieldInput,
    FieldPayload,
    RunTask,
    Tiles,
    run_field_text,
)

DRAWS = 32
WHOLE_DRAWS = 4  # of the launch without tails
ORDERS = 32  # launches among which the one with the most changes of order is taken


def launch_tiles(graph: MuGraph) -> dict[str, dict[str, int]]:
    """TILES for a µGraph as it is: every dim's tile, of a split its number of parts; and the group of a dim that has one."""
    out: dict[str, dict[str, int]] = {}
    for k in graph.kernels:
        if isinstance(k, CustomKernel):
            for name, block in ((k.name, k.block), (f"{k.name}.tail", k.tail)):
                if block is not None:
                    out[name] = {d.name: d.parts if d.role == "split" else d.tile for d in block.dims}
                    out[name] |= {d.group_key: d.group for d in block.dims if d.group}
    return out


def payload_of(
    module: str, parameters: Sequence[str], small: Small, calls: Sequence[LibraryKernel] = ()
) -> FieldPayload:
    """The payload of the worker: the text, the field's seed, inputs in the order of `parameters`, what each call gives."""
    field = small.sample.field
    dtypes = {t.name: t.dtype for t in small.graph.inputs}
    inputs: list[FieldInput] = []
    for name in parameters:
        known = name in dtypes  # an input that no kernel reads is passed all the same
        value = small.sample.inputs[name] if known else np.zeros((1, 1), np.uint64)
        inputs.append({"name": name, "type": dtypes.get(name, "fp32"), **encode(value)})
    given: list[FieldCall] = [
        {
            "op": k.op,
            "attrs": k.attrs,
            "arguments": len(k.args),
            "type": dtypes[k.out],
            **encode(small.sample.inputs[k.out]),
        }
        for k in calls
    ]
    return {
        "calls": given,
        "module": module,
        "seed": field.seed,
        "draws": field.draws,
        "opaque": sorted(field.opaque),
        "inputs": inputs,
        "sizes": dict(small.sizes),
        "tiles": launch_tiles(small.graph),
    }


def _differences(module: Mapping[str, object], mugraph: Mapping[str, object]) -> str:
    """Where a table that a module launches with by default differs from its µGraph's, in words; "" if nowhere."""
    if set(module) - set(mugraph):
        return f"{sorted(set(module) - set(mugraph))[0]} is too much"
    return next((f"{k} is {module.get(k)}, not {want}" for k, want in mugraph.items() if module.get(k) != want), "")


def _whole_rows(module: Tiles, mugraph: Tiles) -> dict[str, Mapping[str, int | None]]:
    """A module's TILES with the dims of the µGraph's: a tail's row has only what differs from its block's."""
    rows: dict[str, Mapping[str, int | None]] = {**module}
    for key, want in mugraph.items():
        have = {**module.get(key.removesuffix(".tail"), {}), **module.get(key, {})}
        rows[key] = {d: have.get(d) for d in want}
    return rows


def text_opinion(
    emitted: EmittedModule,
    run_task: RunTask,
    *,
    draws: int = DRAWS,
    seed: int = 0,
    sizes: Mapping[str, int] | None = None,
    tiles: Mapping[str, Mapping[str, int]] | None = None,
    calls: Sequence[LibraryKernel] = (),
    returned: Sequence[str] = (),
) -> Evidence:
    """Runs the emitted module in the fields, and compares with the targets' values. TESTED with a bound, or REJECTED.

    `run_task(name, payload)` runs a worker's task. `calls` stay PyTorch's own: the µGraph is without them (`opened`), the
    text must make them in this order, with what the targets say, and gets random values from them. `returned` names what the
    function returns (the µGraph's outputs if empty).
    """
    about = _about(emitted, run_task, calls, returned, seed)
    return _opinion(about, draws, None if sizes is None else (sizes, tiles))


def text_opinion_ahead(
    emitted: EmittedModule,
    run_task: RunTask,
    ahead: Ahead,
    *,
    draws: int = DRAWS,
    calls: Sequence[LibraryKernel] = (),
    returned: Sequence[str] = (),
) -> Callable[[], Evidence]:
    """The same opinion, whose runs begin now; the call compares them."""
    about = _about(emitted, run_task, calls, returned)
    begun = list(_launches(about, draws, about.variants()[0], None, ahead))
    return lambda: _opinion(replace(about, start=time.perf_counter()), draws, None, begun)


def _about(
    emitted: EmittedModule, run_task: RunTask, calls: Sequence[LibraryKernel], returned: Sequence[str], seed: int = 0
) -> About:
    names = returned or [o.name for o in emitted.mugraph.outputs]
    return About(emitted, run_task, calls, names, seed, time.perf_counter())


def field_details(evidence: Evidence) -> FieldDetails:
    assert isinstance(evidence.details, FieldDetails)
    return evidence.details


def whole_launch(
    mugraph: MuGraph, sizes: Mapping[str, int], seed: int
) -> tuple[dict[str, int], dict[str, dict[str, int]]] | None:
    """Sizes and tiles of a second launch: where the real tiles divide their dims, these do too (no tails)."""
    tiles = tiny_sizes(mugraph, seed)[1]
    whole = whole_sizes(mugraph, sizes, tiles)
    return None if whole is None else (whole, tiles)


def reordered_launch(
    mugraph: MuGraph, sizes: Mapping[str, int], seed: int
) -> tuple[dict[str, int], dict[str, dict[str, int]]] | None:
    """Sizes and tiles of a third launch, in which as many axes as can be found change places by length: a text that takes
    one axis' size for another's may do no harm where the wrong one is the longer."""

    def changed(other: Mapping[str, int]) -> int:
        axes = [a for a in sizes if a in other]
        return sum((sizes[a] - sizes[b]) * (other[a] - other[b]) < 0 for a in axes for b in axes if a < b)

    best = max((tiny_sizes(mugraph, seed + i) for i in range(1, ORDERS)), key=lambda found: changed(found[0]))
    return best if changed(best[0]) else None


@dataclass(frozen=True)
class _Run:
    """A launch of the module in the field that has begun: the case that it is, and the answer, which is waited for. `again`: the
    same with one drawing of flags for all draws, for a text that does with flags what has a value for one drawing alone."""

    small: Small
    answer: Callable[[], FieldAnswer]
    again: Callable[[], _Run | Evidence] | None = None


@dataclass(frozen=True)
class _Begun:
    """A launch's name ("" of the first) and what it is in words; where it could not begin, a rejection."""

    name: str
    what: str
    run: _Run | Evidence

    @property
    def sizes(self) -> dict[str, int] | None:
        return None if isinstance(self.run, Evidence) else self.run.small.sizes


@dataclass(frozen=True)
class About:
    """The subject of the opinion (see `text_opinion`), and the time of its start."""

    emitted: EmittedModule
    run_task: RunTask
    calls: Sequence[LibraryKernel]
    returned: Sequence[str]
    seed: int
    start: float

    def variants(self) -> list[tuple[str, ...]]:
        terms = [x.term for x in self.emitted.targets]
        return algebra_opinion.variants(self.emitted.t, terms, algebra_opinion.OPAQUE_IN_TEXT)

    def rejected(self, text: str, info: FieldDetails | None = None, shown: Counterexample | None = None) -> Evidence:
        return Evidence(
            link="text", opinion="field", word="REJECTED", where=INTERPRETER, summary=text, seconds=time.perf_counter() - self.start,
            details=info, counterexample=shown,
        )  # fmt: skip


def _opinion(about: About, draws: int, given: Launch | None, begun: Sequence[_Begun] = ()) -> Evidence:
    """Of the first variant that is not rejected, else of the last. `begun`: the launches of the first one, if they have begun."""
    found: Evidence | None = None
    for number, opaque in enumerate(about.variants()):
        launches = iter(begun) if begun and not number else _launches(about, draws, opaque, given)
        found = _of_launch(about, next(launches).run)
        if found.word != "REJECTED":
            return found if given is not None else _with_others(about, found, launches)
    assert found is not None
    return found


def _with_others(about: About, evidence: Evidence, launches: Iterator[_Begun]) -> Evidence:
    """The first launch's evidence after the others', or the rejection of one of these."""
    sizes: dict[str, dict[str, int]] = {}
    for begun in launches:
        again = _of_launch(about, begun.run)
        if again.word == "REJECTED":
            return replace(again, summary=f"{begun.what}: {again.summary}")
        sizes[begun.name] = field_details(again).sizes
        evidence = replace(evidence, seconds=again.seconds)
    told = field_details(evidence)
    told = replace(told, whole_tiles=sizes.get("whole_tiles"), other_order=sizes.get("other_order"))
    return replace(evidence, details=told)


def _launches(
    about: About, draws: int, opaque: tuple[str, ...], given: Launch | None, ahead: Ahead | None = None
) -> Iterator[_Begun]:
    """Each begins when it is asked for: the one that is `given`, else one with tails and then others at sizes that its own decide."""
    first = _Begun("", "", _begin(about, draws, given, opaque, ahead))
    yield first
    if given is not None or first.sizes is None:
        return
    mugraph = about.emitted.mugraph
    whole = whole_launch(mugraph, first.sizes, about.seed)
    if whole is not None:
        yield _Begun("whole_tiles", "where tiles divide their dims", _begin(about, WHOLE_DRAWS, whole, opaque, ahead))
    other = reordered_launch(mugraph, first.sizes, about.seed)
    if other is not None:
        said = "where other axes are the longer ones"
        yield _Begun("other_order", said, _begin(about, WHOLE_DRAWS, other, opaque, ahead))


def _begin(
    about: About,
    draws: int,
    launch: Launch | None,
    opaque: tuple[str, ...],
    ahead: Ahead | None,
    each_draw: Mapping[str, str] = algebra_opinion.FLAGS_EACH_DRAW,
) -> _Run | Evidence:
    e = about.emitted
    try:
        small = small_case(
            e.t, e.targets, e.mugraph, draws=draws, seed=about.seed, opaque=opaque, launch=launch, each_draw=each_draw
        )
    except ExecutionFault as fault:
        return about.rejected(f"the program cannot be evaluated: {fault}")
    except MirageError as error:
        return about.rejected(f"the emitted text could not be run: {error}")
    payload = payload_of(e.module, e.parameters, small, about.calls)
    own = any(x.dtype == bool and len(x) > 1 for x in small.sample.inputs.values())
    again = partial(_begin, about, draws, launch, opaque, None, {}) if own else None
    if ahead is not None:
        return _Run(small, ahead.beside(run_field_text, payload).result, again)
    return _Run(small, partial(run_field_text, about.run_task, payload), again)


def _of_launch(about: About, run: _Run | Evidence) -> Evidence:
    if isinstance(run, Evidence):
        return run
    small = run.small
    try:
        answer = run.answer()
    except MirageError as error:
        return about.rejected(f"the emitted text could not be run: {error}")
    if answer.get("unevaluated") and run.again is not None:
        return _of_launch(about, run.again())
    rejected = about.rejected
    good = int(small.sample.generic.sum())
    info = algebra_opinion.details_of(small.bound, small.sample, small.sizes, good)
    info = replace(info, tiles=launch_tiles(small.graph))
    if answer["faults"]:
        return rejected(answer["faults"][0], replace(info, faults=tuple(answer["faults"])))
    why = _unlike_mugraph(about, answer)
    if why:
        return rejected(why, info)
    if good == 0:
        return rejected("no point was found at which every root has a square", info)
    for i, (what, name, got) in enumerate(_given_and_taken(about, answer)):
        want = small.expected[name] if name in small.expected else small.sample.inputs[name]
        if got.shape[1:] != want.shape[1:]:
            return rejected(f"{what} {name} has shape {got.shape[1:]}, not {want.shape[1:]}", info)
        at = algebra_opinion.mismatch(small.sample.field, want, got, small.sample.valid, small.sample.ties)
        if at is not None:
            shown = algebra_opinion.counterexample(small.sample.field, i, at, want, got, small.sizes)
            return rejected(f"the emitted text differs from its program at a random point ({what} {name})", info, shown)
    total, said = algebra_opinion.summary_of(small.bound, good)
    return Evidence(
        link="text", opinion="field", word="TESTED", where=INTERPRETER, summary=said, bound=total,
        seconds=time.perf_counter() - about.start, details=info,
    )  # fmt: skip


def _unlike_mugraph(about: About, answer: FieldAnswer) -> str:
    """In words: where the module's tables, its guard or the number of its results are not its µGraph's; "" if nowhere."""
    mugraph, parameters, expected = about.emitted.mugraph, about.emitted.parameters, answer["expected"]
    tables, tiles = answer["constants"], launch_tiles(mugraph)
    own: tuple[tuple[str, Mapping[str, object], Mapping[str, object]], ...] = (
        ("SIZES", tables["SIZES"], dict(mugraph.axes)),
        ("TILES", _whole_rows(tables["TILES"], tiles), tiles),
    )
    for name, have, want in own:
        differing = _differences(have, want)
        if differing:
            return f"the module's {name} are not those of its µGraph: {differing}"
    made_for = {i.name: (list(mugraph.shape(i)), f"torch.{TORCH_NAMES[i.dtype]}") for i in mugraph.inputs}
    for name, (shape, dtype) in zip(parameters, expected, strict=False):
        if name in made_for and (list(shape), dtype) != made_for[name]:
            return f"the guard asks {name} to be {dtype} {shape}, the µGraph is for {made_for[name]}"
    if len(expected) != len(parameters):
        return f"the guard looks at {len(expected)} of {len(parameters)} tensors"
    if len(answer["outputs"]) != len(about.returned):
        return f"the launcher returns {len(answer['outputs'])} tensors, the program {len(about.returned)}"
    return ""


def _given_and_taken(about: About, answer: FieldAnswer) -> Iterator[tuple[str, str, Array]]:
    """(what, its tensor's name, the values) of each output, then of what each call took."""
    for name, output in zip(about.returned, answer["outputs"], strict=True):
        yield "output", name, decode(output)
    for k, arguments in zip(about.calls, answer["calls"], strict=True):
        for name, x in zip(k.args, arguments, strict=True):
            yield f"{k.op} of", name, decode(x)
