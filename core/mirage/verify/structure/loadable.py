"""What a module may contain that is kept, or loaded into a user's process: the rules that speak of safety, and of our own part
of it the names that the emitters write and no others.

A module is data until it is loaded, and may be a forger's. What is asked here is not whether it computes the right thing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from mirage.codegen.baseline_blocks import run_blocks
from mirage.codegen.writing_module import taken_apart
from mirage.errors import ModuleRefused, ModuleUnreadable
from mirage.ir.opaque_calls import OPERATOR, has_effect
from mirage.operators.block_operators import BLOCK
from mirage.operators.table import OPERATORS
from mirage.results.baselines import BASELINES
from mirage.source.one_parse import PARSING
from mirage.verify.structure.module_rules import GUARDS_GETATTR, RULES, Found, Rule
from mirage.verify.structure.module_syntax import ORIGINAL, Fault, ModuleSyntax, imported

MOST = 4 << 20  # characters
NOT_OF_SAFETY = ("public", "launched", "refuses")  # what a module that runs alone need not have
IMPORTED = ("torch", "math", "triton", "jaxtyping", "typing", "typing_extensions", "collections.abc", "__future__")
OF_BASELINES = ("import functools", "from torch.nn.attention import SDPBackend, sdpa_kernel")
BUILTINS = {
    "float",
    "int",
    "bool",
    "range",
    "min",
    "max",
    "len",
    "tuple",
    "type",
    "isinstance",
    "abs",
    "getattr",
    "sum",
    "ValueError",
}
# Modules that modules of PyTorch hold under these names: nothing of a user's function is called so.
MODULES = {"os", "sys", "builtins", "importlib", "inspect", "ctypes", "subprocess", "socket", "pathlib", "io", "pickle", "shutil",
           "types", "runpy", "pickletools", "copyreg", "tempfile", "urllib", "zipfile", "linecache", "threading",
           "multiprocessing", "platform", "glob", "signal", "code", "pdb", "weakref", "gc", "atexit", "codecs"}  # fmt: skip
PRIVATE = re.compile(r"_assert|_check\w*|_foreach_\w+")  # of PyTorch, what a user's function may call
WRITTEN = [
    "torch.Tensor",
    "torch.nn.Parameter",
    "torch.empty",
    "torch.zeros",
    "torch.is_grad_enabled",
    "torch.is_autocast_enabled",
    "torch.autograd.forward_ad",
    "torch.cuda.current_device",
    "torch.cuda.current_stream",
    "torch.cuda.is_current_stream_capturing",
    "triton.JITFunction",
    "triton.tools.tensor_descriptor.TensorDescriptor",
    "tl.load",
    "tl.store",
    "tl.arange",
    "tl.zeros",
    "tl.full",
    "tl.program_id",
    "tl.atomic_add",
    "tl.debug_barrier",
    "tl.trans",
    "tl.permute",
    "tl.dot",
    "tl.sum",
    "tl.max",
    "tl.maximum",
    "tl.minimum",
    "tl.where",
    "tl.range",
    "tl.constexpr",
    "triton.jit",
    "tl.sqrt",
    "tl.exp",
    "tl.exp2",
    "tl.PropagateNan.ALL",
    "tl.float8e4nv",
    "tl.float8e5",
]
METHODS = [
    "load",
    "data_ptr",
    "to",
    "dtype",
    "element_ty",
    "device",
    "shape",
    "is_cuda",
    "is_cpu",
    "index",
    "type",
    "is_contiguous",
    "is_neg",
    "requires_grad",
    "append",
    "get",
    "pop",
    "contiguous",
    "cuda_stream",
    "synchronize",
    "narrow",
    "reshape",
    "permute",
    "expand",
]


@lru_cache(maxsize=8)
def known(operators: int) -> tuple[frozenset[str], frozenset[str]]:
    """(paths from an import, attributes of values) that our part of a module has: the emitters' own, and those of the
    operators' texts, of which there are so many."""
    texts = [e.call for e in OPERATORS.values()] + [t for b in BLOCK.values() for t in (b.triton, b.exp2, b.torch)]
    paths, methods = set(WRITTEN), set(METHODS)
    for text in texts:
        paths |= {
            re.sub(r"^F\.", "torch.nn.functional.", p) for p in re.findall(r"\b(?:torch|tl|triton|F)(?:\.\w+)+", text)
        }
        methods |= set(re.findall(r"[\])}]\.([A-Za-z_]\w*)", text))
    whole = {re.sub(r"^tl\.", "triton.language.", p) for p in paths}
    return frozenset(p.rsplit(".", n)[0] for p in whole for n in range(p.count(".") + 1)), frozenset(methods)


def imports(m: ModuleSyntax) -> Found:
    for line, path in imported(m.nodes):
        known = any(path == x or path.startswith(x + ".") for x in IMPORTED)
        if not known or not MODULES.isdisjoint(path.split(".")):
            yield Fault(line, f"imports {path}")


def modules(m: ModuleSyntax) -> Found:
    """An imported module under another name could no longer be followed."""
    whole = {a.asname or a.name.partition(".")[0] for n in m.nodes if isinstance(n, ast.Import) for a in n.names}
    scopes = [(set(m.local_names[f.name]), m.evaluated[f.name]) for f in m.functions.values()]
    scopes += [
        (set[str](), tuple(ast.walk(n.value)))
        for n in m.tree.body
        if isinstance(n, ast.Assign | ast.AnnAssign) and n.value
    ]
    for own, nodes in scopes:
        based = {id(n.value) for n in nodes if isinstance(n, ast.Attribute)}
        for n in nodes:
            if isinstance(n, ast.Name) and n.id in whole - own and id(n) not in based:
                yield Fault(n.lineno, f"hands {n.id} on")


def reached(m: ModuleSyntax) -> Found:
    for n in m.nodes:
        if isinstance(n, ast.Attribute):
            first = m.path(n).partition(".")[0]
            private = first == "torch" and n.attr.startswith("_") and not PRIVATE.fullmatch(n.attr)
            if n.attr in MODULES or (private and not m.path(n).startswith("torch.ops.aten.")):
                yield Fault(n.lineno, f"reads {m.path(n) or ast.unparse(n)}")


def written(m: ModuleSyntax) -> Found:
    """Of kernels, launchers, guards and the public function."""
    paths, methods = known(len(OPERATORS) + len(BLOCK))
    top = {name for name, _ in m.bound}
    for f in m.ours.values():
        own = set(m.local_names[f.name])
        for n in [*m.evaluated[f.name], *f.decorator_list]:
            if isinstance(n, ast.Attribute):
                yield from _attribute(m, n, own, paths, methods)
            elif isinstance(n, ast.Name) and n.id not in own | top and n.id not in BUILTINS:
                yield Fault(n.lineno, f"uses {n.id}")
            elif isinstance(n, ast.Call) and ast.unparse(n.func) == "getattr" and ast.unparse(n) not in GUARDS_GETATTR:
                yield Fault(n.lineno, "uses getattr")


def _attribute(
    m: ModuleSyntax, n: ast.Attribute, own: set[str], paths: frozenset[str], methods: frozenset[str]
) -> Iterator[Fault]:
    path, base = m.path(n), n.value
    while isinstance(base, ast.Attribute):
        base = base.value
    if not isinstance(base, ast.Name) or base.id in own or base.id not in m.imported:
        if n.attr not in methods:
            yield Fault(n.lineno, f"reads .{n.attr}")
    elif path.startswith("torch.ops"):
        call = path.removeprefix("torch.ops.")
        if (not "torch.ops.aten".startswith(path) and not call.startswith("aten.")) or call.count(".") > 2:
            yield Fault(n.lineno, f"reads {path}")
        elif call.count(".") == 2 and (not OPERATOR.match(call) or has_effect(call)):
            yield Fault(n.lineno, f"calls {path}")
    elif path not in paths and not re.fullmatch(r"(torch|triton\.language)\.(b?float|u?int|bool|complex)\w*", path):
        yield Fault(n.lineno, f"reads {path}")


LOADED: tuple[Rule, ...] = (
    *(r for r in RULES if r.name not in NOT_OF_SAFETY),
    Rule("loaded imports", "PyTorch, Triton, math and what annotations need", imports),
    Rule("modules", "a module is only the beginning of a path", modules),
    Rule("reached", "no path leads through PyTorch to the rest of Python", reached),
    Rule("written", "our own part has the names that the emitters write", written),
)


def loading_fault(text: str) -> tuple[str, Fault] | None:
    """The name of the first rule of LOADED that a module breaks, and where; None where it may be loaded."""
    if len(text) > MOST:
        return "size", Fault(1, f"has {len(text)} characters, over the limit of {MOST}")
    try:
        text, _ = taken_apart(text)
        syntax = ModuleSyntax(text, ast.parse(text))
        syntax = ModuleSyntax(text, _without_baselines(syntax))
        for rule in LOADED:
            for fault in rule.broken(syntax):
                return rule.name, fault
    except ModuleUnreadable as e:
        return "writes", Fault(1, f"cannot be read: {e.message}")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
        return "statements", Fault(getattr(e, "lineno", None) or 1, f"is no Python ({type(e).__name__})")
    return None


def check_loadable(text: str) -> None:
    """Raises ModuleRefused with the line and the rule unless the module may be loaded."""
    with PARSING:
        found = loading_fault(text)
    if found is not None:
        rule, fault = found
        raise ModuleRefused(f"the module {fault.what} (rule {rule})", line=fault.line)


def _without_baselines(m: ModuleSyntax) -> ast.Module:
    """The tree with the functions that run PyTorch's own answers, which are written once and for all, as empty ones."""
    fixed = {}
    for name in (n for n, row in BASELINES.items() if m.public and row.answer != "keep"):
        for block in run_blocks(name, ORIGINAL + m.public):
            (function,) = ast.parse("\n".join(block)).body
            assert isinstance(function, ast.FunctionDef)
            fixed[function.name] = ast.dump(function)
    body: list[ast.stmt] = []
    found = False
    for n in m.tree.body:
        if isinstance(n, ast.FunctionDef) and fixed.get(n.name) == ast.dump(n):
            found = True
            n = ast.FunctionDef(
                name=n.name, args=n.args, body=[ast.Pass()], decorator_list=[], lineno=n.lineno, col_offset=0
            )
        body.append(n)
    if found:
        body = [n for n in body if ast.unparse(n) not in OF_BASELINES]
    return ast.Module(body, [])
