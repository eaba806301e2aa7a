"""The search for float inputs on which a rejected program differs from the wanted one, and the script that shows it.

The field's points are no floats, so its counterexample is searched for again: inputs of many kinds (seeded) on launches from
small to real, both programs run in a worker. Where no input shows it, the counterexample says so.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from mirage.codegen.emit import emit_module
from mirage.errors import MirageError
from mirage.ir.dtypes import EIGHT_BIT, FLOATING, TORCH_NAMES
from mirage.ir.program import Program
from mirage.ir.tensor_spec import TensorSpec
from mirage.meaning.terms import Terms
from mirage.mugraph.grammar import MuGraph
from mirage.mugraph.resized import shrink, tiny_sizes
from mirage.program.lower import lower
from mirage.results.details import FieldDetails, FloatDetails
from mirage.results.verdict import Concrete, Counterexample, Verdict
from mirage.verify.field.schedule_opinion import expected_outputs, term_only_sizes
from mirage.verify.field.text_opinion import launch_tiles
from mirage.verify.floats.launch_sizes import first_contraction, launch_sizes
from mirage.verify.judge import Case
from mirage.verify.output_terms import Output, OutputTerm
from mirage.verify.semantics.evaluate_terms import ExecutionFault, TermEvaluator
from mirage.verify.semantics.float64 import Floats
from mirage.verify.two_programs import FIELD_ALONE, input_shapes, joined, small_sizes
from mirage.verify.worker_tasks import Difference, RerunAnswer, RerunPayload, RunTask, Tiles, run_again

SEEDS = 2
SECONDS = 60.0
ROUNDED = {"bf16": "bfloat16", **dict.fromkeys(EIGHT_BIT, "8-bit floats")}
MOST = 1 << 25  # elements of all inputs of a launch


@dataclass(frozen=True)
class RunnableSide:
    """A program that runs: `text` with `function` in it, or (where `function` is empty) an emitted module."""

    name: str
    text: str
    function: str = ""

    @property
    def script(self) -> str:
        return f"{self.text}\n\nfunction = {self.function}\n" if self.function else self.text


@dataclass(frozen=True)
class RunInputs:
    """Inputs of one run, and a module's sizes and tiles."""

    inputs: tuple[TensorSpec, ...]
    sizes: Mapping[str, int] = field(default_factory=dict)
    tiles: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    k: int = 1
    every: Mapping[str, int] | None = None  # of the terms' axes, where these are not the real sizes

    @property
    def elements(self) -> int:
        return sum(x.type.numel for x in self.inputs)


def search(
    left: RunnableSide,
    right: RunnableSide,
    launches: Sequence[RunInputs],
    run_task: RunTask,
    t: Terms,
    targets: Sequence[OutputTerm],
) -> Concrete:
    """The first difference on the launches in order; `note` says why there is none. `left` says what is wanted; where a
    launch is smaller than the program, it must agree there with the program's terms (it may name sizes of its own)."""
    fit = [x for x in launches if x.elements <= MOST and all(i.dtype in TORCH_NAMES for i in x.inputs)]
    short = [ROUNDED[i.dtype] for x in fit for i in x.inputs if i.dtype in ROUNDED]
    if short and not right.function:
        return Concrete(note=f"no script: Triton's interpreter rounds {short[0]} otherwise than a GPU does")
    tried, errors = 0, list[str]()
    until = time.monotonic() + SECONDS
    for launch in fit:
        payload = _payload(left, right, launch, max(1.0, until - time.monotonic()))
        try:
            answer = run_again(run_task, payload)
        except MirageError as e:
            errors.append(e.message)
            continue
        tried += answer["tried"]
        errors += answer["errors"]
        found = answer["found"]
        if found is not None and (launch.every is None or _meant(t, targets, launch, answer)):
            concrete = _concrete(found, launch, payload["tiles"])
            return replace(concrete, script=script(left, right, concrete, payload))
    said = f"{FIELD_ALONE} ({tried} inputs)" if tried else "the programs do not run at these sizes"
    return Concrete(note=said + (f"; {errors[0]}" if errors and not tried else ""))


def _payload(left: RunnableSide, right: RunnableSide, launch: RunInputs, seconds: float) -> RerunPayload:
    return {
        "left": left.script,
        "right": right.script,
        "seeds": SEEDS,
        "seconds": seconds,
        "inputs": [(i.name, list(i.shape), TORCH_NAMES[i.dtype]) for i in launch.inputs],
        "sizes": dict(launch.sizes),
        "tiles": {k: dict(v) for k, v in launch.tiles.items()},
        "k": launch.k,
    }


def _concrete(found: Difference, launch: RunInputs, tiles: Tiles) -> Concrete:
    return Concrete(
        inputs=launch.inputs,
        kind=found["kind"],
        seed=found["seed"],
        sizes=dict(launch.sizes),
        tiles=tiles,
        output=found.get("output", 0),
        index=tuple(found.get("index", ())),
        expected=repr(found.get("expected", "")),
        actual=repr(found.get("actual", "")),
        error=found["error"],
        values=tuple(found["values"]),
    )


def _meant(t: Terms, targets: Sequence[OutputTerm], launch: RunInputs, answer: RerunAnswer) -> bool:
    """True if the left program means at these sizes what its terms say."""
    arrays = {}
    for i, data in zip(launch.inputs, answer["inputs"], strict=True):
        value = np.frombuffer(data, np.float64).reshape(i.shape)
        arrays[i.name] = (
            value.astype(bool) if i.dtype == "bool" else value if i.dtype in FLOATING else value.astype(np.int64)
        )[None]
    try:
        terms = expected_outputs(t, targets, TermEvaluator(t, arrays, Floats(), launch.every))
    except (ExecutionFault, KeyError, IndexError, ValueError):
        return False
    for x, data in zip(targets, answer["expected"], strict=True):
        want = terms[x.tensor][0]
        have = np.frombuffer(data, np.float64)
        if have.size != want.size or not np.allclose(
            have.reshape(want.shape), want, rtol=1e-3, atol=1e-6, equal_nan=True
        ):
            return False
    return True


def of_programs(a: Program, b: Program) -> tuple[Terms, list[Output], list[RunInputs]]:
    """The terms of two functions' outputs (those of `a`), and launches: tiny sizes, then their own."""
    lowered = lower(joined(a, b))
    n = len(a.outputs)
    outputs = [Output(str(i), x, dims) for i, (x, dims) in enumerate(lowered.outputs[:n])]
    sizes = small_sizes(lowered, [x for x, _ in lowered.outputs[: 2 * n]])
    shapes = input_shapes(lowered, sizes)
    small = tuple(TensorSpec(i.name, shapes[i.name], i.dtype) for i in a.inputs)
    tiny = RunInputs(small, every=dict(lowered.terms.sizes) | sizes)
    real = RunInputs(tuple(TensorSpec(i.name, i.shape, i.dtype) for i in a.inputs))
    return lowered.terms, outputs, [tiny, real]


def of_case(case: Case, verdict: Verdict) -> list[RunInputs]:
    """The launches on which an opinion rejected, tiny ones, one of the real tiles, and the real one."""
    places: list[tuple[Mapping[str, int], Mapping[str, Mapping[str, int]] | None]] = []
    for d in (e.details for e in verdict.rejections):
        if isinstance(d, FieldDetails | FloatDetails) and d.tiles and d.sizes:
            places.append((d.sizes, d.tiles))
    for seed in range(2):
        places.append(tiny_sizes(case.mugraph, seed))
    places += [(launch_sizes(case.mugraph), None), (dict(case.mugraph.axes), None)]
    out: list[RunInputs] = []
    for sizes, tiles in places:
        try:
            graph = shrink(case.mugraph, {a: n for a, n in sizes.items() if a in dict(case.mugraph.axes)}, tiles)
        except MirageError:
            continue
        known = {x.name: x for x in graph.inputs}
        inputs = tuple(
            TensorSpec(i.name, graph.shape(known[i.name]) if i.name in known else i.shape, i.dtype)
            for i in case.program.inputs
        )
        every = dict(case.t.sizes) | term_only_sizes(case.t, case.targets, graph) | dict(graph.axes)
        same = dict(graph.axes) == dict(case.mugraph.axes)
        k = first_contraction(case.t, case.targets, every)
        launch = RunInputs(inputs, dict(graph.axes), launch_tiles(graph), k, None if same else every)
        if launch not in out:
            out.append(launch)
    return out


def module_of(case: Case, text: str, function: str, graph: MuGraph) -> str:
    """A module for a µGraph that has none."""
    if not function:
        function = "wanted"
        given = ", ".join(i.name for i in case.program.inputs)
        text = f"def wanted({given}):\n    raise TypeError('the program is a graph: there is no function as written')\n"
    return emit_module(case.program, graph, text, function=function, header={})


def source() -> str:
    """The part of `run_programs.py` that scripts contain; it is not imported here, since it imports torch."""
    text = Path(__file__).with_name("run_programs.py").read_text(encoding="utf-8")
    return text.split("# counterexample:begin\n", 1)[1].split("# counterexample:end\n", 1)[0].rstrip() + "\n"


def script(left: RunnableSide, right: RunnableSide, c: Concrete, launch: RerunPayload) -> str:
    """A Python file that runs both programs and prints both values and their difference."""
    given = f"draw(INPUTS, {c.kind!r}, {c.seed}, {launch['k']})"
    values = ""
    if c.values:
        given = "[torch.tensor(v, dtype=torch.float64).to(getattr(torch, d)) for v, (_, _, d) in zip(VALUES, INPUTS)]"
        values = f"VALUES = {_literal(c.values)}\n"
    inputs = ",\n    ".join(repr((n, tuple(s), d)) for n, s, d in launch["inputs"])
    note = "" if right.function else " and triton"
    return (
        f'"""Where {_plain(left.name)} and {_plain(right.name)} differ. Run it: python THIS_FILE. It needs torch'
        f'{note}, no GPU."""\n\n'
        f"{source()}\n\n"
        f"LEFT = {left.script!r}\nRIGHT = {right.script!r}\n"
        f"INPUTS = [\n    {inputs},\n]\n{values}"
        f"SIZES = {dict(c.sizes)!r}\nTILES = {dict(c.tiles)!r}\nOUTPUT, INDEX = {c.output}, {tuple(c.index)!r}\n\n\n"
        'if __name__ == "__main__":\n'
        f"    tensors = {given}\n"
        "    expected = run(load(LEFT), tensors, SIZES, TILES)[OUTPUT][INDEX]\n"
        f"    print({f'{left.name}: '!r}, expected.tolist())\n"
        "    actual = run(load(RIGHT), tensors, SIZES, TILES)[OUTPUT][INDEX]\n"
        f"    print({f'{right.name}: '!r}, actual.tolist())\n"
        '    print("difference:", (actual - expected).tolist() if actual.shape == expected.shape else "the shapes")\n'
    )


def _plain(name: str) -> str:
    return name.replace("\\", "/").replace('"', "'").replace("\n", " ")


def _literal(values: Iterable[object]) -> str:
    """Nested lists of floats as Python text."""
    return repr(list(values)).replace("nan", 'float("nan")').replace("inf", 'float("inf")')


def with_concrete(verdict: Verdict, concrete: Concrete) -> Verdict:
    """The verdict with the floats beside each of its counterexamples; where a rejection has none, one is made. Floats that
    an opinion found stay where the search found none; what was undecided is refused by floats that differ."""
    evidence = []
    for e in verdict.evidence:
        if e.word == verdict.word:
            shown = e.counterexample or Counterexample(e.opinion, concrete.output, (), "", e.summary, {})
            known = shown.concrete if concrete.note and shown.concrete is not None else concrete
            e = replace(e, word="REJECTED", counterexample=replace(shown, concrete=known))
        evidence.append(e)
    return replace(verdict, evidence=tuple(evidence))
