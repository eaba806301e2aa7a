"""The search problems that a program poses: as the operator table means it, with library calls, with one row as an axis, with sums
of a product's tiles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mirage.ir.dtypes import DTYPES, FLOATING, computing_dtypes
from mirage.ir.program import Program
from mirage.mugraph.grammar import DTensor, MuGraph
from mirage.mugraph.without_calls import other_calls
from mirage.program.axis_names import output_names
from mirage.program.library_variants import ways
from mirage.program.lower import Lowered, lower
from mirage.search.engine import Problem
from mirage.search.kernel_pieces import Target
from mirage.search.one_row import one_row
from mirage.search.tiled_sums import tiled_sums


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
    return Problem(
        program.name, lowered.terms, tuple(lowered.tensors), tuple(targets), between(program, outputs), lowered.given, lowered.calls,
        tuple(names),
    )  # fmt: skip


def between(program: Program, outputs: Sequence[str]) -> str:
    """The dtype of what goes from kernel to kernel: the narrowest of the inputs', but none that is narrower than every output. A
    function that gives float32 of float16, as a loss does, computes in float32 in between."""
    narrowest = min(computing_dtypes((i.type.dtype for i in program.inputs), outputs), key=_bytes)
    return max(narrowest, min((d for d in outputs if d in FLOATING), key=_bytes, default=narrowest), key=_bytes)


def _bytes(dtype: str) -> int:
    return DTYPES[dtype].bytes


def problems(program: Program) -> list[Problem]:
    """The search's problems: the program as the table means it; with what stays PyTorch's own
    (`program/library_variants.py`); with the one row of its products as an axis (`search/one_row.py`); and with blocks along the
    axes that it adds up after a product (`search/tiled_sums.py`)."""
    found = [problem(p, lower(p)) for p in ways(program)]
    others = (one_row(found[0]), tiled_sums(found[0]))
    return [*found, *(p for p in others if p is not None)]


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
