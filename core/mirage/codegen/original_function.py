"""The user's function in an emitted module: the fallback `_original_NAME`, and the launcher's signature and docstring."""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass

from mirage.errors import EmissionRefused

MOST = 120  # characters of a line
RUNTIME_MODULES = {"torch", "math"}


@dataclass(frozen=True)
class Original:
    """`text`: the function (renamed) with its helpers, without imports. `imports`: the import lines that it needs at
    run time. `signature`: the launcher's parameters. `extra`: parameters that are no tensors, with their defaults'
    text. `call`: the arguments that hand all parameters on."""

    text: str
    imports: tuple[str, ...]
    signature: str
    docstring: str | None
    extra: tuple[tuple[str, str], ...]
    call: str
    private: str


def read_original(source: str, function: str, inputs: tuple[str, ...]) -> Original:
    """Takes the source of the user's function (its decorators already off, with the helpers that it needs) apart."""
    try:
        tree = ast.parse(source)
    except SyntaxError as e:
        raise EmissionRefused(f"the source of {function!r} does not parse: {e.msg}", line=e.lineno) from e
    found = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == function]
    if not found:
        raise EmissionRefused(f"the source has no top-level function {function!r}")
    node = found[-1]
    if node.args.vararg or node.args.kwarg:
        raise EmissionRefused(f"{function!r} takes *args or **kwargs", next_step="name every parameter")
    defaults = with_defaults(node.args)
    names = [a.arg for a in parameters(node.args)]
    missing = [i for i in inputs if i not in names]
    if missing:
        raise EmissionRefused(f"{function!r} has no parameter {missing[0]!r}")
    constants = module_constants(tree)
    extra = []
    for name in names:
        if name in inputs:
            continue
        if defaults.get(name) is None:
            raise EmissionRefused(f"parameter {name!r} is no tensor and has no default")
        extra.append((name, resolved(defaults[name], constants)))
    private = f"_original_{function}"
    return Original(
        text=renamed(source, tree, node, private),
        imports=runtime_imports(tree),
        signature=signature(source, node, constants),
        docstring=ast.get_docstring(node, clean=False),
        extra=tuple(extra),
        call=", ".join(
            [
                *(a.arg for a in (*node.args.posonlyargs, *node.args.args)),
                *(f"{a.arg}={a.arg}" for a in node.args.kwonlyargs),
            ]
        ),
        private=private,
    )


def parameters(args: ast.arguments) -> list[ast.arg]:
    return [*args.posonlyargs, *args.args, *args.kwonlyargs]


def with_defaults(args: ast.arguments) -> dict[str, ast.expr | None]:
    plain = [*args.posonlyargs, *args.args]
    out: dict[str, ast.expr | None] = {a.arg: None for a in plain}
    for a, d in zip(plain[len(plain) - len(args.defaults) :], args.defaults, strict=True):
        out[a.arg] = d
    out.update({a.arg: d for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True)})
    return out


def module_constants(tree: ast.Module) -> dict[str, ast.expr]:
    """Top-level `NAME = expression` lines."""
    out: dict[str, ast.expr] = {}
    for n in tree.body:
        if isinstance(n, ast.Assign) and len(n.targets) == 1 and isinstance(n.targets[0], ast.Name):
            out[n.targets[0].id] = n.value
        elif isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name) and n.value is not None:
            out[n.target.id] = n.value
    return out


class _Inline(ast.NodeTransformer):
    """Replaces constants of the module by what they are: the launcher stands before them."""

    def __init__(self, constants: dict[str, ast.expr]) -> None:
        self.constants = constants

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.constants:
            return _Inline({k: v for k, v in self.constants.items() if k != node.id}).visit(  # type: ignore[no-any-return]
                copy.deepcopy(self.constants[node.id])
            )
        return node


def resolved(default: ast.expr | None, constants: dict[str, ast.expr]) -> str:
    """A default as an expression that stands on its own."""
    assert default is not None
    tree = _Inline(constants).visit(copy.deepcopy(default))
    unknown = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id not in RUNTIME_MODULES]
    if unknown:
        raise EmissionRefused(
            f"the default {ast.unparse(default)!r} refers to {unknown[0]!r}", next_step="write the value"
        )
    return ast.unparse(tree)


def signature(source: str, node: ast.FunctionDef, constants: dict[str, ast.expr]) -> str:
    """`(parameters) -> annotation` as the original writes it, with defaults that stand on their own; on lines of their
    own when one line would be too long."""
    args = node.args
    defaults = with_defaults(args)

    def text(a: ast.arg) -> str:
        out = a.arg
        if a.annotation is not None:
            out += f": {written(source, a.annotation)}"
        default = defaults[a.arg]
        if default is None:
            return out
        value = resolved(default, constants)
        if value == ast.unparse(default):
            value = written(source, default)
        return f"{out} = {value}" if a.annotation is not None else f"{out}={value}"

    items = [text(a) for a in args.posonlyargs]
    items += ["/"] if args.posonlyargs else []
    items += [text(a) for a in args.args]
    items += ["*", *(text(a) for a in args.kwonlyargs)] if args.kwonlyargs else []
    returns = f" -> {written(source, node.returns)}" if node.returns is not None else ""
    line = f"({', '.join(items)}){returns}"
    if len(line) + len(node.name) + 5 <= MOST:
        return line
    return "(\n" + "".join(f"    {i},\n" for i in items) + f"){returns}"


def written(source: str, node: ast.expr) -> str:
    """An expression as its author wrote it, if on one line."""
    segment = ast.get_source_segment(source, node)
    return segment if segment is not None and "\n" not in segment else ast.unparse(node)


def annotation_nodes(tree: ast.Module) -> set[int]:
    """Ids of the nodes inside annotations, which nothing evaluates."""
    out: set[int] = set()
    for n in ast.walk(tree):
        places: list[ast.expr | None] = []
        if isinstance(n, ast.arg):
            places.append(n.annotation)
        elif isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)):
            places.append(n.returns)
        elif isinstance(n, ast.AnnAssign):
            places.append(n.annotation)
        for p in places:
            out |= {id(x) for x in ast.walk(p)} if p is not None else set()
    return out


def runtime_imports(tree: ast.Module) -> tuple[str, ...]:
    """The import lines whose names the code, not an annotation alone, uses."""
    silent = annotation_nodes(tree)
    used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and id(n) not in silent}
    out = []
    for n in tree.body:
        if isinstance(n, ast.Import):
            for a in n.names:
                if (a.asname or a.name.partition(".")[0]) in used:
                    out.append(ast.unparse(ast.Import([a])))
        elif isinstance(n, ast.ImportFrom) and n.module != "__future__":
            kept = [a for a in n.names if (a.asname or a.name) in used]
            if kept:
                out.append(ast.unparse(ast.ImportFrom(n.module, kept, n.level)))
    return tuple(dict.fromkeys(out))


def renamed(source: str, tree: ast.Module, node: ast.FunctionDef, name: str) -> str:
    """The source as it was written, without imports, the function under its private name."""
    lines = source.splitlines()
    at = node.lineno - 1
    lines[at] = lines[at].replace(f"def {node.name}", f"def {name}", 1)
    drop: set[int] = set()
    for n in tree.body:
        if isinstance(n, (ast.Import, ast.ImportFrom)):
            drop |= set(range(n.lineno - 1, n.end_lineno or n.lineno))
    for d in node.decorator_list:
        drop |= set(range(d.lineno - 1, d.end_lineno or d.lineno))
    return "\n".join(line for i, line in enumerate(lines) if i not in drop).strip("\n")
