"""An emitted module as a syntax tree: its functions by what they are for, and the names that each of them binds."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from mirage.source.attribute_chain import attribute_chain

ORIGINAL = "_original_"
KERNEL = "triton.jit"
Function = ast.FunctionDef


@dataclass(frozen=True)
class Fault:
    """What stands in a line of a module that must not stand there."""

    line: int
    what: str


def imported(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """(line, path) of everything that is imported among the nodes, with the dots of a relative import."""
    for n in nodes:
        if isinstance(n, ast.Import):
            yield from ((n.lineno, a.name) for a in n.names)
        elif isinstance(n, ast.ImportFrom):
            yield from ((n.lineno, f"{'.' * n.level}{n.module or ''}.{a.name}") for a in n.names)


@dataclass(frozen=True)
class ModuleSyntax:
    """The syntax tree of a module, of which nothing has been run."""

    text: str
    tree: ast.Module

    @cached_property
    def functions(self) -> Mapping[str, Function]:
        """Those of the top level, by name."""
        return {n.name: n for n in self.tree.body if isinstance(n, Function)}

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """All of the tree. Each rule looks through them: walking takes most of a check's time."""
        return tuple(ast.walk(self.tree))

    @cached_property
    def within(self) -> Mapping[str, tuple[ast.AST, ...]]:
        """All of each function, by its name."""
        return {name: tuple(ast.walk(f)) for name, f in self.functions.items()}

    @cached_property
    def evaluated(self) -> Mapping[str, tuple[ast.AST, ...]]:
        """What of each function something evaluates."""
        return {name: tuple(evaluated(f)) for name, f in self.functions.items()}

    @cached_property
    def local_names(self) -> Mapping[str, Mapping[str, int]]:
        """What each function binds, with the first line that does."""
        return {name: local_names(f, self.within[name]) for name, f in self.functions.items()}

    @cached_property
    def public(self) -> str:
        """The function that a caller calls: the one with an original beside it; "" where there is not just one."""
        found = [name for name in self.functions if ORIGINAL + name in self.functions]
        return found[0] if len(found) == 1 else ""

    @cached_property
    def users(self) -> frozenset[str]:
        """The user's own functions: the original and what it calls, unless the launcher needs them too."""
        if not self.public:
            return frozenset()
        original = ORIGINAL + self.public
        own = self._reached(original, frozenset())
        return own - self._reached(self.public, frozenset({original}))

    def _reached(self, start: str, without: frozenset[str]) -> frozenset[str]:
        found: set[str] = set()
        todo = [start]
        while todo:
            name = todo.pop()
            if name in found or name in without or name not in self.functions:
                continue
            found.add(name)
            todo += [n.id for n in self.within[name] if isinstance(n, ast.Name)]
        return frozenset(found)

    @cached_property
    def kernels(self) -> frozenset[str]:
        return frozenset(
            name for name, f in self.functions.items() if list(map(ast.unparse, f.decorator_list)) == [KERNEL]
        )

    @cached_property
    def ours(self) -> Mapping[str, Function]:
        """Kernels, launcher, guards and the public function: all but the user's own."""
        return {name: f for name, f in self.functions.items() if name not in self.users}

    @cached_property
    def imported(self) -> Mapping[str, str]:
        """What each imported name stands for: "tl" for "triton.language"."""
        found: dict[str, str] = {}
        for n in self.tree.body:
            if isinstance(n, ast.Import):
                found |= {
                    a.asname or a.name.partition(".")[0]: a.name if a.asname else a.name.partition(".")[0]
                    for a in n.names
                }
            elif isinstance(n, ast.ImportFrom):
                found |= {a.asname or a.name: f"{n.module}.{a.name}" for a in n.names}
        return found

    @cached_property
    def bound(self) -> tuple[tuple[str, int], ...]:
        """Every name that the top level binds with its line, as often as it does."""
        return tuple(x for n in self.tree.body for x in bindings(n))

    def path(self, node: ast.expr) -> str:
        """The dotted path of an expression such as `tl.load`, with what was imported written out; "" for any other."""
        first, *parts = attribute_chain(node) or ("",)
        return ".".join([self.imported.get(first, first), *parts])


def bindings(node: ast.stmt) -> Iterator[tuple[str, int]]:
    """The names that a top-level statement binds."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        for a in node.names:
            if getattr(node, "module", "") != "__future__":
                yield a.asname or a.name.partition(".")[0], node.lineno
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name, node.lineno
    else:
        for n in ast.walk(node):
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store):
                yield n.id, n.lineno


def body_of(function: Function) -> list[ast.stmt]:
    """A function's statements without its docstring."""
    return function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body


def parameters(function: Function) -> list[ast.arg]:
    a = function.args
    more = [x for x in (a.vararg, a.kwarg) if x is not None]
    return [*a.posonlyargs, *a.args, *a.kwonlyargs, *more]


_NAMED = (ast.FunctionDef, ast.ClassDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)


def local_names(function: Function, nodes: Iterable[ast.AST]) -> dict[str, int]:
    """What a function and those inside it bind, with the first line that does. `nodes` are all of it."""
    found: dict[str, int] = {}
    for n in nodes:
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store):
            found.setdefault(n.id, n.lineno)
        elif isinstance(n, ast.arg):
            found.setdefault(n.arg, n.lineno)
        elif isinstance(n, ast.alias):
            found.setdefault(n.asname or n.name.partition(".")[0], n.lineno)
        elif isinstance(n, _NAMED) and n is not function and n.name:
            found.setdefault(n.name, n.lineno)
    return found


def evaluated(function: Function) -> Iterator[ast.AST]:
    """The nodes of a function that something evaluates: annotations of the user's are text (`from __future__`)."""
    todo: list[ast.AST] = [
        *function.body,
        *function.args.defaults,
        *(d for d in function.args.kw_defaults if d is not None),
    ]
    while todo:
        node = todo.pop()
        yield node
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns"):
                continue
            todo += [x for x in (value if isinstance(value, list) else [value]) if isinstance(x, ast.AST)]
