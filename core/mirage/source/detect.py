"""Detection of the functions that `@mirage.optimize` decorates, in a text that may be half-written."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from mirage.errors import MirageError, SourceSyntaxError, UnsupportedFunctionKind
from mirage.source import digest
from mirage.source.identity import followed
from mirage.source.module_names import DECORATORS, ModuleNames, is_decorator
from mirage.source.options import DecoratorArguments, read_options
from mirage.source.references import References
from mirage.source.statements import Chunk, Chunks, as_error, try_parse

# Words without which a function cannot be of a kind that is refused for what its body holds.
_FORBIDDEN = re.compile(r"\b(?:yield|global|nonlocal)\b")
_FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Param:
    """A parameter. `line` and `column` are where it stands; the expressions are None where there is none."""

    name: str
    annotation: ast.expr | None
    default: ast.expr | None
    line: int
    column: int


@dataclass
class Decorated:
    """A decorated function. Lines are 1-based, columns 0-based and in characters; `end_line` is the last line of the
    body, `decorator_line` that of the topmost decorator. `error` says why it cannot be optimized."""

    name: str
    line: int
    end_line: int
    col: int
    decorator_line: int
    docstring: str | None = None
    params: tuple[Param, ...] = ()
    options: DecoratorArguments = field(default_factory=DecoratorArguments)
    error: MirageError | None = None
    node: ast.FunctionDef | None = field(default=None, repr=False, compare=False)
    names: ModuleNames | None = field(default=None, repr=False, compare=False)

    @property
    def path(self) -> str:
        return self.names.chunks.path if self.names else "<text>"

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The text of everything that `digest` and the shapes can depend on, in the order of the text: where it is the
        same, so are they. Much cheaper than they are, and coarser: it changes with comments."""
        if self.names is None:
            return ()
        chunks = self.names.chunks
        own = chunks.at_line(self.line)
        return (self.name, *(chunks.source(c) for c in self.names.reached(own))) if own is not None else ()

    def followed(self) -> tuple[References, str]:
        """What it refers to, and the digest of it all. Raises its own error, UnsafeReference, SideEffect."""
        if self.error is not None:
            raise self.error
        if self.node is None or self.names is None:
            raise MirageError(f"`{self.name}` was not read from a text")
        return followed(self.node, self.names)

    @cached_property
    def digest(self) -> str:
        """Identity of the function with all it refers to (that of `slice.cut`), or of its own text alone where a
        reference cannot be followed. Comments, formatting and docstrings do not change it."""
        try:
            return self.followed()[1]
        except MirageError:
            pass  # what it refers to cannot be followed: then it is identified by what it says itself
        try:
            return digest.digest([self.node] if self.node else [], [self.name])
        except RecursionError:
            return digest.digest([], [self.name, self.names.chunks.text if self.names else ""])


@dataclass
class Scan:
    """What a text holds."""

    functions: list[Decorated]
    chunks: Chunks = field(repr=False)

    @cached_property
    def problems(self) -> list[MirageError]:
        """Everything that is wrong: the text's syntax first, then each function's error. This parses the whole text."""
        whole = self.chunks.syntax_error
        return [e for e in (whole, *(f.error for f in self.functions)) if e is not None]


def find(text: str, path: str = "<text>") -> Scan:
    """The decorated functions of a text, in its order. Never raises; what does not parse is left out or carries an
    error."""
    chunks = Chunks(text, path)
    names = ModuleNames(chunks)
    functions: list[Decorated] = []
    if "mirage" in chunks.text:
        spellings = _spellings(names)
        for chunk in _mentioning(chunks, spellings):
            functions += _read_chunk(chunk, chunks, names)
    # Where a cut lay inside a statement, two chunks hold the same function.
    once = {(f.line, f.col): f for f in functions}
    found = [once[place] for place in sorted(once)]
    _refuse_twice(found, names)
    return Scan(found, chunks)


def _refuse_twice(functions: list[Decorated], names: ModuleNames) -> None:
    """Of two functions of one name the later one is what the name means when the module is run; the other one's kernel would be
    taken for its."""
    lines: dict[str, list[int]] = {}
    for f in functions:
        lines.setdefault(f.name, []).append(f.line)
    for f in functions:
        others = [str(n) for n in lines[f.name] if n != f.line]
        if others and f.error is None and f.node is not None:
            said = f"`{f.name}` is defined at line {', '.join(others)} too"
            f.error = _kind(names, f.node, said, "give each function a name of its own")


def _spellings(names: ModuleNames) -> list[str]:
    """The names through which the module's text can reach the decorator."""
    found = []
    for name, items in names.imports.items():
        if any(t == i.target or t.startswith(i.target + ".") for i in items for t in DECORATORS):
            found.append(name)
    return found


def _mentioning(chunks: Chunks, spellings: list[str]) -> list[Chunk]:
    """The chunks in which a decorator, or a call on a lambda, may use one of the spellings."""
    if not spellings:
        return []
    either = "|".join(map(re.escape, spellings))
    pattern = rf"@[ \t]*(?:{either})\b"
    if "lambda" in chunks.text:
        pattern += rf"|\b(?:{either})\b[^\n]*\blambda\b"
    seen: dict[int, Chunk] = {}
    for m in re.finditer(pattern, chunks.text):
        chunk = chunks.at(m.start())
        if chunk is not None:
            seen.setdefault(chunk.index, chunk)
    return list(seen.values())


def _read_chunk(chunk: Chunk, chunks: Chunks, names: ModuleNames) -> Iterator[Decorated]:
    body = chunks.parse(chunk)
    if body is None:
        broken = _broken(chunk, chunks, names)
        if broken is not None:
            yield broken
        return
    text = chunks.source(chunk)
    try:
        for node in body:
            if isinstance(node, ast.FunctionDef) and _decorator(node, names) is not None:
                yield _plain(node, names, text)
            # The usual chunk is one plain function: then there is nothing to look for inside it.
            if not isinstance(node, ast.FunctionDef) or "lambda" in text or text.count("def ") > 1:
                yield from _refused(node, names)
    except RecursionError:
        return  # nested too deeply to be a function that anyone optimizes


def _decorator(node: _FunctionNode, names: ModuleNames) -> ast.expr | None:
    return next((d for d in node.decorator_list if is_decorator(d, names)), None)


def _plain(node: ast.FunctionDef, names: ModuleNames, text: str) -> Decorated:
    found = _outline(node, names)
    found.docstring, found.params = ast.get_docstring(node), tuple(_params(node, names))
    decorator = _decorator(node, names)
    try:
        _check_kind(node, names, text)
        if isinstance(decorator, ast.Call):
            found.options = read_options(decorator, names)
    except MirageError as error:
        found.error = error
    return found


def _outline(node: _FunctionNode | ast.ClassDef, names: ModuleNames) -> Decorated:
    top = min([d.lineno for d in node.decorator_list], default=node.lineno)
    col = names.chunks.column(node.lineno, node.col_offset)
    plain = node if isinstance(node, ast.FunctionDef) else None
    return Decorated(node.name, node.lineno, node.end_lineno or node.lineno, col, top, node=plain, names=names)


def _params(node: ast.FunctionDef, names: ModuleNames) -> Iterator[Param]:
    args = node.args
    positional = [*args.posonlyargs, *args.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(args.defaults))
    for a, default in zip([*positional, *args.kwonlyargs], [*defaults, *args.defaults, *args.kw_defaults]):
        yield Param(a.arg, a.annotation, default, a.lineno, names.chunks.column(a.lineno, a.col_offset))


def _check_kind(node: ast.FunctionDef, names: ModuleNames, text: str) -> None:
    star = node.args.vararg or node.args.kwarg
    if star is not None:
        raise _kind(
            names,
            star,
            f"`{node.name}` takes *{star.arg}, whose tensors have no shapes",
            next_step="name every parameter",
        )
    if not _FORBIDDEN.search(text):
        return
    for n in _own_nodes(node):
        if isinstance(n, (ast.Yield, ast.YieldFrom)):
            raise _kind(names, n, f"`{node.name}` is a generator", next_step="return one tensor, or a tuple of tensors")
        if isinstance(n, (ast.Global, ast.Nonlocal)):
            raise _kind(names, n, f"`{node.name}` changes a variable outside itself", next_step="return it instead")


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function's body, those of functions inside it left out."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            yield from _own_nodes(child)


def _kind(names: ModuleNames, node: ast.AST, message: str, next_step: str | None = None) -> UnsupportedFunctionKind:
    return UnsupportedFunctionKind(message, next_step=next_step, **names.chunks.place(node))


_AT_RUN_TIME = (
    "run the program while the daemon runs: kernels are searched for at its calls (docs/pytorch.md); "
    "or move the computation into a plain function at the top level of the module"
)
_WHERE = {ast.ClassDef: "a method", ast.FunctionDef: "a nested function", ast.AsyncFunctionDef: "a nested function"}


def _refused(node: ast.stmt, names: ModuleNames, where: str = "") -> Iterator[Decorated]:
    """What is decorated but is not a plain function at the top level of the module; `where` says what it stands in."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and _decorator(node, names) is not None:
        why = where or ("an async function" if isinstance(node, ast.AsyncFunctionDef) else "")
        if why:
            found = _outline(node, names)
            step = _AT_RUN_TIME if why == _WHERE[ast.ClassDef] else None
            found.error = _kind(names, node, f"`{node.name}` is {why}", next_step=step)
            yield found
    if isinstance(node, ast.ClassDef) and any(is_decorator(d, names) for d in node.decorator_list):
        found = _outline(node, names)
        found.error = _kind(names, node, f"`{node.name}` is a class", next_step=_AT_RUN_TIME)
        yield found
    inside = _WHERE.get(type(node)) or where or "in a block"
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield from _refused(child, names, inside)
        elif isinstance(child, (ast.ExceptHandler, ast.match_case)):
            for inner in child.body:
                yield from _refused(inner, names, inside)
        else:
            yield from _lambdas(node, child, names)


def _lambdas(statement: ast.stmt, node: ast.AST, names: ModuleNames) -> Iterator[Decorated]:
    """Calls of the decorator on a lambda, within one expression of a statement."""
    for call in ast.walk(node):
        if not isinstance(call, ast.Call) or not is_decorator(call, names):
            continue
        if any(isinstance(a, ast.Lambda) for a in call.args):
            target = statement.targets[0] if isinstance(statement, ast.Assign) else None
            name = target.id if isinstance(target, ast.Name) else "<lambda>"
            found = Decorated(name, call.lineno, call.end_lineno or call.lineno, 0, call.lineno, names=names)
            found.col = names.chunks.column(call.lineno, call.col_offset)
            found.error = _kind(names, call, f"`{name}` is a lambda", next_step="write it with `def`")
            yield found


def _broken(chunk: Chunk, chunks: Chunks, names: ModuleNames) -> Decorated | None:
    """A decorated function whose text does not parse: what its longest readable beginning says, and the error."""
    lines = chunks.source(chunk).split("\n")
    pad = "\n" * (chunk.line - 1)
    why = try_parse(pad + "\n".join(lines))
    if isinstance(why, ast.Module):
        return None
    error: SourceSyntaxError = as_error(why, chunks.path)
    for stop in range(min(len(lines), 200), 0, -1):
        for tail in ("", " pass", "\n    pass"):
            tree = try_parse(pad + "\n".join(lines[:stop]) + tail)
            if isinstance(tree, ast.Module) and tree.body and isinstance(tree.body[0], ast.FunctionDef):
                node = tree.body[0]
                if _decorator(node, names) is None:
                    return None
                found = _outline(node, names)
                found.end_line = chunk.line + chunks.source(chunk).rstrip().count("\n")
                found.node, found.error = None, error
                return found
    return None
