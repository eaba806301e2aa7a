"""What an emitted module may contain, as a table of rules on its syntax tree: anything else is refused with its line.

A module that keeps to them is its kernels, one launcher, the guard, the public function and the user's own function: what it
gives depends on its arguments alone, not on a call before, the clock, the environment or the file that it stands in.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from mirage.codegen.identifiers import RESERVED
from mirage.codegen.launcher_text import (
    ASKED,
    BEGINS,
    COUNTERS,
    FORWARD,
    UNASKED,
    fits_lines,
    place_lines,
    refusal_lines,
    refusing,
)
from mirage.source.references import ALLOWED_MODULES, CONSTANT_CALLS, DENIED, EFFECTS, REACHES
from mirage.verify.structure.module_syntax import (
    KERNEL,
    ORIGINAL,
    Fault,
    Function,
    ModuleSyntax,
    body_of,
    imported,
    parameters,
)

Found = Iterator[Fault]
MODULES = (*ALLOWED_MODULES, "triton")
# What gives another value in another process or at another time, or changes what the rest of a program does.
OUTSIDE = {"os", "sys", "environ", "time", "random", "builtins", "importlib", "inspect", "ctypes", "subprocess", "socket",
           "pathlib", "io", "data_ptr", "extra", "globaltimer", "clock", "smid"}  # fmt: skip
PER_PROCESS = {"id", "hash", "object", "dir", "iter", "next", "memoryview", "staticmethod", "classmethod", "property"}
EFFECT_PATHS = (
    "torch.rand", "torch.normal", "torch.bernoulli", "torch.multinomial", "torch.poisson", "torch.seed", "torch.manual_seed",
    "torch.initial_seed", "torch.random", "torch.set_", "torch.get_", "torch.backends", "torch.version", "torch.cuda",
    "torch.compile", "torch.nn.init", "torch.ops.load", "triton.language.rand", "triton.language.inline_asm",
    "triton.runtime", "triton.compiler", "triton.knobs", "triton.backends",
)  # fmt: skip
SHIFTS = ("torch.ops.aten.__lshift__", "torch.ops.aten.__rshift__")  # operators that ATen names as Python does
PERMITTED_PATHS = (
    "torch.cuda.current_device", "torch.cuda.current_stream", "torch.cuda.is_current_stream_capturing",
)  # fmt: skip
CHANGING = {"append", "extend", "insert", "update", "pop", "popitem", "setdefault", "clear"}  # of lists and tables
GUARDS_GETATTR = (  # a first argument that is no tensor has no device; the level stands in no reference
    "getattr(tensors[0], 'device', None)", ast.unparse(ast.parse(FORWARD)),
)  # fmt: skip
BASIC = {*CONSTANT_CALLS, *RESERVED, "isinstance", "type", "getattr"} - {"torch", "triton", "tl"}
PLAIN_STATEMENTS = (
    ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.If, ast.For, ast.While, ast.Return, ast.Assert, ast.Pass, ast.Break,
    ast.Continue,
)  # fmt: skip
UNPLAIN = (
    ast.Lambda, ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp,
)  # fmt: skip
TABLES = re.compile(r"(SIZES|TILES)(_\d+)?")
LAUNCHER = re.compile(r"_run(_\d+)?")
_CODING = re.compile(r"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")  # PEP 263


@dataclass(frozen=True)
class Rule:
    """One rule: what a module keeps to, and where it does not."""

    name: str
    statement: str
    broken: Callable[[ModuleSyntax], Found]


def encoding(m: ModuleSyntax) -> Found:
    for i, line in enumerate(m.text.split("\n")[:2]):
        named = _CODING.match(line)
        if named and named[1].lower().replace("_", "-") != "utf-8":
            yield Fault(i + 1, f"declares the encoding {named[1]}")


def statements(m: ModuleSyntax) -> Found:
    for i, n in enumerate(m.tree.body):
        docstring = isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant) and isinstance(n.value.value, str)
        single = isinstance(n, ast.Assign) and len(n.targets) == 1 and isinstance(n.targets[0], ast.Name)
        annotated = isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name) and n.value is not None
        if not (single or annotated or isinstance(n, ast.Import | ast.ImportFrom | Function) or (docstring and i == 0)):
            yield Fault(n.lineno, f"`{shown(n)}` is no import, constant or function")


def imports(m: ModuleSyntax) -> Found:
    for line, path in imported(m.nodes):
        known = any(path == x or path.startswith(x + ".") for x in MODULES)
        if not known or any(path == x or path.startswith(x + ".") for x in DENIED) or path.endswith(".*"):
            yield Fault(line, f"imports {path}")
    for f in m.ours.values():
        for n in m.within[f.name]:
            if isinstance(n, ast.Import | ast.ImportFrom):
                yield Fault(n.lineno, f"imports within {f.name}")


def constants(m: ModuleSyntax) -> Found:
    for n in m.tree.body:
        if not isinstance(n, ast.Assign | ast.AnnAssign) or n.value is None:
            continue
        if ast.unparse(n) in ("_ZEROED = {}", *(f"_COMPILED = isinstance({k}, triton.JITFunction)" for k in m.kernels)):
            continue
        for x in ast.walk(n.value):
            path = m.path(x.func) if isinstance(x, ast.Call) else ""
            fine = not isinstance(x, ast.Call) or path in CONSTANT_CALLS or path.startswith("math.")
            if isinstance(x, (*UNPLAIN, ast.Starred)) or not fine:
                yield Fault(n.lineno, f"`{shown(n)}` is computed when the module is imported")
                break


def bound_once(m: ModuleSyntax) -> Found:
    seen: set[str] = set()
    for name, line in m.bound:
        if name in seen or (name in BASIC and name != m.public):
            yield Fault(line, f"binds {name} again")
        seen.add(name)
    for f in m.ours.values():
        fixed = {x for x in m.ours if x != m.public}
        if f.name != m.public:  # whose parameters are called as the user likes
            fixed |= RESERVED
        for name, line in m.local_names[f.name].items():
            if name in fixed:
                yield Fault(line, f"binds {name} again, in {f.name}")


def decorators(m: ModuleSyntax) -> Found:
    for n in m.nodes:
        if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for d in n.decorator_list:
                if m.path(d) != KERNEL or n.name not in m.kernels:
                    yield Fault(d.lineno, f"decorates {n.name} with {ast.unparse(d)}")


def defaults(m: ModuleSyntax) -> Found:
    for f in m.ours.values():
        for d in (*f.args.defaults, *f.args.kw_defaults):
            table = isinstance(d, ast.Name) and TABLES.fullmatch(d.id) and f.name.startswith("_run")
            if d is not None and not table and any(isinstance(x, _KEPT) for x in ast.walk(d)):
                yield Fault(d.lineno, f"{f.name} keeps `{ast.unparse(d)}` between calls")


_KEPT = (ast.List, ast.Dict, ast.Set, ast.Call, *UNPLAIN)


def state(m: ModuleSyntax) -> Found:
    counters = counter_text(m)
    for n in m.nodes:
        if isinstance(n, ast.Global | ast.Nonlocal):
            yield Fault(n.lineno, f"binds {', '.join(n.names)} outside the function")
        elif isinstance(n, ast.Attribute) and not isinstance(n.ctx, ast.Load):
            yield Fault(n.lineno, f"sets `{ast.unparse(n)}`")
    for f in m.functions.values():
        if f is counters:
            continue
        made = set(m.local_names[f.name]) - {a.arg for a in parameters(f)}
        for n in m.within[f.name]:
            if isinstance(n, ast.Subscript) and not isinstance(n.ctx, ast.Load):
                if f.name in m.users and root(n) in made:
                    continue
                yield Fault(n.lineno, f"sets `{ast.unparse(n)}`")
            elif (
                f.name in m.ours and isinstance(n, ast.Call) and changes(n) and root(n.func) not in {*made, *m.imported}
            ):
                yield Fault(n.lineno, f"changes `{root(n.func)}` by `{shown(n)}`")


def changes(call: ast.Call) -> bool:
    """Does a method change what it is called of? Those of tensors that do end in an underscore."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    return name in CHANGING or (name.endswith("_") and not name.startswith("_"))


def root(node: ast.expr) -> str:
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def counter_text(m: ModuleSyntax) -> Function | None:
    """The function that hands out counters, where it is word for word the one that is emitted: all state there is."""
    f = m.functions.get("_counters")
    own = ast.parse("\n".join(COUNTERS)).body[-1]
    return f if f is not None and ast.dump(f) == ast.dump(own) else None


def refusal_text(m: ModuleSyntax) -> Function | None:
    """The function with which launchers refuse, where it is word for word the one that is emitted."""
    f = m.functions.get("_refuse_others")
    several = any(name == "_BY_SIZE" for name, _ in m.bound)
    own = ast.parse("\n".join(refusal_lines(several))).body[0]
    return f if f is not None and ast.dump(f) == ast.dump(own) else None


def refuses(m: ModuleSyntax) -> Found:
    """A run at the sizes that a module was made for does not show what its launcher does with others."""
    for name, f in m.ours.items():
        if not LAUNCHER.fullmatch(name):
            continue
        tensors = [a.arg for a in f.args.args if a.arg not in ("sizes", "tiles")]
        first = next(iter(body_of(f)), None)
        want = "\n".join(refusing(name, tensors))
        if first is None or ast.unparse(first) != want:
            shown_want = want.replace("\n    ", " ")
            yield Fault(first.lineno if first else f.lineno, f"{name} does not begin with `{shown_want}`")
        elif not ast.unparse(f.args).endswith(f", {UNASKED}"):
            yield Fault(f.lineno, f"{name} has another parameter than `{UNASKED}` at its end")
        elif refusal_text(m) is None:
            yield Fault(f.lineno, f"{name} refuses otherwise than the emitter writes")


def guard_text(m: ModuleSyntax) -> Function | None:
    """The guard, where it is word for word, apart from what it says of itself, the one that is emitted."""
    f = m.functions.get("_fits")
    several = any(name == "_BY_SIZE" for name, _ in m.bound)
    described = any(isinstance(n, ast.Name) and n.id == "TensorDescriptor" for n in m.nodes)
    lines = fits_lines([], place_lines(bool(m.kernels)), "", table=several, aligned=described)
    own = ast.parse("\n".join(lines)).body[-1]
    assert isinstance(own, ast.FunctionDef)
    if f is None or ast.dump(f.args) != ast.dump(own.args) or f.decorator_list:
        return None
    return f if list(map(ast.dump, body_of(f))) == list(map(ast.dump, own.body[1:])) else None


def asked(m: ModuleSyntax) -> Found:
    """A launcher that is told so asks nothing itself."""
    own = _call_after_asking(m)
    public_calls = set(map(id, m.within[m.public])) if m.public else set()
    for n in m.nodes:
        if not isinstance(n, ast.Call) or not isinstance(n.func, ast.Name) or n is own:
            continue
        launcher = LAUNCHER.fullmatch(n.func.id) or (id(n) in public_calls and not n.func.id.startswith(ORIGINAL))
        if launcher and any(k.arg in (ASKED, None) for k in n.keywords):
            yield Fault(n.lineno, f"`{shown(n)}` says without asking that its tensors fit")


def _call_after_asking(m: ModuleSyntax) -> ast.Call | None:
    """The public function's call of a launcher, where the emitter's guard was asked of the same tensors just before."""
    f = m.functions.get(m.public)
    if f is None or guard_text(m) is None:
        return None
    match body_of(f):
        case [ast.If(test, [ast.Return(ast.Call(ast.Name("_run"), args) as call)], []), ast.Return()]:
            last = test.values[-1] if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else test
            fine = ast.unparse(last) == f"_fits({_listed(args)})" and _only_asked(call)
        case [
            ast.Assign([ast.Name(made)], value),
            ast.If(test, [ast.Assign([ast.Tuple(row)], ast.Name(taken)), ast.Return(ast.Call(run, args) as call)], []),
            ast.Return(),
        ]:
            none = isinstance(value, ast.IfExp) and ast.unparse(value.orelse) == "None"
            question = value.body if isinstance(value, ast.IfExp) and none else value
            fine = (
                ast.unparse(test) == f"{made} is not None" and taken == made and len(args) > 2
                and [ast.unparse(x) for x in row] == [ast.unparse(x) for x in (run, *args[-2:])]
                and ast.unparse(question) == f"_fits({_listed(args[:-2])})" and _only_asked(call)
            )  # fmt: skip
        case _:
            return None
    return call if fine else None


def _listed(expressions: Iterable[ast.expr]) -> str:
    return ", ".join(map(ast.unparse, expressions))


def _only_asked(call: ast.Call) -> bool:
    return [(k.arg, ast.unparse(k.value)) for k in call.keywords] == [(ASKED, "True")]


def counters(m: ModuleSyntax) -> Found:
    for name, line in m.bound:
        if name in ("_counters", "_ZEROED") and counter_text(m) is None:
            yield Fault(line, "the counters are not those that the emitter writes")


def names(m: ModuleSyntax) -> Found:
    top = {name for name, _ in m.bound}
    scopes: list[tuple[set[str], set[str], Iterable[ast.AST]]] = []
    for f in m.functions.values():
        refused = EFFECTS | REACHES | (PER_PROCESS if f.name in m.ours else set())
        scopes.append((set(m.local_names[f.name]), refused, m.evaluated[f.name]))
    values = [n.value for n in m.tree.body if isinstance(n, ast.Assign | ast.AnnAssign) and n.value is not None]
    scopes += [(set(), EFFECTS | REACHES, ast.walk(v)) for v in values]
    permitted = {
        id(x.func)
        for x in ast.walk(m.functions.get("_fits", ast.Module([], [])))
        if isinstance(x, ast.Call) and ast.unparse(x) in GUARDS_GETATTR
    }
    for own, refused, nodes in scopes:
        for n in nodes:
            if not isinstance(n, ast.Name) or n.id in own or n.id in top or id(n) in permitted:
                continue
            if n.id.startswith("__") or n.id in refused:
                yield Fault(n.lineno, f"uses {n.id}")
            elif not hasattr(builtins, n.id):
                yield Fault(n.lineno, f"uses {n.id}, which the module does not bind")


def attributes(m: ModuleSyntax) -> Found:
    for n in m.nodes:
        if isinstance(n, ast.Attribute):
            path = m.path(n)
            if (n.attr.startswith("__") and path not in SHIFTS) or any(
                path == x or path.startswith(x + ".") for x in DENIED
            ):
                yield Fault(n.lineno, f"reads {path or ast.unparse(n)}")
    begins = {  # the guard may ask whether a tensor begins where a descriptor can: what it then runs gives the same
        id(n.left.func)
        for n in m.within.get("_fits", ())
        if isinstance(n, ast.BinOp) and isinstance(n.left, ast.Call) and ast.unparse(n) == BEGINS
    }
    for f in m.ours.values():
        for n in m.within[f.name]:
            if isinstance(n, ast.Attribute) and id(n) not in begins and (said := reaches_out(m, n)):
                yield Fault(n.lineno, f"reads {said}")


def reaches_out(m: ModuleSyntax, n: ast.Attribute) -> str:
    """The path of what lies outside a function of its arguments; "" for any other attribute."""
    path = m.path(n)
    private = n.attr.startswith("_") and not path.startswith("torch.ops.aten.")
    outside = n.attr in OUTSIDE or path.startswith(EFFECT_PATHS)
    fine = path.startswith(PERMITTED_PATHS) or path == "torch.cuda"  # `torch.cuda` alone is a part of a longer path
    return (path or ast.unparse(n)) if private or (outside and not fine) else ""


def plain(m: ModuleSyntax) -> Found:
    refusal = refusal_text(m)
    for f in m.ours.values():
        if f is refusal:
            continue
        for n in m.within[f.name]:
            if n is not f and (
                isinstance(n, UNPLAIN) or (isinstance(n, ast.stmt) and not isinstance(n, PLAIN_STATEMENTS))
            ):
                yield Fault(getattr(n, "lineno", f.lineno), f"`{shown(n)}` in {f.name}")


def public(m: ModuleSyntax) -> Found:
    if not m.public:
        yield Fault(1, "has no one function with its original beside it")
        return
    f = m.functions[m.public]
    given = [a.arg for a in parameters(f)]
    match body_of(f):
        case [
            ast.If(body=[ast.Return(value=ast.Call(func=ast.Name(id="_run")))], orelse=[]) as guard,
            ast.Return() as last,
        ]:
            asked = _calls(guard.test, "_fits")
        case [
            ast.Assign(value=value),
            ast.If(body=[ast.Assign(), ast.Return(value=ast.Call())], orelse=[]),
            ast.Return() as last,
        ]:
            asked = _calls(value, "_fits") and "_BY_SIZE" in m.text
        case _:
            yield Fault(f.lineno, f"{f.name} does more than to ask the guard and to run the launcher or the original")
            return
    if not asked:
        yield Fault(f.lineno, f"{f.name} does not ask the guard")
    args = f.args
    plain_names = [a.arg for a in (*args.posonlyargs, *args.args)]
    call = ", ".join([*plain_names, *(f"{a.arg}={a.arg}" for a in args.kwonlyargs)])
    if last.value is None or ast.unparse(last.value) != f"{ORIGINAL}{f.name}({call})":
        yield Fault(last.lineno, f"`{shown(last)}` hands not all of {', '.join(given)} to the original")


def _calls(node: ast.expr, name: str) -> bool:
    return any(isinstance(x, ast.Call) and isinstance(x.func, ast.Name) and x.func.id == name for x in ast.walk(node))


def launched(m: ModuleSyntax) -> Found:
    used = {
        s.value.func.value.id
        for name, f in m.ours.items() if name.startswith("_run") for s in m.within[f.name]
        if isinstance(s, ast.Expr) and isinstance(s.value, ast.Call) and isinstance(s.value.func, ast.Subscript)
        and isinstance(s.value.func.value, ast.Name)
    }  # fmt: skip
    for name in sorted(m.kernels - used):
        called = any(_calls_function(m.functions[k], name) for k in m.kernels if k != name)
        if not called:
            yield Fault(m.functions[name].lineno, f"no launcher launches {name}")


def _calls_function(f: Function, name: str) -> bool:
    return any(isinstance(x, ast.Call) and isinstance(x.func, ast.Name) and x.func.id == name for x in ast.walk(f))


def shown(node: ast.AST) -> str:
    return ast.unparse(node).split("\n")[0][:60]


RULES: tuple[Rule, ...] = (
    Rule("encoding", "the file is UTF-8, and says nothing else", encoding),
    Rule("statements", "the top level has imports, constants and functions", statements),
    Rule("imports", "torch, triton, math and what a user's function may import; functions import nothing", imports),
    Rule("decorators", "kernels have `triton.jit`, and nothing else has a decorator", decorators),
    Rule("constants", "what the top level binds are numbers, tables of them, and dtypes", constants),
    Rule("bound once", "a name is bound once, and no kernel or launcher binds one of the module's", bound_once),
    Rule("defaults", "no default is an object that could be changed, but for a launcher's tables", defaults),
    Rule("counters", "counters are handed out by the function that the emitter writes", counters),
    Rule("refuses", "a launcher begins by refusing what it was not made for, as the emitter writes it", refuses),
    Rule("state", "nothing outside a function's own variables is bound or set", state),
    Rule("names", "what is used is bound in the module, or a builtin that only computes", names),
    Rule(
        "attributes", "no environment, clock, file, random number, address or inner part of Python is read", attributes
    ),
    Rule("plain", "kernels and launchers are assignments, calls, branches and loops", plain),
    Rule(
        "public",
        "the public function asks the guard, and runs the launcher or the original with all it was given",
        public,
    ),
    Rule(
        "asked",
        "a launcher is told that its tensors fit by the public function alone, which asked the emitter's guard",
        asked,
    ),
    Rule("launched", "each kernel is launched, or called by another one", launched),
)


def first_fault(text: str) -> tuple[str, Fault] | None:
    """The name of the first rule that a module breaks, and where; None where it keeps to all of them."""
    try:
        syntax = ModuleSyntax(text, ast.parse(text))
    except (SyntaxError, ValueError, RecursionError) as e:
        return "statements", Fault(getattr(e, "lineno", None) or 1, f"is no Python ({e})")
    for rule in RULES:
        for fault in rule.broken(syntax):
            return rule.name, fault
    return None
