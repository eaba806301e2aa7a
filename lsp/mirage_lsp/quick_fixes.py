"""Quick fixes of diagnostics: a size for a name, annotations or inputs from observed shapes."""

from __future__ import annotations

import ast
import re

from lsprotocol import types

from mirage.source import detect
from mirage.source.module_names import is_decorator
from mirage_lsp import observed_shapes
from mirage_lsp.document import View
from mirage_lsp.reading import ReadFunction

SIZE = 8  # for a name of which nothing is known
_OPENED = re.compile(r"[(\s]+\Z")  # brackets before an expression
Place = tuple[int, int]  # 1-based line, column in UTF-8 bytes, as `ast` counts


def give_sizes(view: View, function: detect.Decorated) -> list[types.TextEdit]:
    """`dims=` gives the names without a size one: that of the last run, or that of the file's other functions."""
    read = view.document.reading.by_name.get(function.name)
    sizes = sizes_for(view, read) if read is not None else {}
    return _option(view, function, "dims", {f'"{name}"': str(size) for name, size in sizes.items()}) if sizes else []


def sizes_for(view: View, function: ReadFunction) -> dict[str, int]:
    """A size for each name of a function's shapes that has none."""
    known: dict[str, int] = {}
    for other in view.document.functions:
        known.update({name: sizes[0] for name, sizes in other.dims})
    entry = view.document.entries.get(function.name)
    dims = dict(function.dim_names)
    for name, shape, _ in entry.seen if entry is not None else ():
        if len(shape) == len(dims.get(name, ())):
            known.update({dim: size for dim, size in zip(dims[name], shape) if dim})
    return {name: known.get(name, SIZE) for name in function.unsized}


def give_inputs(view: View, function: detect.Decorated) -> list[types.TextEdit]:
    """`inputs=` says what the function was called with."""
    called = _called(view, function)
    if not called or function.options.inputs is not None:
        return []
    return _option(view, function, observed_shapes.option(called), {})


def annotate(view: View, function: detect.Decorated) -> list[types.TextEdit]:
    """Annotations say what the function was called with."""
    called, names = _called(view, function), function.names
    if not called or names is None or function.node is None or function.options.inputs is not None:
        return []
    arguments = {
        a.arg: a for a in (*function.node.args.posonlyargs, *function.node.args.args, *function.node.args.kwonlyargs)
    }
    missing: dict[str, str] = {}  # module -> what to import
    found = []
    tensor = _spelling(names, "torch", "Tensor", missing)
    for name, shape, dtype in called:
        argument = arguments.get(name)
        if argument is None:
            return []
        kind = _spelling(names, "jaxtyping", observed_shapes.kind(dtype), missing)
        text = f'{kind}[{tensor}, "{" ".join(map(str, shape))}"]'
        end = (argument.lineno, argument.col_offset + len(argument.arg.encode()))
        if argument.annotation is not None:
            begin = (argument.annotation.lineno, argument.annotation.col_offset)
            end = (argument.annotation.end_lineno or 0, argument.annotation.end_col_offset or 0)
            found.append(_put(view, function, begin, end, text))
        else:
            found.append(_put(view, function, end, end, f": {text}"))
    return [*_imports(view, missing), *found]


def _called(view: View, function: detect.Decorated) -> observed_shapes.Seen:
    entry = view.document.entries.get(function.name)
    return entry.seen if entry is not None else ()


def _spelling(names: object, module: str, name: str, missing: dict[str, str]) -> str:
    """How a module's name is written in this file; noted in `missing` where it must be imported first."""
    imports = names.imports  # type: ignore[attr-defined]
    for bound, items in imports.items():
        if items[-1].target == f"{module}.{name}":
            return str(bound)
    for bound, items in imports.items():
        if items[-1].target == module:
            return f"{bound}.{name}"
    parts = missing.get(module, "").split(", ") if missing.get(module) else []
    missing[module] = ", ".join(sorted({*parts, name}))
    return name


def _imports(view: View, missing: dict[str, str]) -> list[types.TextEdit]:
    """One edit with the imports that are needed, before the first import that is no `__future__`."""
    if not missing:
        return []
    lines = view.document.lines
    at = next(
        (
            n
            for n in range(view.first, view.first + view.count)
            if lines[n].startswith(("import ", "from ")) and not lines[n].startswith("from __future__")
        ),
        view.first,
    )
    text = "".join(f"from {module} import {what}\n" for module, what in sorted(missing.items()))
    place = view.place(at)
    return [types.TextEdit(range=types.Range(start=place, end=place), new_text=text)]


def _option(view: View, function: detect.Decorated, keyword: str, entries: dict[str, str]) -> list[types.TextEdit]:
    """Put a keyword into the decorator's call; `entries` go into the dict that it has, if it has one."""
    names, node = function.names, function.node
    if names is None or node is None:
        return []
    decorator = next(d for d in node.decorator_list if is_decorator(d, names))
    end = (decorator.end_lineno or 0, decorator.end_col_offset or 0)
    inner = ", ".join(f"{key}: {value}" for key, value in entries.items())
    text = f"{keyword}={{{inner}}}" if entries else keyword
    if not isinstance(decorator, ast.Call):
        return [_put(view, function, end, end, f"({text})")]
    have = next((k.value for k in decorator.keywords if k.arg == keyword), None)
    if isinstance(have, ast.Dict):
        if have.values:
            return [_after(view, function, have.values[-1], f", {inner}")]
        begin = (have.lineno, have.col_offset + 1)
        return [_put(view, function, begin, begin, inner)]
    if decorator.keywords:
        return [_after(view, function, decorator.keywords[-1].value, f", {text}")]
    before = (end[0], end[1] - 1)
    return [_put(view, function, before, before, text)]


def _after(view: View, function: detect.Decorated, node: ast.expr, text: str) -> types.TextEdit:
    """Put a text behind the value of a keyword or of a dict, and behind the brackets around it."""
    assert function.names is not None
    chunks = function.names.chunks
    whole, starts = chunks.text, [0, *(n + 1 for n in chunks.newlines)]
    begin = starts[node.lineno - 1] + chunks.column(node.lineno, node.col_offset)
    line = node.end_lineno or node.lineno
    at = starts[line - 1] + chunks.column(line, node.end_col_offset or 0)
    opened = _OPENED.search(whole, 0, begin)
    for _ in range(opened[0].count("(") if opened else 0):
        at = whole.index(")", at) + 1
    line = chunks.line_of(at)
    place = view.place(line - 1, at - starts[line - 1])
    return types.TextEdit(range=types.Range(start=place, end=place), new_text=text)


def _put(view: View, function: detect.Decorated, begin: Place, end: Place, text: str) -> types.TextEdit:
    assert function.names is not None
    column = function.names.chunks.column
    start, stop = (view.place(line - 1, column(line, col)) for line, col in (begin, end))
    return types.TextEdit(range=types.Range(start=start, end=stop), new_text=text)
