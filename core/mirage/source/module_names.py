"""Names of a module and what they are bound to: imports, constants, functions. Read from the text, never run."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from mirage.source.attribute_chain import attribute_chain
from mirage.source.statements import MERGE, Chunk, Chunks

_DEF = re.compile(r"^(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)", re.MULTILINE)
_ASSIGNS = re.compile(r"\w+[ \t]*(?:[,=:.\[(+*/|&^@%<>-]|$)")
_MAIN = re.compile(r"if\s+__name__\s*==")
_WORDS = re.compile(r"\w+")
# Statements whose insides may bind names at module level.
_BLOCKS = ("if", "try", "with", "for", "while", "match", "del")

DECORATORS = ("mirage.optimize", "mirage.runtime.optimize", "mirage.runtime.decorator.optimize")  # its spellings


@dataclass(frozen=True)
class Import:
    """`name` is bound to `target` (dotted). `module` is what must be imported for that, `line` where it is written."""

    name: str
    target: str
    module: str
    line: int
    statement: str


@dataclass(frozen=True)
class Binding:
    """A module-level name and the statement that binds it; `block` when that stands inside an if, try, with or loop."""

    name: str
    node: ast.stmt
    block: bool


@dataclass
class ClosureMemory:
    """What was read of each function once, for all those that refer to it: by its node the names that it loads from the
    module, and the text that its digest is made of."""

    loads: dict[ast.FunctionDef, tuple[ast.Name, ...]] = field(default_factory=dict)
    written: dict[ast.FunctionDef, str] = field(default_factory=dict)


class ModuleNames:
    """The module-level names of a text, looked up one at a time."""

    def __init__(self, chunks: Chunks) -> None:
        self.chunks = chunks
        self.closures = ClosureMemory()
        self._words: dict[int, tuple[frozenset[str], bool]] = {}

    @cached_property
    def imports(self) -> dict[str, list[Import]]:
        """Imports at module level, also those under `if TYPE_CHECKING:` and `try:`, by the name that they bind."""
        found: dict[str, list[Import]] = {}
        for chunk in self._importing:
            for node in _statements(self.chunks.parse(chunk) or []):
                for item in _imports_of(node):
                    found.setdefault(item.name, []).append(item)
        return found

    @cached_property
    def _candidates(self) -> dict[str, list[Chunk]]:
        """Chunks that may bind a name, by name. Every word of a block or of an unusual statement counts."""
        found: dict[str, list[Chunk]] = {}
        for chunk in self.chunks.all:
            if chunk.head in ("import", "from"):
                continue
            text = self.chunks.source(chunk)
            if chunk.head in ("def", "class", "@", "async"):
                m = _DEF.search(text)
                words: Iterable[str] = [m.group(1)] if m else []
            elif chunk.head in _BLOCKS:
                words = [] if _MAIN.match(text) else set(_WORDS.findall(text))
            else:
                words = set(_WORDS.findall(text.rpartition("=")[0])) if _ASSIGNS.match(text) else []
            for word in words:
                found.setdefault(word, []).append(chunk)
        return found

    def reached(self, chunk: Chunk) -> list[Chunk]:
        """The chunks that a chunk may refer to, transitively, with itself and everything that may import, in order.
        Every word counts as a name, and a name that the text gives no meaning as one that a later text may give."""
        found = {chunk.index: chunk, **{c.index: c for c in self._importing}}
        waiting = [chunk]
        while waiting:
            for word in self._read(waiting.pop())[0]:
                for other in self._candidates.get(word, ()):
                    if other.index not in found:
                        found[other.index] = other
                        waiting.append(other)
        for one in list(found.values()):  # a cut inside brackets: what follows belongs to it
            if self._read(one)[1]:
                found |= {c.index: c for c in self.chunks.all[one.index : one.index + MERGE]}
        return [found[index] for index in sorted(found)]

    def _read(self, chunk: Chunk) -> tuple[frozenset[str], bool]:
        """The words of a chunk, and whether it leaves a bracket open. Many functions reach the same chunks."""
        known = self._words.get(chunk.index)
        if known is None:
            text = self.chunks.source(chunk)
            unbalanced = any(text.count(a) != text.count(b) for a, b in ("()", "[]", "{}"))
            known = self._words[chunk.index] = (frozenset(_WORDS.findall(text)), unbalanced)
        return known

    @cached_property
    def _importing(self) -> list[Chunk]:
        return [
            c
            for c in self.chunks.all
            if c.head in ("import", "from") or (c.head in ("if", "try", "with") and "import" in self.chunks.source(c))
        ]

    def bindings(self, name: str) -> list[Binding]:
        """The statements that bind a name at module level, imports left out."""
        found = []
        for chunk in self._candidates.get(name, []):
            body = self.chunks.parse(chunk) or []
            for node in _statements(body):
                if name in _bound_by(node):
                    found.append(Binding(name, node, node not in body))
        return found

    def dotted(self, node: ast.expr) -> str:
        """The dotted path that a name or attribute chain stands for, imports followed; "" for anything else."""
        first, *parts = attribute_chain(node) or ("",)
        items = self.imports.get(first)
        return ".".join([items[-1].target if items else first, *parts])

    def assigned(self, name: str) -> ast.expr | None:
        """The expression of the one plain assignment that binds a name; None where there is not exactly one."""
        found = self.bindings(name)
        if len(found) != 1 or found[0].block:
            return None
        node = found[0].node
        return value_for(node, name) if isinstance(node, ast.Assign) else getattr(node, "value", None)


def value_for(node: ast.Assign, name: str) -> ast.expr | None:
    """The expression that an assignment binds a name to, as `x, y = 1, 2` and `x = y = 1` do too; None where it is an element of
    something that is not written out."""
    found = None
    for target in node.targets:
        if isinstance(target, ast.Name):
            found = node.value if target.id == name else found
            continue
        if not isinstance(target, ast.Tuple | ast.List) or not isinstance(node.value, ast.Tuple | ast.List):
            return None
        names, values = target.elts, node.value.elts
        if len(names) != len(values) or not all(isinstance(x, ast.Name) for x in names):
            return None
        if any(isinstance(x, ast.Starred) for x in values):
            return None
        for x, value in zip(names, values, strict=True):
            found = value if isinstance(x, ast.Name) and x.id == name else found
    return found


class NotConstant(Exception):
    """The expression has no value that can be read without running it; `node` is the part that has none."""

    def __init__(self, node: ast.expr) -> None:
        super().__init__(shown(node))
        self.node = node


def shown(node: ast.expr) -> str:
    """An expression as text, for a message: a long one is cut."""
    try:
        text = ast.unparse(node)
    except (ValueError, RecursionError):  # a number of more digits than Python writes
        return "..."
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "..."


_NUMERIC: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
    ast.Pow: lambda a, b: a**b,
}
_LARGEST_EXPONENT = 64
LARGEST = 1 << 128  # no number of a program is larger; beyond it arithmetic would cost more than its text
MAX_CHARS, MAX_STEPS, MAX_SHOWN = (
    100_000,
    10_000,
    200,
)  # of a text's value, of one evaluation, of an expression in a message


def evaluate(node: ast.expr, names: ModuleNames) -> object:
    """The value of a literal, of arithmetic of numbers, or of a module constant made of them. Raises NotConstant, also where the
    value is too large, or takes too many steps: constants that name constants may grow without bound."""
    return _evaluated(node, names, frozenset(), itertools.count())


def _evaluated(node: ast.expr, names: ModuleNames, seen: frozenset[str], steps: Iterator[int]) -> object:
    if next(steps) > MAX_STEPS:
        raise NotConstant(node)
    value = _value(node, names, seen, steps)
    if (isinstance(value, int) and abs(value) > LARGEST) or (isinstance(value, str | bytes) and len(value) > MAX_CHARS):
        raise NotConstant(node)
    return value


def _value(node: ast.expr, names: ModuleNames, seen: frozenset[str], steps: Iterator[int]) -> object:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, (ast.Tuple, ast.List)):
        return tuple(_evaluated(e, names, seen, steps) for e in node.elts)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        value = _evaluated(node.operand, names, seen, steps)
        if isinstance(value, (int, float)):
            return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp) and type(node.op) in _NUMERIC:
        left, right = _evaluated(node.left, names, seen, steps), _evaluated(node.right, names, seen, steps)
        if isinstance(left, (int, float)) and isinstance(right, (int, float)) and _is_small(node.op, right):
            try:
                return _NUMERIC[type(node.op)](left, right)
            except ArithmeticError:
                raise NotConstant(node) from None
    if isinstance(node, ast.Name) and node.id not in seen:
        value_node = names.assigned(node.id)
        if value_node is not None:
            return _evaluated(value_node, names, seen | {node.id}, steps)
    if isinstance(node, ast.JoinedStr):
        return "".join(_piece(v, names, seen, steps) for v in node.values)
    raise NotConstant(node)


def _is_small(op: ast.operator, right: float) -> bool:
    """Whether the result takes no more time and memory than the text that it is written with."""
    return not isinstance(op, ast.Pow) or abs(right) <= _LARGEST_EXPONENT


def _piece(node: ast.expr, names: ModuleNames, seen: frozenset[str], steps: Iterator[int]) -> str:
    plain = isinstance(node, ast.FormattedValue) and node.conversion == -1 and node.format_spec is None
    return str(_evaluated(node.value if plain and isinstance(node, ast.FormattedValue) else node, names, seen, steps))


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, and those inside its if, try, with and loop blocks."""
    for node in body:
        yield node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        for part in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(node, part, []))
        for handler in [*getattr(node, "handlers", []), *getattr(node, "cases", [])]:
            yield from _statements(handler.body)


def _imports_of(node: ast.stmt) -> Iterator[Import]:
    if isinstance(node, ast.Import):
        for a in node.names:
            target = a.name if a.asname else a.name.partition(".")[0]
            text = f"import {a.name} as {a.asname}" if a.asname else f"import {a.name}"
            yield Import(a.asname or target, target, a.name, node.lineno, text)
    elif isinstance(node, ast.ImportFrom):
        module = "." * node.level + (node.module or "")
        for a in node.names:
            text = f"from {module} import {a.name}" + (f" as {a.asname}" if a.asname else "")
            yield Import(a.asname or a.name, f"{module}.{a.name}", module, node.lineno, text)


def _bound_by(node: ast.stmt) -> set[str]:
    """The names that a statement itself binds or changes, those of the statements inside it left out."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {node.name}
    targets: list[ast.AST] = []
    for part in ("targets", "items"):
        targets += getattr(node, part, [])
    target = getattr(node, "target", None)
    if isinstance(target, ast.AST):
        targets.append(target)
    found: set[str] = set()
    for n in (n for t in targets for n in ast.walk(t)):
        changed = n
        while isinstance(changed, (ast.Attribute, ast.Subscript)) and not isinstance(n.ctx, ast.Load):  # type: ignore[attr-defined]
            changed = changed.value
        if isinstance(changed, ast.Name) and not (changed is n and isinstance(changed.ctx, ast.Load)):
            found.add(changed.id)
    return found


def is_decorator(node: ast.expr, names: ModuleNames) -> bool:
    """Whether an expression is `mirage.optimize` in one of its spellings, called or not."""
    return names.dotted(node.func if isinstance(node, ast.Call) else node) in DECORATORS
