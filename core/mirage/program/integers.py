"""What a kernel may do with integers that depend on data: read them, move them, compare them, and make floats of them.

These are exact, or rounded as PyTorch rounds: an integer is compared as an integer, and becomes float32 as in PyTorch.
Arithmetic of integers wraps around where the algebra of terms has no end, and quotients jump; it is refused. Indices made by
`arange` are no data: their sizes bound them.
"""

from __future__ import annotations

from collections.abc import Iterable

from mirage.errors import UnsupportedOperands
from mirage.ir.dtypes import DTYPES
from mirage.ir.opaque_calls import is_call
from mirage.ir.program import Operation, Program
from mirage.operators.table import OPERATORS

COMPARED_ALONE = ("floor_divide", "remainder")  # a GPU's quotient may lie just below the whole number that it is
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


def refuse_integers(program: Program, path: str) -> None:
    """Raises UnsupportedOperands where a kernel would compute with integers that are no indices. Two functions of integers
    are compared; unused ones are none of our business."""
    data = {x for x, i in enumerate(program.inputs) if is_integer(i.type.dtype)}
    own: set[int] = set()  # made of floats by a kernel, which keeps them as whole float32
    rounded: set[int] = set()  # to a half, which a kernel keeps as float32
    for x, node in enumerate(program.nodes, len(program.inputs)):
        if is_call(node.op):
            data |= {x} if is_integer(node.type.dtype) else set()
            continue
        if node.op in COMPARED_ALONE:
            raise UnsupportedOperands(
                f"`{node.op}` of integers is compared, and no kernel computes it", line=node.line, path=path
            )
        if _drops(program, node):
            own.add(x)
            data.add(x)
        taken = data.intersection(node.args)
        compared = rounded.intersection(node.args) if node.op in COMPARISONS else set()
        rounded |= {x} if _rounds(program, node, taken, rounded) else set()
        if not taken and not compared:
            continue
        if compared or not _exact(program, node, taken):
            which = names(program, taken | compared)
            raise UnsupportedOperands(
                f"`{node.op}` takes integers ({which}): kernels move, compare and cast them, and compute with floats",
                line=node.line, path=path, next_step="cast them to a floating dtype first",
            )  # fmt: skip
        data |= {x} if is_integer(node.type.dtype) else set()
    made = {x for x in data if x < len(program.inputs) or not is_call(program.nodes[x - len(program.inputs)].op)}
    returned = (made - own).intersection(program.outputs)
    if returned:
        raise UnsupportedOperands(f"integers are returned ({names(program, returned)})", path=path)


def is_integer(dtype: str) -> bool:
    return dtype != "bool" and not DTYPES[dtype].floating


def holds(dtype: str, integers: str) -> bool:
    """Whether a kernel's value of a floating dtype, float32 at least, is what PyTorch makes of all integers of a dtype."""
    return DTYPES[dtype].significand >= min(8 * DTYPES[integers].bytes - 1, DTYPES["fp32"].significand)


def _drops(program: Program, node: Operation) -> bool:
    """Whether it makes integers of floats."""
    return node.op == "cast" and is_integer(node.type.dtype) and DTYPES[program.type_of(node.args[0]).dtype].floating


def _rounds(program: Program, node: Operation, taken: set[int], rounded: set[int]) -> bool:
    """Whether an operator rounds integers to a half, or moves such."""
    if node.op == "cast":
        return bool(taken) and not holds(node.type.dtype, program.type_of(node.args[0]).dtype)
    return OPERATORS[node.op].family == "shape" and bool(rounded.intersection(node.args))


def names(program: Program, values: Iterable[int]) -> str:
    """Inputs by their names, other values by what makes them."""
    inputs = len(program.inputs)
    said = (
        f"`{program.inputs[x].name}`" if x < inputs else f"{program.nodes[x - inputs].type.dtype} of `{program.nodes[x - inputs].op}`"
        for x in sorted(values)
    )  # fmt: skip
    return ", ".join(said)


def _exact(program: Program, node: Operation, taken: set[int]) -> bool:
    """Whether what a kernel makes of these integers is what PyTorch makes."""
    kinds = [program.type_of(a).dtype for a in node.args]
    entry = OPERATORS[node.op]
    if node.op == "cast":
        have, want = DTYPES[kinds[0]], DTYPES[node.type.dtype]
        return want.floating or node.type.dtype == "bool" or want.bytes >= have.bytes
    if node.op in COMPARISONS:
        # beside a float PyTorch rounds the integer to the float's dtype, which holds those of eight bits alone
        floats = any(DTYPES[program.type_of(a).dtype].floating and program.type_of(a).shape for a in node.args)
        return not floats or all(program.type_of(a).dtype == "int8" for a in taken)
    if entry.family == "shape":
        return True
    return entry.family in ("pointwise", "composite") and DTYPES[node.type.dtype].floating
