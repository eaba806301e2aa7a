"""A µGraph as one standalone module: kernels, launcher and the original, with torch, triton and what the original imports of Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mirage.codegen import module_header
from mirage.codegen.carried_mugraph import comment_lines
from mirage.codegen.identifiers import Identifiers
from mirage.codegen.kernel_text import KernelText, emit_kernel
from mirage.codegen.launcher_text import (
    COUNTERS,
    OWN_LINES,
    RowNames,
    by_size_lines,
    expected_lines,
    guard_lines,
    public_lines,
    refusal_lines,
    run_lines,
    tables,
)
from mirage.codegen.original_function import Original, read_original
from mirage.ir.program import Program
from mirage.mugraph.grammar import CustomKernel, MuGraph

PARTS = ("header", "imports", "kernels", "launcher", "original", "mugraph")
DESCRIPTOR = "from triton.tools.tensor_descriptor import TensorDescriptor"
MODULE_NAMES = (
    "TensorDescriptor",
    "_fits",
    "_BY_SIZE",
    "_PLAIN",
    "_COMPILED",
    "_ZEROED",
    "_counters",
    "_refuse_others",
)


def emit_module(
    program: Program,
    mugraph: MuGraph,
    original: str,
    *,
    function: str,
    header: dict[str, str],
    docstring: str | None = None,
) -> str:
    """The text of a module in which `function` runs `mugraph`'s kernels where they fit and the original elsewhere.

    `original` is the source of the user's function with the helpers that it needs, `header` what the provenance comment
    says (a line an entry), `docstring` replaces the original's. The module carries its µGraph as comments, which
    `mirage verify` judges the text against. The parts stand between `# mirage:begin NAME` and
    `# mirage:end NAME`. Raises EmissionRefused where the µGraph has no Triton text.
    """
    return emit_rows([(program, mugraph)], original, function=function, header=header, docstring=docstring)


def emit_rows(
    rows: Sequence[tuple[Program, MuGraph]],
    original: str,
    *,
    function: str,
    header: dict[str, str],
    docstring: str | None = None,
) -> str:
    """`emit_module` for several sizes of one function, the first row the one that its plain names mean. Rows share the
    kernels and launchers whose text is the same; inputs of other sizes run the original."""
    program, several = rows[0][0], len(rows) > 1
    kept = read_original(original, function, tuple(i.name for i in program.inputs))
    own = [RowNames.numbered(n + 1) for n in range(len(rows))]
    taken = (*MODULE_NAMES, *(x for o in own for x in (o.expected, o.run, o.sizes, o.tiles)))
    names = Identifiers(*taken, function, kept.private)
    texts: dict[str, list[KernelText]] = {}  # by the kernel's name in its µGraph
    launchers: dict[tuple[str, ...], str] = {}  # a launcher's text -> its name
    tables_of: dict[tuple[str, ...], str] = {}  # the tables of tiles -> their names
    middle: list[list[str]] = []
    for i, (row_program, mugraph) in enumerate(rows):
        kernels = kernel_texts(mugraph, function, names, texts, taken)
        sizes, first, *tiles = tables(mugraph, list(kernels.values()), own[i])
        own[i] = replace(own[i], tiles=tables_of.setdefault(tuple(tiles), own[i].tiles))
        middle.append([sizes, first, *tiles] if first.startswith(f"{own[i].tiles} = ") else [sizes])
        lines = run_lines(row_program, mugraph, kernels, own[i], several)
        text = tuple(lines[OWN_LINES:])
        if text in launchers:
            own[i] = replace(own[i], run=launchers[text])
        else:
            launchers[text] = own[i].run
            middle.append(lines)
    every = [k for found in texts.values() for k in found]
    expected = [line for (p, _), o in zip(rows, own, strict=True) for line in expected_lines(p, o)]
    parts = {
        "header": module_header.lines(header),
        "imports": imports(kept, bool(every), any(k.descriptors for k in every)),
        "kernels": spaced([list(k.lines) for k in every]),
        "launcher": spaced(
            [
                middle[0],
                COUNTERS if any(k.counters for k in every) else [],
                *middle[1:],
                [*expected, *(by_size_lines(own) if several else []), *guard_lines(every, several)],
                refusal_lines(several),
                public_lines(program, function, kept, docstring, several),
            ]
        ),
        "original": kept.text.split("\n"),
        "mugraph": comment_lines(m for _, m in rows),
    }
    return assemble(parts)


def kernel_texts(
    mugraph: MuGraph, function: str, names: Identifiers, made: dict[str, list[KernelText]], taken: tuple[str, ...]
) -> dict[str, KernelText]:
    """The texts of a µGraph's kernels by their names there; what an earlier row has word for word is taken from `made`,
    the rest is added to it."""
    found: dict[str, KernelText] = {}
    for k in mugraph.kernels:
        if not isinstance(k, CustomKernel):
            continue
        for other in made.get(k.name, []):
            text = emit_kernel(mugraph, k, other.name, taken)
            if text.lines == other.lines:
                found[k.name] = text
                break
        else:
            name = names.fresh(f"_{k.name}" if k.name.startswith(f"{function}_") else f"_{function}_{k.name}")
            found[k.name] = emit_kernel(mugraph, k, name, taken)
            made.setdefault(k.name, []).append(found[k.name])
    return found


def imports(original: Original, kernels: bool, descriptors: bool) -> list[str]:
    """`from __future__` keeps annotations text: shapes in them need no package."""
    plain = {"import torch", *(("import triton", "import triton.language as tl") if kernels else ())}
    plain |= {DESCRIPTOR} if descriptors else set()
    plain |= set(original.imports)
    straight = sorted(i for i in plain if i.startswith("import "))
    other = sorted(plain - set(straight))
    standard = [i for i in straight + other if i.split()[1].partition(".")[0] not in ("torch", "triton")]
    rest = [i for i in straight + other if i not in standard]
    return ["from __future__ import annotations", "", *standard, *([""] if standard else []), *rest]


def spaced(blocks: Sequence[list[str]]) -> list[str]:
    """Blocks of lines with two empty lines between them."""
    out: list[str] = []
    for b in blocks:
        out += ["", "", *b] if out and b else b
    return out


def assemble(parts: dict[str, list[str]]) -> str:
    """The parts in their order, those that are given, between their marks."""
    lines: list[str] = []
    for name in (name for name in PARTS if name in parts):
        own = parts[name]
        gap = ["", ""] if name in ("kernels", "launcher", "original") and own else []
        lines += [f"# mirage:begin {name}", *gap, *own, *gap, f"# mirage:end {name}"]
    return "\n".join(lines) + "\n"


def split_parts(text: str) -> dict[str, str]:
    """The parts of an emitted module, by name, without their marks."""
    out: dict[str, str] = {}
    for name in PARTS:
        begin, end = f"# mirage:begin {name}\n", f"# mirage:end {name}\n"
        if begin in text and end in text:
            out[name] = text.split(begin, 1)[1].split(end, 1)[0].strip("\n")
    return out
