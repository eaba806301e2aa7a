"""docs/operators.md, written from the table: `python -m mirage.operators.document > docs/operators.md`."""

from __future__ import annotations

from mirage.operators.entry import BlockOperator, Operator
from mirage.operators.intervals import WHOLE
from mirage.operators.signs import ANY, SIGN_WORDS
from mirage.operators.table import BLOCK, OPERATORS, field_methods

_FAMILIES = {
    "contraction": "Products summed over shared axes.",
    "reduction": "Sums and maxima over dims.",
    "pointwise": "Element by element, operands broadcast.",
    "shape": "Elements moved, nothing computed.",
    "composite": "Written in terms of the others.",
    "call": "These stay PyTorch's own in a kernel's module; a comparison of two functions knows what they mean.",
}
_HEAD = """# Operators

This page is generated from the operator table (`core/mirage/operators/`) by
`python -m mirage.operators.document > docs/operators.md`.
[Adding an operator](adding-an-operator.md) walks through one.

## Operators of tensor programs

What a traced function may call and a kernel may compute. A form of a call that is not covered is answered with MIR209.

A call that is missing here stays PyTorch's own, as in `torch.cumsum(x * 2, 1)`, `torch.topk`, `F.conv1d` or `torch.linalg.inv`: what
is before and after it is optimized, and the emitted module calls PyTorch for it ([the search](search.md#operators-outside-the-table)
says how). It must be a function of its tensors: one that draws random numbers, writes into an argument, gives a view that depends on
strides, takes no tensor, or whose shape the values decide is answered with MIR201. Views become the copies that PyTorch has
for them. Complex numbers are not covered. A cast of floats to integers, which drops the fraction, stays PyTorch's own too, but for
one to int8 that is returned or cast back, as quantization does; kernels make that, and what int8 does not hold wraps around as on
the processor. A reshape that cuts across dims, as in `x.view(b, m + 1, n)[:, 1:].reshape(b, n, m)`, stays PyTorch's own too.

Kernels read, move, compare and cast integers, whether inputs or what such a call gives: they are compared as integers, and become
float32 as in PyTorch. Arithmetic of integers wraps around, and quotients jump: that is answered with MIR209, and so are other
integers that a kernel would return.
"""
_BLOCK_HEAD = """
## Operators of block graphs

What the body of a kernel computes. *Field*: the methods of the finite-field arithmetic that give its value there;
`oracle` is an uninterpreted function, a random function of its arguments. *Sign* and *range*: of its results, whatever its
arguments are. *Of 0*: what it makes of the zeros that loads give in the padding of a tile. Flops and special-function
instructions are for each element.

| operator | field | Triton | sign | range | of 0 | flops | special | hazards |
|---|---|---|---|---|---|---|---|---|
"""


def _calls(entry: Operator) -> str:
    names = sorted({k.removeprefix("aten.").removesuffix(".default") for k in entry.torch})
    return ", ".join(f"`{n}`" for n in names) or "(from other operators)"


def _row(entry: Operator) -> str:
    means = "value" if entry.value else "expansion" if entry.expand else "rule"
    hazards = "; ".join(entry.hazards) or "-"
    return f"| `{entry.name}` | {entry.summary.replace('|', '/')} | {means} | {_calls(entry)} | {hazards} |\n"


def _block_row(entry: BlockOperator) -> str:
    text = entry.triton if not entry.joiner else f"{{0}}{entry.joiner}{{1}}{entry.joiner}..."
    cost = f"{entry.flops:g} | {entry.special:g} | {'; '.join(entry.hazards) or '-'}"
    return f"| `{entry.name}` | {_field(entry)} | `{text}` | {' | '.join(_facts(entry))} | {cost} |\n"


def _field(entry: BlockOperator) -> str:
    return entry.field if isinstance(entry.field, str) else ", ".join(sorted(field_methods(entry)))


def _facts(entry: BlockOperator) -> tuple[str, str, str]:
    """Sign, range and the state of what it makes of zeros, of an operator of elements."""
    if entry.form != "pointwise":
        return "-", "-", "-"
    n = entry.least
    interval = entry.interval(*[WHOLE] * n)
    bounds = "-" if interval == WHOLE else f"{interval.low:g} to {interval.high:g}"
    return SIGN_WORDS.get(entry.signs(*[ANY] * n), "any"), bounds, entry.padding(*["zero"] * n)


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
