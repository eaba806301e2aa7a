"""The shapes of a decorated function's parameters, from jaxtyping annotations, or from `inputs=`."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass

from mirage.errors import BadAnnotation, MirageError, MissingShape, SymbolWithoutSize, ZeroSizeAxis
from mirage.ir.dtypes import DTYPES
from mirage.ir.tensor_spec import TensorSpec
from mirage.source.detect import Decorated, Param
from mirage.source.module_names import LARGEST, MAX_SHOWN, ModuleNames, NotConstant, evaluate, shown
from mirage.source.options import Entries
from mirage.source.statements import Place, try_parse

# More rows than this are a slip (every combination of the dimensions' sizes is a row).
MAX_ROWS = 64
_NAME = re.compile(r"[A-Za-z_]\w*")
# jaxtyping's classes: those of one dtype (`Float` is torch's default), and those of several or of one that no kernel handles.
EXACT = {**{d.jaxtyping: name for name, d in DTYPES.items()}, "Float": "fp32"}
INEXACT = {
    "Int", "UInt", "Integer", "Real", "Inexact", "Complex", "Num", "Shaped", "Key", "Complex64", "Complex128",
    "UInt2", "UInt4", "UInt8", "UInt16", "UInt32", "UInt64", "Int2", "Int4", "Int16",
    "Float8e4m3b11fnuz", "Float8e4m3fnuz", "Float8e5m2fnuz",
}  # fmt: skip
_LARGEST_SIZE = 2**48
LONGEST_DIM = 200  # characters of one dimension; longer ones are numbers and nestings that no shape has
MAX_DIGITS = 30
_ARITHMETIC: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b,
}


@dataclass(frozen=True)
class _Spec:
    """A parameter before its named dimensions have sizes: a dimension is a size, or an expression of names."""

    param: Param
    dims: tuple[int | ast.expr, ...]
    dim_names: tuple[str, ...]
    dtype: str
    line: int
    column: int


def read(function: Decorated) -> list[TensorSpec]:
    """The tensor parameters in order, at the first size of each named dimension. Raises the function's own error, or
    BadAnnotation, MissingShape, SymbolWithoutSize, ZeroSizeAxis with line and column."""
    return rows(function)[0]


def rows(function: Decorated) -> list[list[TensorSpec]]:
    """One list of inputs for every row of `inputs=` and every combination of the sizes that `dims=` gives, the last name
    varying fastest."""
    if function.error is not None:
        raise function.error
    assert function.names is not None  # only a function with an error has none
    known: dict[str, int] = {}
    given = _specs(function, known)
    used = set(_names(given))
    for name, sizes in function.options.dims:
        if name not in used | set(known):
            raise _at(BadAnnotation, function, f"`dims` names `{name}`, which no shape uses", "use it, or remove it")
        if name in known and set(sizes) != {known[name]}:
            raise _at(BadAnnotation, function, f"`{name}` is {known[name]} in an annotation and {sizes} in `dims`")
    choices = list(itertools.product(*(sizes for _, sizes in function.options.dims)))
    if len(choices) * len(given) > MAX_ROWS:
        raise _at(
            BadAnnotation,
            function,
            f"there are {len(choices) * len(given)} combinations of sizes, more than {MAX_ROWS}",
            "give fewer sizes",
        )
    names = [name for name, _ in function.options.dims]
    return [
        [_sized(s, {**known, **dict(zip(names, choice))}, function) for s in specs]
        for specs in given
        for choice in choices
    ]


def models(function: Decorated) -> list[int]:
    """For each row of `rows` the row whose kernel it takes, at its own sizes. That is the row itself, but where `mirage.any` gives
    a size: then the one at the next power of two, or at the range's end."""
    options = function.options
    choices = list(itertools.product(*(sizes for _, sizes in options.dims)))
    place = {choice: i for i, choice in enumerate(choices)}
    ends = {name: sizes[-1] for name, sizes in options.dims if name in options.ranged}
    names = [name for name, _ in options.dims]
    own = [
        place[tuple(min(1 << (n - 1).bit_length(), ends[x]) if x in ends else n for x, n in zip(names, choice))]
        for choice in choices
    ]
    return [given * len(choices) + i for given in range(len(options.inputs or (None,))) for i in own]


def unsized(function: Decorated) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
    """The names in a function's shapes that have no size, in order, and for each parameter the names of its dimensions
    ("" for one without). Empty where the shapes cannot be read at all."""
    known: dict[str, int] = {}
    try:
        given = _specs(function, known)
    except MirageError:
        return (), {}
    sized = {name for name, _ in function.options.dims} | set(known)
    lacking = tuple(dict.fromkeys(n for n in _names(given) if n not in sized))
    return lacking, {s.param.name: s.dim_names for s in given[0]}


def _specs(function: Decorated, known: dict[str, int]) -> list[list[_Spec]]:
    """The tensor parameters of each row of `inputs=`; of the annotations, which are one row."""
    if function.options.inputs is None:
        return [_from_annotations(function, known)]
    return [_from_inputs(function, row) for row in function.options.inputs]


def _names(rows: list[list[_Spec]]) -> list[str]:
    """The names in the rows' shapes."""
    dims = [d for specs in rows for s in specs for d in s.dims if isinstance(d, ast.expr)]
    return [n.id for d in dims for n in ast.walk(d) if isinstance(n, ast.Name)]


def _at(kind: type[MirageError], function: Decorated, message: str, next_step: str | None = None) -> MirageError:
    line, column = function.options.line or function.line, function.options.column
    return kind(message, next_step=next_step, path=function.path, line=line, column=column)


def _on(
    kind: type[MirageError], spec: _Spec, function: Decorated, message: str, next_step: str | None = None
) -> MirageError:
    return kind(message, next_step=next_step, path=function.path, line=spec.line, column=spec.column)


def _sized(spec: _Spec, sizes: dict[str, int], function: Decorated) -> TensorSpec:
    shape = []
    for position, dim in enumerate(spec.dims):
        size = dim if isinstance(dim, int) else _size(dim, sizes, spec, function)
        if size == 0:
            raise _on(ZeroSizeAxis, spec, function, f"dimension {position} of `{spec.param.name}` has size zero")
        if not 0 < size <= _LARGEST_SIZE:
            said = size if abs(size) <= LARGEST else "beyond every bound"
            raise _on(BadAnnotation, spec, function, f"dimension {position} of `{spec.param.name}` has size {said}")
        shape.append(size)
    return TensorSpec(spec.param.name, tuple(shape), spec.dtype, None, spec.dim_names)


def _size(node: ast.expr, sizes: dict[str, int], spec: _Spec, function: Decorated) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.Name):
        if node.id in sizes:
            return sizes[node.id]
        raise _on(
            SymbolWithoutSize,
            spec,
            function,
            f"`{node.id}` in `{spec.param.name}` has no size",
            f'give it one: @mirage.optimize(dims={{"{node.id}": 8}})',
        )
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        left, right = _size(node.left, sizes, spec, function), _size(node.right, sizes, spec, function)
        if (right or not isinstance(node.op, ast.FloorDiv)) and max(abs(left), abs(right)) <= LARGEST:
            return _ARITHMETIC[type(node.op)](left, right)
    raise _on(BadAnnotation, spec, function, f"`{shown(node)}` in `{spec.param.name}` is not a size")


# ---- inputs=
def _from_inputs(function: Decorated, inputs: Entries) -> list[_Spec]:
    required = [p for p in function.params if p.default is None]
    params = required if len(inputs) == len(required) else list(function.params[: len(inputs)])
    if len(params) != len(inputs) or any(p not in params for p in required):
        raise _at(
            BadAnnotation,
            function,
            f"`inputs` has {len(inputs)} entries for {len(required)} parameters",
            "give one entry for every tensor parameter, in order",
        )
    line, column = function.options.line, function.options.column
    return [_spec_of_shape(p, shape, dtype, line, column) for p, (shape, dtype) in zip(params, inputs)]


def _spec_of_shape(param: Param, shape: tuple[int | str, ...], dtype: str, line: int, column: int) -> _Spec:
    dims = tuple(d if isinstance(d, int) else ast.Name(d, ast.Load()) for d in shape)
    return _Spec(param, dims, tuple(d if isinstance(d, str) else "" for d in shape), dtype, line, column)


# ---- annotations
def _from_annotations(function: Decorated, known: dict[str, int]) -> list[_Spec]:
    found = [s for p in function.params if (s := _read_param(p, function, known)) is not None]
    if not found:
        raise _at(MissingShape, function, f"`{function.name}` takes no tensor")
    return found


def _read_param(param: Param, function: Decorated, known: dict[str, int]) -> _Spec | None:
    names = function.names
    assert names is not None
    node = _resolve(param.annotation, names) if param.annotation is not None else None
    place: Place = {"path": function.path, "line": param.line, "column": param.column}
    if param.annotation is not None:
        place = names.chunks.place(param.annotation)
    kind = _kind_of(node, names)
    if not isinstance(node, ast.Subscript) or kind not in {*EXACT, *INEXACT}:
        if param.default is None or _is_tensor(node, names):
            what = "an annotation without a shape" if param.annotation is not None else "no annotation"
            raise MissingShape(f"`{param.name}` has {what}", **place)
        _check_constant(param, names)
        return None
    if kind in INEXACT:
        raise BadAnnotation(
            f"`{kind}` of `{param.name}` is not one exact dtype that kernels know",
            next_step="write Float16, BFloat16, Float32, Int32, ...",
            **place,
        )
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
    if len(parts) != 2:
        raise BadAnnotation(f'the annotation of `{param.name}` is not of the form {kind}[Tensor, "..."]', **place)
    try:
        words = evaluate(parts[1], names)
    except NotConstant as error:
        raise BadAnnotation(f"the shape of `{param.name}` is `{error}`, not a string", **place) from None
    if not isinstance(words, str):
        raise BadAnnotation(f"the shape of `{param.name}` is not a string", **place)
    dims: list[int | ast.expr] = []
    dim_names: list[str] = []
    for word in words.split():
        try:
            name, dim = _read_dim(word)
        except ValueError as error:
            raise BadAnnotation(f"`{word[:MAX_SHOWN]}` in the shape of `{param.name}` {error}", **place) from None
        if name and isinstance(dim, int) and known.setdefault(name, dim) != dim:
            raise BadAnnotation(
                f"`{name}` is {known[name]} in one annotation and {dim} in that of `{param.name}`", **place
            )
        dims.append(dim)
        dim_names.append(name)
    return _Spec(param, tuple(dims), tuple(dim_names), EXACT[kind], place["line"], place["column"])


def _read_dim(word: str) -> tuple[str, int | ast.expr]:
    """Name ("" for none) and size of one word of a shape: `4096`, `b`, `b=16`, `2*b`. Raises ValueError."""
    if word == "..." or word[0] in "*#?" or word == "_":
        raise ValueError("stands for dimensions whose sizes are not known")
    if len(word) > LONGEST_DIM:
        raise ValueError(f"has more than {LONGEST_DIM} characters")
    name, equals, size = word.rpartition("=")
    if equals and not _NAME.fullmatch(name):
        raise ValueError("is not a dimension")
    if re.fullmatch(r"-?\d+", size):
        if len(size) > MAX_DIGITS:
            raise ValueError("has a size of too many digits")
        return name, int(size)
    if _NAME.fullmatch(size) and not equals:
        return size, ast.Name(size, ast.Load())
    tree = try_parse(size.replace("{", "").replace("}", ""))
    if isinstance(tree, ast.Module) and len(tree.body) == 1 and isinstance(tree.body[0], ast.Expr):
        return name, tree.body[0].value
    raise ValueError("is not a dimension")


def _resolve(node: ast.expr, names: ModuleNames, depth: int = 0) -> ast.expr:
    """An annotation without its quotes, and with a module's alias for it replaced by what it stands for."""
    if depth > 8:
        return node
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        tree = try_parse(node.value.strip())
        if isinstance(tree, ast.Module) and len(tree.body) == 1 and isinstance(tree.body[0], ast.Expr):
            return _resolve(tree.body[0].value, names, depth + 1)
    if isinstance(node, ast.Name) and node.id not in names.imports:
        value = names.assigned(node.id)
        if value is not None:
            return _resolve(value, names, depth + 1)
    return node


def _kind_of(node: ast.expr | None, names: ModuleNames) -> str:
    """The last part of what is subscripted: `Float16` for `jaxtyping.Float16[...]` and for an alias of it."""
    return names.dotted(node.value).rpartition(".")[2] if isinstance(node, ast.Subscript) else ""


def _is_tensor(node: ast.expr | None, names: ModuleNames) -> bool:
    return node is not None and names.dotted(node).rpartition(".")[2] == "Tensor"


def _check_constant(param: Param, names: ModuleNames) -> None:
    """A parameter that is no tensor must have a default that can be read: the kernel is made for that value."""
    assert param.default is not None
    if names.dotted(param.default).startswith(("torch.", "math.")):
        return
    try:
        evaluate(param.default, names)
    except NotConstant as error:
        raise MissingShape(
            f"the default of `{param.name}` is `{error}`, which is not a constant",
            next_step="annotate a tensor with its shape; give other parameters a constant as default",
            path=names.chunks.path,
            line=param.line,
            column=param.column,
        ) from None
