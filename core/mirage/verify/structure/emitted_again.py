"""A module's text beside the text that this version emits for the µGraphs that the module carries.

A run of a text at small sizes says nothing of what it does at its own: a mask that is cut at 64, a loop that ends early, a
grid of at most 100 blocks. An emitted text is a function of its µGraphs and of the user's function, so it is made once more
and compared. Comments, layout and docstrings are free, and so is what the header says.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from mirage.codegen.carried_mugraph import read_carried
from mirage.codegen.emit import PARTS, emit_rows, split_parts
from mirage.codegen.original_function import runtime_imports
from mirage.codegen.size_table import Inputs, focused, rows_of
from mirage.errors import MirageError, ModuleUnreadable
from mirage.ir.dtypes import BY_TORCH_NAME
from mirage.ir.program import Program
from mirage.ir.tensor_spec import TensorSpec
from mirage.mugraph.grammar import MuGraph
from mirage.mugraph.rename import Renaming, rename

ORIGINAL = "_original_"
_SILENT = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)


@dataclass(frozen=True)
class TextDifference:
    """The first place where two texts differ: a line's number in the module, that line, and what stands there instead."""

    line: int
    have: str
    want: str


@dataclass(frozen=True)
class Rows:
    """What a module says of itself: the µGraph of each row of sizes by the inputs that the row is for, the public function,
    its tensor parameters, and the text (imports and original) that the user's function was read from."""

    mugraphs: tuple[tuple[Inputs, MuGraph], ...]
    function: str
    parameters: tuple[str, ...]
    source: str
    docstring: str | None

    def program(self, inputs: Inputs, mugraph: MuGraph, returns_tuple: bool) -> Program:
        """The signature, which is all that emission reads of a program."""
        pairs = zip(self.parameters, inputs, strict=True)
        given = tuple(TensorSpec(n, shape, BY_TORCH_NAME[dtype]) for n, (shape, dtype) in pairs)
        return Program(self.function, given, (), tuple(range(len(mugraph.outputs))), returns_tuple)

    def emitted(self, returns_tuple: bool) -> str:
        """The module, without a header."""
        rows = [(self.program(inputs, m, returns_tuple), m) for inputs, m in self.mugraphs]
        return emit_rows(rows, self.source, function=self.function, header={}, docstring=self.docstring)


def carries(module: str) -> bool:
    """Does the module say which µGraphs it was emitted from?"""
    return "mugraph" in split_parts(module)


@lru_cache(maxsize=4)  # a module of several sizes is judged once for each
def read_rows(module: str) -> Rows:
    """What a module with µGraphs says of itself. Raises ModuleUnreadable, MugraphSyntax."""
    for mark in (f"# mirage:{end} {name}\n" for name in PARTS for end in ("begin", "end")):
        if module.count(mark) != 1:
            raise ModuleUnreadable(f"the module has {module.count(mark)} marks `{mark.strip()}`")
    module = focused(module, rows_of(module)[0].inputs)  # the rows in the order in which they were emitted
    parts = split_parts(module)
    table = rows_of(module)
    graphs = read_carried(parts["mugraph"], len(table))
    public = public_function(ast.parse(module))
    guard = next((c for c in ast.walk(public) if isinstance(c, ast.Call) and ast.unparse(c.func) == "_fits"), None)
    names = tuple(a.id for a in guard.args if isinstance(a, ast.Name)) if guard is not None else ()
    if len(names) != len(table[0].inputs):
        raise ModuleUnreadable(f"the guard of {public.name} does not name {len(table[0].inputs)} tensors")
    pairs = tuple((row.inputs, graph) for row, graph in zip(table, graphs, strict=True))
    return Rows(pairs, public.name, names, user_source(parts, public.name), ast.get_docstring(public, clean=False))


def public_function(tree: ast.Module) -> ast.FunctionDef:
    """The one function of which the module keeps an original. Raises ModuleUnreadable."""
    functions = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}
    found = [n for name, n in functions.items() if ORIGINAL + name in functions]
    if len(found) != 1:
        raise ModuleUnreadable(f"the module has {len(found)} functions with an original beside them")
    return found[0]


def user_source(parts: dict[str, str], function: str) -> str:
    """The user's function as emission was given it: its imports, its helpers, and itself under its own name."""
    lines = parts["original"].split("\n")
    for n in ast.parse(parts["original"]).body:
        if isinstance(n, ast.FunctionDef) and n.name == ORIGINAL + function:
            lines[n.lineno - 1] = lines[n.lineno - 1].replace(f"def {ORIGINAL}{function}", f"def {function}", 1)
    kept = [ast.unparse(n) for n in ast.parse(parts["imports"]).body if isinstance(n, ast.Import | ast.ImportFrom)]
    own = [x for x in kept if x.split()[1].partition(".")[0] not in ("triton", "__future__")]
    return "\n".join([*own, "", *lines]) + "\n"


def emitted_again(module: str, returns_tuple: bool | None) -> TextDifference | None:
    """Where the module is not what this version emits for it; None where both are one text. `returns_tuple` None: of a
    single output the module itself says whether it comes in a tuple. Raises MirageError where nothing can be emitted."""
    rows = read_rows(module)
    module = focused(module, rows.mugraphs[0][0])
    ways = (False, True) if returns_tuple is None else (returns_tuple,)
    found = [difference(module, rows.emitted(way)) for way in ways]
    return None if None in found else found[0]


def difference(module: str, again: str) -> TextDifference | None:
    """The first difference between two texts that is more than comments, layout and docstrings."""
    if _same_code(module, again):
        have, want = split_parts(module), split_parts(again)
        moved = next(
            (n for n in PARTS if not _same_code(have[n], want[n])), None
        )  # rows are read from the launcher's part
        return (
            None if moved is None else TextDifference(_line(module, f"begin {moved}"), f"begin {moved}", "it elsewhere")
        )
    lines, others = module.split("\n"), again.split("\n")
    mine, theirs = list(_tokens(module)), list(_tokens(again))
    pairs = zip(mine, theirs, strict=False)
    at = next((i for i, (a, b) in enumerate(pairs) if a[0] != b[0]), min(len(mine), len(theirs)))
    here = mine[min(at, len(mine) - 1)][1]
    there = theirs[min(at, len(theirs) - 1)][1]
    return TextDifference(here, lines[here - 1].strip(), others[there - 1].strip())


def _same_code(a: str, b: str) -> bool:
    return a == b or ast.dump(bare(ast.parse(a))) == ast.dump(bare(ast.parse(b)))


def bare(tree: ast.Module) -> ast.Module:
    """A syntax tree without its docstrings."""
    for n in ast.walk(tree):
        if isinstance(n, ast.FunctionDef | ast.Module) and ast.get_docstring(n, clean=False) is not None:
            n.body = n.body[1:] or [ast.Pass()]
    return tree


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    """What a text says, token by token with its line, without docstrings."""
    strings = {
        (n.body[0].lineno, n.body[0].col_offset)
        for n in ast.walk(ast.parse(text))
        if isinstance(n, ast.FunctionDef | ast.Module) and ast.get_docstring(n) is not None
    }
    for t in tokenize.generate_tokens(io.StringIO(text).readline):
        if t.type not in _SILENT and t.start not in strings:
            yield t.string, min(t.start[0], text.count("\n") or 1)


def same_mugraph(a: MuGraph, b: MuGraph) -> bool:
    """Are two µGraphs one, but for the names of tensors, which a judge makes those of the function?"""
    return _numbered(a) == _numbered(b)


def _numbered(m: MuGraph) -> MuGraph:
    names = {t.name: f"t{i}" for i, t in enumerate(m.tensors)}

    def same(x: str) -> str:
        return x

    return replace(rename(m, Renaming(same, lambda x: names[x], same, same, same)), name="", notes=())


def other_original(module: str, slice_text: str, function: str) -> TextDifference | None:
    """Where the original that the module keeps is another function than the one in `slice_text`; annotations, comments and
    docstrings are free. Raises MirageError."""
    rows = read_rows(module)
    return different_source(module, rows.source, rows.function, slice_text, function)


def different_source(module: str, source: str, name: str, slice_text: str, function: str) -> TextDifference | None:
    """Where the function `name` of `source`, which stands in a module, is another one than `function` in `slice_text`."""
    have, want = ast.parse(source), ast.parse(slice_text)
    mine, theirs = set(runtime_imports(have)), set(runtime_imports(want))
    if mine != theirs:
        other = next(iter(sorted(mine - theirs)), "# mirage:begin imports")
        return TextDifference(_line(module, other), ", ".join(sorted(mine - theirs)), ", ".join(sorted(theirs - mine)))
    pairs = _statements(have, name), _statements(want, function)
    for i in range(max(map(len, pairs))):
        a, b = (p[i] if i < len(p) else None for p in pairs)
        if a is None or b is None or ast.dump(a) != ast.dump(b):
            return TextDifference(_line_of(module, a), *_first_lines(a, b))
    return None


def _statements(tree: ast.Module, function: str) -> list[ast.stmt]:
    """What a source defines, bare, the function itself under one name."""
    found = []
    for n in bare(tree).body:
        if isinstance(n, ast.Import | ast.ImportFrom):
            continue
        for x in ast.walk(n):
            if isinstance(x, ast.arg):
                x.annotation = None
            elif isinstance(x, ast.FunctionDef):
                x.returns, x.decorator_list = None, []
        if isinstance(n, ast.AnnAssign) and n.value is not None:
            n = ast.Assign([n.target], n.value, lineno=n.lineno)
        if isinstance(n, ast.FunctionDef) and n.name == function:
            n.name = ORIGINAL
        found.append(n)
    return found


def _line_of(module: str, node: ast.stmt | None) -> int:
    """Of a statement of the original part in the whole module: the first line that begins as it does."""
    mark = "# mirage:begin original"
    if node is None:
        return _line(module, mark)
    return _line(module, node.name if isinstance(node, ast.FunctionDef) else ast.unparse(node).split("\n")[0], mark)


def _line(module: str, what: str, after: str = "") -> int:
    start = max(module.find(after), 0)
    return module.count("\n", 0, max(module.find(what, start), start)) + 1


def _first_lines(a: ast.stmt | None, b: ast.stmt | None) -> tuple[str, str]:
    """The first lines in which two statements, written out, differ."""
    mine, theirs = (ast.unparse(x).split("\n") if x is not None else [] for x in (a, b))
    for i in range(max(len(mine), len(theirs))):
        pair = [x[i].strip() if i < len(x) else "" for x in (mine, theirs)]
        if pair[0] != pair[1]:
            return pair[0], pair[1]
    return "", ""


def row_of(module: str, inputs: Inputs) -> MuGraph | None:
    """The µGraph that a module carries for these inputs."""
    return next((m for given, m in read_rows(module).mugraphs if given == inputs), None)


def faults_of(module: str, inputs: Inputs, mugraph: MuGraph, slice_text: str, function: str, tuple_: bool) -> str:
    """Why a module is not the text of its µGraphs, in a sentence; "" where it is."""
    try:
        return _fault(module, inputs, mugraph, slice_text, function, tuple_)
    except MirageError as e:
        return f"nothing can be emitted from what the module carries: {e.message}"
    except (ArithmeticError, LookupError, TypeError, ValueError, AssertionError) as e:
        # a µGraph that parses and breaks a rule: emission met what no valid one gives it
        return f"nothing can be emitted from what the module carries ({type(e).__name__}: {e})"


def _fault(module: str, inputs: Inputs, mugraph: MuGraph, slice_text: str, function: str, tuple_: bool) -> str:
    own = row_of(module, inputs)
    if own is None or not same_mugraph(own, mugraph):
        return "the module carries another µGraph than the one that is judged"
    found = emitted_again(module, tuple_ if function else None)
    if found is not None:
        return (
            f"line {found.line}: the module has `{found.have}`, the emitter writes `{found.want}`; edited by hand or made by "
            "another version: run `mirage optimize` again"
        )
    kept = other_original(module, slice_text, function) if function else None
    if kept is not None:
        return (
            f"line {kept.line}: the original in the module has `{kept.have}`, the function has `{kept.want}`: "
            "run `mirage optimize` again"
        )
    return ""
