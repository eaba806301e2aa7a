"""A size of a range (`mirage.any`): the kernel of the size that was searched for it, at this one, and not yet judged."""

from __future__ import annotations

from dataclasses import replace

from mirage.devices.table import Device
from mirage.ir.program import Program
from mirage.mugraph import json_form
from mirage.mugraph.capacity import Limits
from mirage.mugraph.check import broken_rule
from mirage.mugraph.grammar import MuGraph
from mirage.mugraph.resized import like, sizes_for
from mirage.pipeline.answer import time_of
from mirage.pipeline.by_size import SizedResult
from mirage.pipeline.search_problems import problems, which
from mirage.profile.roofline import baseline, estimate
from mirage.results.result import SearchStats


def at_size(program: Program, model: SizedResult, dev: Device) -> SizedResult | None:
    """The answer of `model` for the same function at other sizes; None where its kernel has no meaning there."""
    found = replace(
        model.result, inputs=program.inputs, program_key=program.key, verdict=None, kernels=(), estimate=None, measured=None,
        source="", derivation=None, search=SearchStats(), mugraphs=(),
    )  # fmt: skip
    if found.answer != "kernel":
        return SizedResult(program, None, found, searched=False)
    graph = resized(program, model)
    if graph is None or broken_rule(graph, Limits.of(dev)) is not None:
        return None
    time = time_of(program, dev, estimate(graph, dev), baseline(program, dev))
    posed = problems(program)
    problem = posed[which(posed, graph)]
    return SizedResult(
        program, problem, replace(found, estimate=time, mugraphs=(json_form.to_json(graph),)), searched=False
    )


def resized(program: Program, model: SizedResult) -> MuGraph | None:
    """The model's µGraph at the sizes of the program's inputs and outputs; None where they do not say its axes'."""
    graph = json_form.from_json(model.result.mugraphs[0])
    shapes = {i.name: i.type.shape for i in program.inputs if i.name in {t.name for t in graph.inputs}}
    outputs = [program.type_of(x).shape for x in program.outputs]
    if len(outputs) != len(graph.outputs):
        return None
    shapes |= {t.name: shape for t, shape in zip(graph.outputs, outputs, strict=True)}
    sizes = sizes_for(graph, shapes)
    return None if sizes is None else like(graph, sizes)
