"""The modules of the graphs written by hand, as the text opinions take them."""

from __future__ import annotations

from mirage.codegen.emit import emit_module
from mirage.ir.program import Program
from mirage.ir.tensor_spec import TensorSpec
from mirage.mugraph.grammar import MuGraph
from mirage.verify.emitted_module import EmittedModule
from workloads.hand import Case
from workloads.hand_targets import targets


def program_of(graph: MuGraph) -> Program:
    inputs = tuple(TensorSpec(t.name, graph.shape(t), t.dtype) for t in graph.inputs)
    return Program(graph.name, inputs, (), tuple(range(len(graph.outputs))))


def source_of(case: Case) -> str:
    """The user's function as emission gets it: without its decorator."""
    return "\n".join(x for x in case.source.splitlines() if not x.startswith("@mirage") and x != "import mirage")


def emitted(case: Case, old: str = "", new: str = "") -> EmittedModule:
    module = emit_module(program_of(case.mugraph), case.mugraph, source_of(case), function=case.name, header={})
    assert old in module
    names = [x.name for x in case.mugraph.inputs]
    t, outputs = targets(case.mugraph)
    return EmittedModule(t, outputs, case.mugraph, module.replace(old, new), names, source_of(case), case.name)
