"""docs/operators.md, written from the table: `python -m mirage.operators.document > docs/operators.md`."""

from __future__ import annotations

from mirage.operators.entry import BlockOperator, Operator
from mirage.operators.table import BLOCK, OPERATORS

_FAMILIES = {
    "contraction": "Products summed over shared axes.",
    "reduction": "Sums and maxima over dims.",
    "pointwise": "Element by element, operands broadcast.",
    "shape": "Elements moved, nothing computed.",
    "composite": "Written in terms of the others.",
}
_HEAD = """# Operators

This page is generated from the operator table (`core/mirage/operators/`) by
`python -m mirage.operators.document > docs/operators.md`.
[Adding an operator](adding-an-operator.md) walks through one.

## Operators of tensor programs

What a traced function may call. A call that is missing here is answered with MIR201, a form of a call that is not
covered with MIR209.
"""
_BLOCK_HEAD = """
## Operators of block graphs

What the body of a kernel computes. *Field*: the method of the finite-field arithmetic that gives its value there;
`oracle` is an uninterpreted function, a random function of its arguments. Flops and special-function instructions are
for each element.

| operator | field | Triton | flops | special | hazards |
|---|---|---|---|---|---|
"""


def _calls(entry: Operator) -> str:
    names = sorted({k.removeprefix("aten.").removesuffix(".default") for k in entry.torch})
    return ", ".join(f"`{n}`" for n in names) or "(from other operators)"


def _row(entry: Operator) -> str:
    means = "value" if entry.value else "expansion" if entry.expand else "primitive"
    hazards = "; ".join(entry.hazards) or "-"
    return f"| `{entry.name}` | {entry.summary.replace('|', '/')} | {means} | {_calls(entry)} | {hazards} |\n"


def _block_row(entry: BlockOperator) -> str:
    text = entry.triton if not entry.joiner else f"{{0}}{entry.joiner}{{1}}{entry.joiner}..."
    hazards = "; ".join(entry.hazards) or "-"
    return f"| `{entry.name}` | {entry.field} | `{text}` | {entry.flops:g} | {entry.special:g} | {hazards} |\n"


def markdown() -> str:
    """The page."""
    out = [_HEAD]
    for family, what in _FAMILIES.items():
        out.append(f"\n### {family.capitalize()}\n\n{what}\n\n")
        out.append("| operator | meaning | given as | ATen calls | hazards |\n|---|---|---|---|---|\n")
        out += [_row(e) for _, e in sorted(OPERATORS.items()) if e.family == family]
    out.append(_BLOCK_HEAD)
    out += [_block_row(e) for e in BLOCK.values()]
    return "".join(out)


if __name__ == "__main__":
    print(markdown(), end="")
