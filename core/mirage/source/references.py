"""References of a function to names outside it, and which of them a slice may hold."""

from __future__ import annotations

import ast
import builtins
import symtable
import warnings

from mirage.errors import MirageError, SideEffect, UnsafeReference
from mirage.source.module_names import Import, ModuleNames, is_decorator, value_for

# Modules whose import runs nothing of the user's, and which a tensor function needs.
ALLOWED_MODULES = (
    "torch",
    "math",
    "jaxtyping",
    "typing",
    "typing_extensions",
    "collections.abc",
    "__future__",
    "mirage",
)

# Parts of allowed modules that load code, reach files, other processes or the network.
DENIED = (
    "torch.load", "torch.save", "torch.hub", "torch.jit", "torch.package", "torch.serialization", "torch.distributed",
    "torch.multiprocessing", "torch.utils", "torch.classes", "torch.ops.load_library", "torch.ops.loaded_libraries",
    "torch.library", "torch.export", "torch.onnx", "torch.from_file", "torch._C", "torch.storage",
    "torch.ops.aten.from_file", "torch.ops.aten.save", "torch.ops.aten._print",
)  # fmt: skip

# Decorators that change nothing in what a function computes, and that tracing does not want.
DROPPED = ("torch.compile", "torch.no_grad", "torch.inference_mode")

EFFECTS = {"print", "open", "input", "breakpoint", "help", "exit", "quit"}
REACHES = {
    "exec",
    "eval",
    "compile",
    "__import__",
    "globals",
    "locals",
    "vars",
    "setattr",
    "delattr",
    "getattr",
    "super",
}
MAX_CLOSURE = 1000  # functions and constants that one function may refer to, transitively
CONSTANT_CALLS = {"float", "int", "bool", "min", "max", "abs", "round", "len", "range", "tuple", "list", "sum"}
CONSTANT_NODES = (
    ast.Constant, ast.Tuple, ast.List, ast.Dict, ast.BinOp, ast.UnaryOp, ast.Compare, ast.IfExp, ast.Name,
    ast.Attribute, ast.Call, ast.operator, ast.unaryop, ast.cmpop, ast.expr_context, ast.keyword, ast.Subscript,
    ast.JoinedStr, ast.FormattedValue,
)  # fmt: skip


class References:
    """What a function refers to, transitively: `imports`, `constants` and `helpers`, each by the name it is bound to
    at module level. `taken_apart` are the constants of statements that bind several names: each is an assignment of its own
    here. `follow` raises UnsafeReference or SideEffect with the place of the reference."""

    def __init__(self, names: ModuleNames) -> None:
        self.names = names
        self.imports: dict[str, Import] = {}
        self.constants: dict[str, ast.Assign | ast.AnnAssign] = {}
        self.taken_apart: set[str] = set()
        self.helpers: dict[str, ast.FunctionDef] = {}

    def is_dropped(self, decorator: ast.expr) -> bool:
        """Whether a decorator is left out of a slice."""
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        return is_decorator(decorator, self.names) or self.names.dotted(target) in DROPPED

    def follow(self, function: ast.FunctionDef) -> None:
        """Add all that a function refers to, itself left out."""
        for decorator in function.decorator_list:
            if not self.is_dropped(decorator):
                raise self._unsafe(decorator, f"`{function.name}` has the decorator `{ast.unparse(decorator)}`")
        for name in self._loads(function):
            self._resolve(name, function)

    def _loads(self, function: ast.FunctionDef) -> tuple[ast.Name, ...]:
        """Where a function first loads each name of the module, after all its nodes were checked. Read once for all
        functions that refer to it."""
        known = self.names.closures.loads.get(function)
        if known is None:
            nodes, first = _walk(function), dict[str, ast.Name]()
            for node in nodes:
                self._check(node)
            used = _globals_of(function)
            for node in nodes:
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in used:
                    first.setdefault(node.id, node)
            known = self.names.closures.loads[function] = tuple(first.values())
        return known

    # ---- single nodes
    def _check(self, node: ast.AST) -> None:
        if isinstance(node, ast.Attribute):
            if node.attr.startswith("__") and node.attr.endswith("__"):
                raise self._unsafe(node, f"`.{node.attr}` reaches into the interpreter")
            self._check_path(node, self.names.dotted(node))
        elif isinstance(node, ast.Import):
            for a in node.names:
                self._check_path(node, a.name)
                self._check_module(node, a.name)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            self._check_module(node, module)
            for a in node.names:
                self._check_path(node, f"{module}.{a.name}")

    def _check_path(self, node: ast.AST, path: str) -> None:
        if any(path == d or path.startswith(d + ".") for d in DENIED):
            raise self._unsafe(node, f"`{path}` loads code or reaches outside the function")

    def _check_module(self, node: ast.AST, module: str) -> None:
        if not any(module == m or module.startswith(m + ".") for m in ALLOWED_MODULES):
            raise self._unsafe(node, f"`{module}` is not among the modules that may be imported")

    def _resolve(self, node: ast.Name, function: ast.FunctionDef) -> None:
        name = node.id
        if name == function.name or name in self.imports or name in self.constants or name in self.helpers:
            return
        if len(self.constants) + len(self.helpers) >= MAX_CLOSURE:
            raise self._unsafe(
                node, f"it refers to more than {MAX_CLOSURE} functions and constants", "leave out what it does not need"
            )
        imports, bindings = self.names.imports.get(name, []), self.names.bindings(name)
        if imports and not bindings:
            self._take_imports(node, imports)
        elif len(bindings) == 1 and not imports and not bindings[0].block:
            self._take_binding(node, bindings[0].node)
        elif imports or bindings:
            raise self._unsafe(
                node, f"`{name}` is bound more than once, or in a block", "bind it once, at the top level"
            )
        elif hasattr(builtins, name):
            self._check_builtin(node)
        else:
            raise self._unsafe(node, f"`{name}` is not bound in this file")

    def _take_imports(self, node: ast.Name, imports: list[Import]) -> None:
        targets = {i.target for i in imports}
        if len(targets) > 1:
            raise self._unsafe(node, f"`{node.id}` is imported from {' and '.join(sorted(targets))}")
        for item in imports:
            self._check_module(node, item.module)
            self._check_path(node, item.target)
            self.imports.setdefault(item.name if item is imports[0] else f"{item.name} ({item.statement})", item)

    def _take_binding(self, node: ast.Name, bound: ast.stmt) -> None:
        if isinstance(bound, ast.FunctionDef):
            self.helpers[node.id] = bound
            self.follow(bound)
            return
        value = value_for(bound, node.id) if isinstance(bound, ast.Assign) else getattr(bound, "value", None)
        if not isinstance(bound, (ast.Assign, ast.AnnAssign)) or value is None:
            what = "a class" if isinstance(bound, ast.ClassDef) else "not a plain constant or function"
            raise self._unsafe(node, f"`{node.id}` is {what}")
        if isinstance(bound, ast.Assign) and not (len(bound.targets) == 1 and value is bound.value):
            own = ast.Assign(targets=[ast.Name(node.id, ast.Store())], value=value)
            bound = ast.fix_missing_locations(ast.copy_location(own, bound))
            self.taken_apart.add(node.id)
        assert bound.value is not None
        for part in ast.walk(bound.value):
            self._check_constant(node, part)
        self.constants[node.id] = bound
        for part in ast.walk(bound.value):
            if isinstance(part, ast.Name):
                self._resolve(part, _NOWHERE)

    def _check_constant(self, node: ast.Name, part: ast.AST) -> None:
        if not isinstance(part, CONSTANT_NODES):
            raise self._unsafe(node, f"`{node.id}` is not a constant made of numbers")
        if isinstance(part, ast.Call):
            path = self.names.dotted(part.func)
            if path not in CONSTANT_CALLS and not path.startswith("math."):
                raise self._unsafe(node, f"`{node.id}` is computed by `{ast.unparse(part.func)}(...)`")
        self._check(part)

    def _check_builtin(self, node: ast.Name) -> None:
        if node.id in EFFECTS:
            raise SideEffect(f"`{node.id}` reaches outside the function", **self.names.chunks.place(node))
        if node.id in REACHES:
            raise self._unsafe(node, f"`{node.id}` reaches into the interpreter")

    def _unsafe(self, node: ast.AST, message: str, next_step: str | None = None) -> MirageError:
        return UnsafeReference(message, next_step=next_step, **self.names.chunks.place(node))


_NOWHERE = ast.FunctionDef(name="", args=ast.arguments([], [], None, [], [], None, []), body=[], decorator_list=[])


def _walk(function: ast.FunctionDef) -> list[ast.AST]:
    """The nodes of a function, annotations and decorators left out."""
    found: list[ast.AST] = []
    todo: list[ast.AST] = [function.args, *function.body]
    while todo:
        node = todo.pop()
        found.append(node)
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "type_params"):
                continue
            todo += [v for v in (value if isinstance(value, list) else [value]) if isinstance(v, ast.AST)]
    return sorted(found, key=lambda n: (getattr(n, "lineno", 0), getattr(n, "col_offset", 0)))


def _globals_of(function: ast.FunctionDef) -> set[str]:
    """The names that a function, and the functions inside it, look up at module level; defaults included."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        top = symtable.symtable(ast.unparse(_bare(function)), "<slice>", "exec")
    found = {s.get_name() for s in top.get_symbols() if s.is_referenced()}
    todo = list(top.get_children())
    while todo:
        table = todo.pop()
        found |= {s.get_name() for s in table.get_symbols() if s.is_global()}
        todo += table.get_children()
    return found


def _bare(function: ast.FunctionDef) -> ast.stmt:
    """The function without decorators, whose names are checked apart."""
    new = ast.FunctionDef(name=function.name, args=function.args, body=function.body, decorator_list=[])
    return ast.fix_missing_locations(ast.copy_location(new, function))
