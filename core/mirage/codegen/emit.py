"""A µGraph as one standalone module: kernels, launcher and the original, importing torch and triton only."""

from __future__ import annotations

from collections.abc import Sequence

from mirage.codegen.kernel import KernelText, emit_kernel
from mirage.codegen.launcher import COUNTERS, guard_lines, public_lines, run_lines, tables
from mirage.codegen.names import Names
from mirage.codegen.original import Original, read_original
from mirage.mugraph.grammar import CustomKernel, MuGraph
from mirage.program.ir import Program

PARTS = ("header", "imports", "kernels", "launcher", "original")
MODULE_NAMES = ("SIZES", "TILES", "_run", "_fits", "_EXPECTED", "_ZEROED", "_counters")


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
    says (a line an entry), `docstring` replaces the original's. The parts stand between `# mirage:begin NAME` and
    `# mirage:end NAME`. Raises EmissionRefused where the µGraph has no Triton text.
    """
    kept = read_original(original, function, tuple(i.name for i in program.inputs))
    names = Names(*MODULE_NAMES, function, kept.private)
    kernels: dict[str, KernelText] = {}
    for k in mugraph.kernels:
        if isinstance(k, CustomKernel):
            name = names.fresh(f"_{k.name}" if k.name.startswith(f"{function}_") else f"_{function}_{k.name}")
            kernels[k.name] = emit_kernel(mugraph, k, name, MODULE_NAMES)
    texts = list(kernels.values())
    parts = {
        "header": [f"# {key}: {line}" for key, value in header.items() for line in value.splitlines()],
        "imports": imports(kept, bool(texts)),
        "kernels": spaced([list(k.lines) for k in texts]),
        "launcher": spaced(
            [
                tables(mugraph, texts),
                COUNTERS if any(k.counters for k in texts) else [],
                run_lines(program, mugraph, kernels),
                guard_lines(program, texts),
                public_lines(program, function, kept, docstring),
            ]
        ),
        "original": kept.text.split("\n"),
    }
    return assemble(parts)


def imports(original: Original, kernels: bool) -> list[str]:
    """`from __future__` keeps annotations text: shapes in them need no package."""
    plain = {"import torch", *(("import triton", "import triton.language as tl") if kernels else ())}
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
    lines: list[str] = []
    for name in PARTS:
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
