"""The structure opinion: what reading a module's text says of it. It can refuse a text, and never makes a link stronger."""

from __future__ import annotations

import time

from mirage.codegen.size_table import inputs_of
from mirage.ir.program import Program
from mirage.mugraph.grammar import MuGraph
from mirage.results.verdict import Evidence
from mirage.verify.structure.emitted_again import carries, faults_of
from mirage.verify.structure.module_rules import RULES, first_fault


def syntax_opinion(module: str) -> Evidence:
    """Does the module contain what an emitted one may, and nothing else? It is asked before anything of the text runs."""
    start = time.perf_counter()
    found = first_fault(module)
    if found is not None:
        name, fault = found
        return Evidence(
            link="text", opinion="structure", word="REJECTED", summary=f"module text: line {fault.line}: {fault.what} (rule {name})",
            seconds=time.perf_counter() - start,
        )  # fmt: skip
    said = f"the {len(RULES)} rules on what a module may contain hold"
    return Evidence(
        link="text", opinion="structure", word="TESTED", summary=said, seconds=time.perf_counter() - start
    )  # fmt: skip


def structure_opinion(
    module: str, program: Program, mugraph: MuGraph, slice_text: str, function: str, read: Evidence
) -> Evidence:
    """Is the module the text that this version emits for its µGraphs, the judged one among them, and for the user's function
    (where there is one)? Of a module that carries none there is only what was `read` before, and what its text does."""
    if not carries(module):
        return read
    start = time.perf_counter()
    wrong = faults_of(module, inputs_of(program), mugraph, slice_text, function, program.returns_tuple)
    return Evidence(
        link="text", opinion="structure", word="REJECTED" if wrong else "PROVED",
        summary=wrong or "as emitted from its µGraph (this version)", seconds=read.seconds + time.perf_counter() - start,
    )  # fmt: skip
