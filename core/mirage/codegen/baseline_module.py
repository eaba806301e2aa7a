"""The user's own function by PyTorch's compiler, or with one backend of its attention, as a standalone module of PyTorch's calls.

It has the parts of any emitted module but kernels and a µGraph: nothing of it is ours to verify.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mirage.codegen import module_header
from mirage.codegen.baseline_blocks import run_blocks
from mirage.codegen.emit import assemble, imports, spaced
from mirage.codegen.identifiers import Identifiers
from mirage.codegen.launcher_text import (
    RowNames,
    call_conditions,
    contiguous,
    expected_lines,
    fits_lines,
    public_head,
)
from mirage.codegen.line_layout import INDENT
from mirage.codegen.original_function import Original, read_original
from mirage.errors import EmissionRefused
from mirage.ir.program import Program
from mirage.results.baselines import BASELINES

SAID = "What was measured to be the fastest for these tensors; None: the function as written."


def emit_baselines(
    rows: Sequence[tuple[Program, str]],
    original: str,
    *,
    function: str,
    header: dict[str, str],
    docstring: str | None = None,
) -> str:
    """The text of a module in which `function` runs, for the inputs of each row, the baseline of that name (of `BASELINES`,
    not the function as written), and for all others the function as written. The rest as in `emit_module`.

    Raises EmissionRefused where the function cannot be taken apart, or an input is not contiguous."""
    program = rows[0][0]
    for i in (i for p, _ in rows for i in p.inputs):
        if i.type.strides is not None and i.type.strides != contiguous(i.type.shape):
            raise EmissionRefused(f"input {i.name!r} is not contiguous", next_step="pass it contiguous")
    kept = read_original(original, function, tuple(i.name for i in program.inputs))
    names = tuple(dict.fromkeys(name for _, name in rows))
    own = [RowNames.numbered(n + 1).expected for n in range(len(rows))]
    needed = []
    if any(BASELINES[n].mode for n in names):
        needed.append("import functools")
    if any(BASELINES[n].backend for n in names):
        needed.append("from torch.nn.attention import SDPBackend, sdpa_kernel")
    table = [f"{INDENT}{expected}: _run_{name}," for expected, (_, name) in zip(own, rows, strict=True)]
    expected = [line for n, (p, _) in enumerate(rows) for line in expected_lines(p, RowNames.numbered(n + 1))]
    where = [f"{INDENT}here = t.device.type == _DEVICE"]
    parts = {
        "header": module_header.lines(header),
        "imports": imports(replace(kept, imports=(*kept.imports, *needed)), kernels=False, descriptors=False),
        "kernels": [],
        "launcher": spaced(
            [
                *(block for name in names for block in run_blocks(name, kept.private)),
                [*expected, "_BY_SIZE = {  # inputs of other sizes: the function as written", *table, "}"],
                ['_DEVICE = "cuda"  # where it was measured', *fits_lines([], where, SAID, table=True)],
                public_lines(program, function, kept, docstring),
            ]
        ),
        "original": kept.text.split("\n"),
    }
    return assemble(parts)


def public_lines(program: Program, function: str, original: Original, docstring: str | None) -> list[str]:
    """The function under its own name and signature."""
    tensors = ", ".join(i.name for i in program.inputs)
    run = Identifiers(*(i.name for i in program.inputs), *(n for n, _ in original.extra)).fresh("run")
    conditions = call_conditions(original)
    otherwise = f" if {' and '.join(conditions)} else None" if conditions else ""
    return [
        *public_head(function, original, docstring),
        f"{INDENT}{run} = _fits({tensors}){otherwise}",
        f"{INDENT}if {run} is not None:",
        f"{INDENT * 2}return {run}({original.call})",
        f"{INDENT}return {original.private}({original.call})",
    ]
