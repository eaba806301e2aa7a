"""The text of a Triton module that carries no µGraph: what it may contain, its kernels, and the function that is called.

Anything else is refused with its line, because what it does could depend on more than the arguments of the call.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from mirage.codegen.launcher_text import FORWARD
from mirage.program.question_table import KINDS
from mirage.source.attribute_chain import attribute_chain
from mirage.source.references import CONSTANT_CALLS, DENIED
from mirage.verify.real_sizes.tile_values import Unknown
from mirage.verify.structure.module_rules import EFFECT_PATHS, OUTSIDE, PER_PROCESS, PERMITTED_PATHS, changes
from mirage.verify.structure.module_syntax import Function

AT_IMPORT = ("torch.device", "torch.finfo", "torch.cuda.is_available", "torch.cuda.get_device")
MODULES = ("torch", "triton", "math", "typing", "__future__", "collections.abc")
JIT, AUTOTUNE, HEURISTICS = "triton.jit", "triton.autotune", "triton.heuristics"
DECORATORS = (JIT, AUTOTUNE, HEURISTICS, "torch.no_grad", "torch.inference_mode")
OFFICIAL = (
    "torch.cuda.get_device_properties",
    "torch.cuda.device",
    "torch.cuda.get_device_capability",
    "torch.cuda.is_available",
)
ACTIVE_DEVICE = "triton.runtime.driver.active.get_active_torch_device"
REFUSED = {"open", "input", "exec", "eval", "compile", "__import__", "globals", "locals", "vars", "setattr", "delattr", "breakpoint",
           "getattr", "hasattr", *PER_PROCESS}  # fmt: skip
# What a call could be told apart by that its values, shapes, dtypes, strides and device do not say, and no run here varies.
GRADIENT = ("requires_grad", "is_grad_enabled")  # a run varies them
UNVARIED = {
    name for kind in ("gradient", "layout", "memory", "gradient mode", "autocast", "default dtype") for name in KINDS[kind]
} - {*GRADIENT} | {"is_pinned"}  # fmt: skip
# What a guard asks to turn a call down; no run varies them, and a note says so.
GUARDED = {ast.unparse(ast.parse(x)) for x in ("t.is_neg()", "torch.is_autocast_enabled()", f"{FORWARD} >= 0")}
CLASSES = ("torch.nn.Parameter", "torch.nn.parameter.Parameter")


@dataclass
class ModuleText:
    """A module as a syntax tree. `jitted` are the kernels and their helpers, `constants` numbers of the top level."""

    tree: ast.Module
    public: str
    imported: dict[str, str] = field(default_factory=dict)
    jitted: dict[str, Function] = field(default_factory=dict)
    constants: dict[str, object] = field(default_factory=dict)

    def path(self, e: ast.expr) -> str:
        """The dotted path of what an expression names: an import, a function of the module, a builtin; "" for the rest."""
        first, *parts = attribute_chain(e) or ("",)
        if first in self.imported:
            return ".".join((self.imported[first], *parts))
        return "" if parts else first

    @property
    def asks_gradient(self) -> bool:
        """Does the module ask whether gradients are wanted?"""
        return any(isinstance(n, ast.Attribute) and n.attr in GRADIENT for n in ast.walk(self.tree))

    @property
    def guarded(self) -> list[ast.expr]:
        """The questions of `GUARDED` of which a yes gives no kernel's result: `if ... or t.is_neg() or ...: return False`."""
        found: list[ast.expr] = []
        for n in ast.walk(self.tree):
            match n:
                case ast.If(test, [ast.Return(ast.Constant(False | None))]):
                    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or) else [test]
                    found += [p for p in parts if ast.unparse(p) in GUARDED]
        return found


def read(text: str, public: str) -> ModuleText:
    """The module, whose function `public` is called. Unknown with the line of what it may not contain."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as e:
        raise Unknown(f"the module does not parse: {e}", getattr(e, "lineno", 0) or 0) from None
    found = ModuleText(tree, public)
    tree.body = [s for s in tree.body if not _is_main(s)]
    for n in ast.walk(tree):
        _import(found, n)
    bound: dict[str, int] = {}
    for s in tree.body:
        for name in bound_names(s):
            if name in bound:
                raise Unknown(f"{name} is bound twice", s.lineno)
            bound[name] = s.lineno
    for s in tree.body:
        if isinstance(s, Function) and any(found.path(_called(d)) == JIT for d in s.decorator_list):
            found.jitted[s.name] = s
        elif isinstance(s, ast.Assign | ast.AnnAssign) and s.value is not None:
            _constant(found, s)
    functions = {s.name for s in tree.body if isinstance(s, Function)} - set(found.jitted)
    if public not in functions:
        have = ", ".join(sorted(functions)) or "none"
        raise Unknown(
            f"the module has no function {public}, the name of the function that it is judged by (it has: {have})"
        )
    for line, what in _faults(found, set(bound)):
        raise Unknown(what, line)
    return found


def _is_main(s: ast.stmt) -> bool:
    """`if __name__ == "__main__":`, which does not run on import."""
    return (
        isinstance(s, ast.If)
        and not s.orelse
        and ast.unparse(s.test) in ("__name__ == '__main__'", "'__main__' == __name__")
    )


def _import(m: ModuleText, n: ast.AST) -> None:
    if isinstance(n, ast.Import):
        pairs = [
            (a.asname or a.name.partition(".")[0], a.name if a.asname else a.name.partition(".")[0]) for a in n.names
        ]
        names = [a.name for a in n.names]
    elif isinstance(n, ast.ImportFrom) and n.level == 0:
        pairs = [(a.asname or a.name, f"{n.module}.{a.name}") for a in n.names]
        names = [str(n.module)]
    elif isinstance(n, ast.ImportFrom):
        raise Unknown("a relative import", n.lineno)
    else:
        return
    for name in names:
        if not any(name == x or name.startswith(x + ".") for x in MODULES):
            raise Unknown(f"imports {name}; a module may import {', '.join(MODULES)}", n.lineno)
    if any(p.endswith(".*") for _, p in pairs):
        raise Unknown("an import of `*`", n.lineno)
    m.imported.update(pairs)


def bound_names(s: ast.stmt) -> list[str]:
    """What a statement of the top level binds."""
    if isinstance(s, Function):
        return [s.name]
    if isinstance(s, ast.Assign):
        return [n.id for t in s.targets for n in ast.walk(t) if isinstance(n, ast.Name)]
    if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name):
        return [s.target.id]
    return []


def _called(d: ast.expr) -> ast.expr:
    return d.func if isinstance(d, ast.Call) else d


def _constant(m: ModuleText, s: ast.Assign | ast.AnnAssign) -> None:
    """A number of the top level, plain or as `tl.constexpr(...)`."""
    value = s.value
    if isinstance(value, ast.Call) and m.path(value.func) == "triton.language.constexpr" and len(value.args) == 1:
        value = value.args[0]
    names = bound_names(s)
    try:
        made = ast.literal_eval(value) if value is not None else None
    except ValueError:
        return  # the function may use it; a kernel cannot
    if len(names) == 1 and isinstance(made, (bool, int, float, str)):
        m.constants[names[0]] = made


def _faults(m: ModuleText, bound: set[str]) -> Iterator[tuple[int, str]]:
    for s in m.tree.body:
        docstring = isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant)
        if not (isinstance(s, ast.Assign | ast.AnnAssign | ast.Import | ast.ImportFrom | Function) or docstring):
            yield (
                s.lineno,
                f"`{ast.unparse(s).splitlines()[0][:60]}` at the top level is no import, constant or function",
            )
        if isinstance(s, Function):
            yield from _in_function(m, s)
            yield from _kept(m, s, bound)
        elif isinstance(s, ast.Assign | ast.AnnAssign):
            for target in s.targets if isinstance(s, ast.Assign) else [s.target]:
                if any(isinstance(n, ast.Attribute | ast.Subscript) for n in ast.walk(target)):
                    yield s.lineno, f"`{ast.unparse(target)[:60]}` is set when the module is imported"
            yield from _computed(m, s)
    spelled = {id(n.func) for n in ast.walk(m.tree) if isinstance(n, ast.Call) and _named_attribute(n) is not None}
    spelled |= {id(n) for e in m.guarded for n in ast.walk(e)}
    for n in ast.walk(m.tree):
        if id(n) in spelled:
            continue
        read = _named_attribute(n) if isinstance(n, ast.Call) else None
        yield from _reaching(m, n if read is None else read)


def _in_function(m: ModuleText, f: Function) -> Iterator[tuple[int, str]]:
    """Its decorators, and classes of tensors that it asks for."""
    for d in f.decorator_list:
        if m.path(_called(d)) not in DECORATORS:
            yield d.lineno, f"the decorator `{ast.unparse(d)[:60]}`"
    for n in ast.walk(f):
        if isinstance(n, ast.Attribute) and m.path(n) in CLASSES:
            yield n.lineno, f"asks for the class {m.path(n)}"


def _named_attribute(call: ast.Call) -> ast.Attribute | None:
    """The attribute that `getattr` with a constant name reads; None for any other call."""
    match call:
        case ast.Call(func=ast.Name(id="getattr"), args=[value, ast.Constant(value=str(name)), *_], keywords=[]):
            return ast.copy_location(ast.Attribute(value, name, ast.Load()), call)
    return None


def _computed(m: ModuleText, s: ast.Assign | ast.AnnAssign) -> Iterator[tuple[int, str]]:
    """A tensor of the top level outlives every call."""
    for n in ast.walk(s):
        if isinstance(n, ast.Call):
            path = m.path(n.func) or ast.unparse(n.func)
            if path == "isinstance" and _of_kernel(m, n):
                continue
            if not path.startswith(("triton.", "math.", "typing.", *AT_IMPORT)) and path not in CONSTANT_CALLS:
                yield n.lineno, f"`{path[:40]}` is called when the module is imported"


def _of_kernel(m: ModuleText, call: ast.Call) -> bool:
    """Does a call ask what a kernel is: compiled, or interpreted?"""
    match call.args:
        case [ast.Name(id=name), ast.Attribute() as kind]:
            return name in m.jitted and m.path(kind) == "triton.JITFunction"
    return False


def _kept(m: ModuleText, f: Function, bound: set[str]) -> Iterator[tuple[int, str]]:
    """State that stays between calls."""
    for d in (*f.args.defaults, *f.args.kw_defaults):
        if d is not None and any(isinstance(x, ast.List | ast.Dict | ast.Set | ast.Call) for x in ast.walk(d)):
            yield d.lineno, f"the default `{ast.unparse(d)[:40]}` is kept between calls"
    for n in ast.walk(f):
        if isinstance(n, ast.Global | ast.Nonlocal):
            yield n.lineno, f"binds {', '.join(n.names)} outside the function"
        elif isinstance(n, ast.Subscript | ast.Attribute) and not isinstance(n.ctx, ast.Load):
            if isinstance(n, ast.Attribute) or _root(n) in bound | set(m.imported):
                yield n.lineno, f"sets `{ast.unparse(n)[:60]}`, which stays after the call"
        elif isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and _root(n.func) in bound and changes(n):
            yield n.lineno, f"changes `{_root(n.func)}`, which stays after the call"


def depends_on_data(f: Function) -> set[str]:
    """Names of a kernel whose values come from memory, whatever its control flow; of a helper its parameters too."""
    found: set[str] = set()
    while True:
        before = len(found)
        for n in ast.walk(f):
            if (
                isinstance(n, ast.Assign | ast.AugAssign | ast.AnnAssign)
                and n.value is not None
                and reads_data(n.value, found)
            ):
                targets = n.targets if isinstance(n, ast.Assign) else [n.target]
                found |= {x.id for t in targets for x in ast.walk(t) if isinstance(x, ast.Name)}
        if len(found) == before:
            return found


def reads_data(e: ast.expr, names: set[str]) -> bool:
    """Does an expression read memory, or a name that depends on it? What only a shape or a dtype is taken of does not."""
    todo: list[ast.AST] = [e]
    while todo:
        n = todo.pop()
        if isinstance(n, ast.Attribute) and n.attr in ("shape", "dtype", "type"):
            continue
        if isinstance(n, ast.Name) and n.id in names:
            return True
        if isinstance(n, ast.Call) and ast.unparse(n.func).split(".")[-1].startswith(("load", "atomic")):
            return True
        todo += ast.iter_child_nodes(n)
    return False


def _root(e: ast.expr) -> str:
    while isinstance(e, ast.Subscript | ast.Attribute):
        e = e.value
    return e.id if isinstance(e, ast.Name) else ""


def _reaching(m: ModuleText, n: ast.AST) -> Iterator[tuple[int, str]]:
    """What depends on more than the arguments."""
    if isinstance(n, ast.Name) and (n.id in REFUSED or n.id.startswith("__")):
        yield n.lineno, f"uses {n.id}"
    elif isinstance(n, ast.Attribute):
        path = m.path(n)
        fine = path.startswith((*PERMITTED_PATHS, *OFFICIAL)) or path in ("torch.cuda", "triton.language.extra")
        fine |= path.startswith(("triton.language.extra.libdevice", "triton.language.extra.cuda"))
        fine |= bool(path) and f"{ACTIVE_DEVICE}.".startswith(f"{path}.")
        denied = any(path == x or path.startswith(x + ".") for x in DENIED)
        if (
            denied
            or n.attr.startswith("_")
            or n.attr in UNVARIED
            or ((n.attr in OUTSIDE or path.startswith(EFFECT_PATHS)) and not fine)
        ):
            yield n.lineno, f"reads {path or ast.unparse(n)}"
    elif isinstance(
        n, ast.ClassDef | ast.AsyncFunctionDef | ast.Try | ast.Yield | ast.YieldFrom | ast.Await | ast.Delete
    ):
        yield n.lineno, f"a {type(n).__name__}"
