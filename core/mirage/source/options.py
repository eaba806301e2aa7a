"""Arguments of the decorator's call: `dims=`, `inputs=`, and the parameters that narrow the search."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TypeGuard

from mirage.errors import BadAnnotation, BadSearchParameter
from mirage.ir.dtypes import DTYPES, dtype_of
from mirage.ir.narrowing import FREE, PARAMETERS, Narrowing
from mirage.source.module_names import ModuleNames, NotConstant, evaluate

# Calls in `inputs=` that stand for a tensor of their shape.
_FACTORIES = {f"torch.{name}" for name in ("empty", "zeros", "ones", "randn", "rand")}
MOST_SIZES = 64  # of a range; each has a row in the module
Shape = tuple[int | str, ...]
Entries = tuple[tuple[Shape, str], ...]


@dataclass(frozen=True)
class DecoratorArguments:
    """`dims`: sizes of named dimensions, one or several each. `inputs`: rows of shape and dtype of the tensors in order, one
    row for each set of sizes; a shape's entry is a size, or a name of `dims`. `given`: what every kernel is held to. `ranged`: the
    names whose sizes `mirage.any` gives."""

    dims: tuple[tuple[str, tuple[int, ...]], ...] = ()
    inputs: tuple[Entries, ...] | None = None
    line: int = 0
    column: int = 0
    given: Narrowing = FREE
    ranged: frozenset[str] = frozenset()


def read_options(call: ast.Call, names: ModuleNames) -> DecoratorArguments:
    """The options of `@mirage.optimize(...)`. Raises BadAnnotation or BadSearchParameter with the place."""
    dims: tuple[tuple[str, tuple[int, ...]], ...] = ()
    ranged: frozenset[str] = frozenset()
    inputs: tuple[Entries, ...] | None = None
    given: dict[str, object] = {}
    if call.args:
        raise bad("`optimize` takes keywords only", call.args[0], names, "write dims={...} or inputs=[...]")
    for keyword in call.keywords:
        if keyword.arg == "dims":
            dims, ranged = _dims(keyword.value, names)
        elif keyword.arg == "inputs":
            inputs = _inputs(keyword.value, names)
        elif keyword.arg in PARAMETERS:
            given[keyword.arg] = _parameter(keyword.arg, keyword.value, names)
        else:
            raise bad(
                f"`optimize` has no option `{keyword.arg or '**'}`", keyword.value, names,
                f"it takes dims, inputs, {', '.join(PARAMETERS)}",
            )  # fmt: skip
    column = names.chunks.column(call.lineno, call.col_offset)
    return DecoratorArguments(dims, inputs, call.lineno, column, Narrowing.of(**given), ranged)


def _parameter(name: str, node: ast.expr, names: ModuleNames) -> object:
    """The value of a parameter that narrows the search, found good."""
    value = _value(node, names)
    try:
        Narrowing.of(**{name: value})
    except BadSearchParameter as error:
        raise BadSearchParameter(error.message, **names.chunks.place(node)) from None
    return value


def bad(message: str, node: ast.AST, names: ModuleNames, next_step: str | None = None) -> BadAnnotation:
    """The error at a node's place."""
    return BadAnnotation(message, next_step=next_step, **names.chunks.place(node))


def _dims(node: ast.expr, names: ModuleNames) -> tuple[tuple[tuple[str, tuple[int, ...]], ...], frozenset[str]]:
    """The sizes of each name, and the names that have a range of them."""
    if not isinstance(node, ast.Dict):
        raise bad("`dims` is not a dict that can be read", node, names, 'write it like dims={"b": 8}')
    found: list[tuple[str, tuple[int, ...]]] = []
    ranged: set[str] = set()
    for key, value in zip(node.keys, node.values):
        name = _value(key if key is not None else value, names)
        if isinstance(value, ast.Call):
            sizes: object = _range(value, names)
            ranged.add(str(name))
        else:
            sizes = _value(value, names)
        sizes = sizes if isinstance(sizes, tuple) else (sizes,)
        if not isinstance(name, str) or not sizes or not _are_sizes(sizes):
            raise bad("`dims` gives a name one size or several", value, names, 'write it like dims={"b": (1, 8)}')
        found.append((name, sizes))
    return tuple(found), frozenset(ranged)


def _range(node: ast.Call, names: ModuleNames) -> tuple[int, ...]:
    """The sizes of a call of `mirage.any`."""
    ends = tuple(_value(a, names) for a in node.args)
    ours = names.dotted(node.func) == "mirage.any" and not node.keywords and len(ends) == 2
    if not ours or not _are_sizes(ends) or not 1 <= ends[0] <= ends[1]:
        raise bad("no range of sizes", node, names, "write it like mirage.any(1, 64), the least and the most")
    least, most = ends
    if most - least >= MOST_SIZES:
        said = f"{most - least + 1} sizes from {least} to {most}, more than {MOST_SIZES}"
        raise bad(said, node, names, "give a shorter range, or the sizes that you need one by one")
    return tuple(range(least, most + 1))


def _inputs(node: ast.expr, names: ModuleNames) -> tuple[Entries, ...]:
    """The rows of `inputs`: of a list of lists each list, else the list itself."""
    entries = _elements(node, names)
    if entries and all(map(_is_row, entries)):
        return tuple(tuple(_one_input(e, names) for e in _elements(row, names)) for row in entries)
    return (tuple(_one_input(e, names) for e in entries),)


def _elements(node: ast.expr, names: ModuleNames) -> list[ast.expr]:
    if isinstance(node, ast.Name):
        node = names.assigned(node.id) or node
    if not isinstance(node, (ast.List, ast.Tuple)):
        raise bad("`inputs` is not a list that can be read", node, names)
    return node.elts


def _is_row(node: ast.expr) -> bool:
    """Whether an element of `inputs` holds tensors: of a tensor, the last element names a dtype."""
    return isinstance(node, (ast.List, ast.Tuple)) and all(
        isinstance(e, (ast.List, ast.Tuple, ast.Call)) for e in node.elts
    )


def _one_input(node: ast.expr, names: ModuleNames) -> tuple[Shape, str]:
    if isinstance(node, ast.Call) and names.dotted(node.func) in _FACTORIES:
        said_shape = _value(node.args[0], names) if len(node.args) == 1 else tuple(_value(a, names) for a in node.args)
        said = next((k.value for k in node.keywords if k.arg == "dtype"), None)
        dtype = dtype_of(names.dotted(said)) if said is not None else "fp32"
    elif isinstance(node, (ast.Tuple, ast.List)) and len(node.elts) == 2:
        said_shape = _value(node.elts[0], names)
        word = names.dotted(node.elts[1]) or _value(node.elts[1], names)
        dtype = dtype_of(word if isinstance(word, str) else "")
        if dtype is None and isinstance(node.elts[1], ast.Name):
            dtype = dtype_of(str(_value(node.elts[1], names)))
    else:
        raise bad("an entry of `inputs` is not a shape with a dtype", node, names)
    shape = said_shape if isinstance(said_shape, tuple) else (said_shape,)
    if dtype is None:
        said_dtype = ast.unparse(node.elts[1]) if isinstance(node, (ast.Tuple, ast.List)) else ast.unparse(node)
        step = f"name one of {', '.join(DTYPES)}"
        raise bad(f"an entry of `inputs` has the dtype {said_dtype}, which is not known", node, names, step)
    if not _is_shape(shape):
        raise bad("a shape in `inputs` holds something that is not a size", node, names)
    return shape, dtype


def _is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _are_sizes(values: tuple[object, ...]) -> TypeGuard[tuple[int, ...]]:
    return all(map(_is_size, values))


def _is_shape(values: tuple[object, ...]) -> TypeGuard[Shape]:
    return all(_is_size(v) or isinstance(v, str) for v in values)


def _value(node: ast.expr, names: ModuleNames) -> object:
    try:
        return evaluate(node, names)
    except NotConstant as error:
        raise bad(
            f"`{error}` has no value that can be read without running it",
            error.node,
            names,
            "write it with numbers, or with module constants made of numbers",
        ) from None
