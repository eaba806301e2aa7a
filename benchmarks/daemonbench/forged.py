"""µGraphs and kernel files with code in each of their texts: nothing of it reaches a module, and no such file is loaded."""

from __future__ import annotations

import ast
import itertools
import json
import os
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from codegen.emission_cases import EXTRA, original_of, program_of
from workloads import hand
from workloads.hand import Case

from daemonbench.process import Row, row
from mirage.codegen.emit import emit_module
from mirage.errors import MirageError
from mirage.mugraph.grammar import DTensor, LibraryKernel, MuGraph
from mirage.mugraph.json_form import from_json, to_json
from mirage.mugraph.parse import parse
from mirage.mugraph.text import to_text
from mirage.runtime import decorator, installed_kernels
from mirage.verify.structure.loadable import loading_fault

ROUNDS = 100_000
CODE = (
    "__import__('os').system('true')", "False), __import__('os').system('true'), (1", "0\nimport os", "0\r\nimport os #",
    "0; import os", "exec('1')", "x', exec('1'), 'y", 'x", exec("1"), "y', "x]; import os; y[0", "{0.__class__}", "{all}",
    "\u2028import os\u2028", "\x0cimport os", "#\nimport os", "# mirage:end mugraph\nimport os", "f'{exec(1)}'", "lambda: 1",
    "(yield)", "x if exec('1') else y", "*x", "**x", "a.b", "torch.os", "tl.inline_asm_elementwise", "aten.from_file.default",
    "aten.add_.Tensor", "scaled_dot_product_attention", "__builtins__", "__class__", "exec", "open", "import", "None", "torch",
    "tl", "triton", "triton.jit", "range", "@old", "x@old", "1e99999999", "9" * 5000, "-inf", "nan", "", " ", "\0", "%0", "%9",
    "fp16", "torch.float32", "\ud800", "ｅｘｅｃ", "A" * 200,
)  # fmt: skip
OTHER: tuple[Any, ...] = (None, True, -1, 0, 1 << 62, 1 << 70, 0.5, [], {}, [["a", "b"]], {"node": "Load"})
STATEMENTS = (
    "import os", "exec('1')", "open('canary', 'w')", "torch.load('canary')", "().__class__", "torch.os.system('true')",
    "t = torch", "__import__('os')", "raise OSError", "class A: pass", "del torch", "with torch: pass", "global torch",
    "torch.hub.load('a', 'b')", "getattr(torch, 'load')('canary')", "[x for x in ()]", "(lambda: 1)()", "tl.x = 1", "print(1)",
    "torch.ops.aten.from_file.default('canary')", "breakpoint()", "assert exec('1')", "from torch import os", "async def f(): pass",
)  # fmt: skip
OF_USERS = {
    "raise OSError",
    "class A: pass",
    "(lambda: 1)()",
    "[x for x in ()]",
    "async def f(): pass",
}  # what a user's own may say
REFUSALS = (MirageError, ArithmeticError, LookupError, TypeError, ValueError, AssertionError, RecursionError)


def library(name: str, op: str, tensors: int, *attrs: tuple[str, Any]) -> Case:
    """A µGraph that is one call of PyTorch, of which every attribute can be forged."""
    given = tuple(DTensor(f"X{i}", "fp32", (("b",), ("m",), ("d",))) for i in range(tensors))
    call = LibraryKernel("call", op, tuple(t.name for t in given), "O", attrs)
    mugraph = MuGraph(
        name, (("b", 2), ("m", 16), ("d", 16)), (*given, DTensor("O", "fp32", given[0].dims, kind="output")), (call,)
    )
    parameters = ", ".join(t.name for t in given)
    base = hand.small()["rmsnorm_linear"]
    return replace(
        base, name=name, mugraph=mugraph, source=f"import torch\n\ndef {name}({parameters}):\n    return X0\n"
    )


@cache
def bases() -> tuple[Case, ...]:
    """Kernels of every form, and calls of PyTorch with every kind of attribute."""
    sdpa = (("causal", False), ("gqa", False), ("scale", 0.5))
    cumsum = (("dim", 1), ("dtype", None), ("self", "%0"))
    return (
        *hand.small().values(), *(make() for make in EXTRA.values()), library("attention", "scaled_dot_product_attention", 3, *sdpa),
        library("product", "einsum", 2, ("equation", "bmd,bnd->bmn")), library("gelu", "gelu", 1, ("approximate", "tanh")),
        library("cumsum", "aten.cumsum.default", 1, *cumsum), library("sums", "sum", 1, ("dim", (0, 1)), ("keepdim", True)),
    )  # fmt: skip


def emitted(case: Case, mugraph: MuGraph) -> str:
    return emit_module(
        program_of(case.mugraph), mugraph, original_of(case), function=case.name, header={"made by": "x"}
    )


@dataclass(frozen=True)
class Vocabulary:
    """What stands in modules that were emitted from µGraphs of our own: said by reading those, not by any rule."""

    nodes: frozenset[str]
    paths: frozenset[str]

    def unknown(self, text: str) -> str:
        """Something that stands in no such module; "" for none."""
        try:
            own = Vocabulary.of([text])
        except (SyntaxError, ValueError) as e:
            return type(e).__name__
        return ", ".join(sorted((own.nodes - self.nodes) | (own.paths - self.paths)))[:80]

    @staticmethod
    def of(texts: list[str]) -> Vocabulary:
        trees = [n for text in texts for n in ast.walk(ast.parse(text))]
        paths = {
            ast.unparse(n) for n in trees if isinstance(n, ast.Attribute | ast.Import | ast.ImportFrom) and _rooted(n)
        }
        paths |= {
            n.func.id
            for n in trees
            if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and "_run" not in n.func.id
        }
        return Vocabulary(frozenset(type(n).__name__ for n in trees), frozenset(paths))


def _rooted(n: ast.AST) -> bool:
    """Does a path begin at an imported module?"""
    while isinstance(n, ast.Attribute):
        n = n.value
    return not isinstance(n, ast.expr) or (isinstance(n, ast.Name) and n.id in ("torch", "tl", "triton"))


def places(data: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where a text or a number stands in JSON data."""
    if isinstance(data, dict | list):
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from places(value, (*at, key))
    else:
        yield at


def value_at(data: Any, way: Sequence[Any]) -> Any:
    for key in way:
        data = data[key]
    return data


def renamed(data: Any, old: Any, new: str) -> Any:
    """The data with one value another wherever it stands, as the values of an object too."""
    if isinstance(data, dict):
        return {key: renamed(value, old, new) for key, value in data.items()}
    if isinstance(data, list):
        return [renamed(value, old, new) for value in data]
    return new if data == old and isinstance(data, str) else data


@dataclass(frozen=True)
class Form:
    """A µGraph as JSON and as text, and where in the data something can be replaced: every place, and those with a text."""

    case: Case
    data: str
    text: str
    places: tuple[tuple[Any, ...], ...]
    texts: tuple[tuple[Any, ...], ...]

    @staticmethod
    def of(case: Case) -> Form:
        data = to_json(case.mugraph)
        found = tuple(places(data))
        return Form(
            case,
            json.dumps(data),
            to_text(case.mugraph),
            found,
            tuple(p for p in found if isinstance(value_at(data, p), str)),
        )

    def with_code(self, at: int, code: str) -> Any:
        """The data with the code in place of one of its texts."""
        out = json.loads(self.data)
        *way, last = self.texts[at]
        value_at(out, way)[last] = code
        return out

    def mutant(self, chance: random.Random) -> Any:
        """The data with one to three of its values replaced by code, or by what has another type; or with one of its names another
        everywhere."""
        out = json.loads(self.data)
        if chance.random() < 0.3:
            return renamed(out, value_at(out, chance.choice(self.places)), chance.choice(CODE))
        for _ in range(chance.choice((1, 1, 1, 2, 3))):
            *way, last = chance.choice(self.places)
            value_at(out, way)[last] = chance.choice(OTHER) if chance.random() < 0.1 else chance.choice(CODE)
        return out

    def with_word(self, chance: random.Random) -> str:
        """The text form with one of its words replaced by code."""
        words = self.text.split(" ")
        words[chance.randrange(len(words))] = chance.choice(CODE)
        return " ".join(words)


def tries(forms: Sequence[Form], rounds: int, chance: random.Random) -> Iterator[tuple[Form, Any]]:
    """(form, its data or text with code in it): first each text of each form in its turn with one code after the other, for half of
    the rounds at most, then what chance gives."""
    fields = [(form, at) for form in forms for at in range(len(form.texts))]
    chance.shuffle(fields)
    each = list(itertools.islice(((f, at, code) for code in CODE for f, at in fields), rounds // 2))
    for form, at, code in each:
        yield form, form.with_code(at, code)
    for i in range(rounds - len(each)):
        form = forms[i % len(forms)]
        yield form, form.mutant(chance) if i % 5 else form.with_word(chance)


def of_mugraphs(rounds: int, seed: int = 1) -> Iterator[Row]:
    """JSON and text forms with code in every field: read, and emitted where reading takes them."""
    read, made, unknown, crashed = 0, 0, 0, 0
    forms = [Form.of(case) for case in bases()]
    own = Vocabulary.of([emitted(case, case.mugraph) for case in bases()])

    @cache  # many tries end in the same module
    def odd_of(module: str) -> str:
        return own.unknown(module) or (loading_fault(module) or ("",))[0]

    for form, forged in tries(forms, rounds, random.Random(seed)):
        try:
            mugraph = parse(forged) if isinstance(forged, str) else from_json(forged)
            read += 1
            module = emitted(form.case, mugraph)
        except REFUSALS:
            continue
        except Exception as e:
            print(f"{type(e).__name__}: {e}")
            crashed += 1
            continue
        made += 1
        odd = odd_of(module)
        if odd:
            print(f"emitted: {odd}")
            unknown += 1
    yield row("forged µGraphs: tries", rounds, "")
    texts = sum(len(form.texts) for form in forms)
    yield row("forged µGraphs: texts in them", texts, "")
    yield row("forged µGraphs: of these replaced one by one", min(texts, rounds // 2), "")
    yield row("forged µGraphs: read", read, "")
    yield row("forged µGraphs: emitted", made, "", ">= 1")
    yield row("forged µGraphs: with an unknown syntax node", unknown, "", "== 0")
    yield row("forged µGraphs: errors that no rule foresees", crashed, "", "== 0")


def forged_file(chance: random.Random, signed: str) -> str:
    """An installed kernel's file with something of it changed."""
    lines = signed.split("\n")
    at = chance.randrange(len(lines))
    kind = chance.randrange(4)
    if kind == 0:
        lines.insert(at, chance.choice(STATEMENTS))
    elif kind == 1:
        lines[at] = lines[at].replace(lines[at].strip() or "#", chance.choice(STATEMENTS), 1) + " "
    elif kind == 2:
        del lines[at]
    else:
        at = chance.randrange(len(signed) - 1)
        return signed[:at] + chr((ord(signed[at]) % 126) + 1) + signed[at + 1 :]
    return "\n".join(lines)


def of_files(rounds: int, seed: int = 1) -> Iterator[Row]:
    """Kernel files that were changed, and modules with a statement more that somebody with the key has signed."""
    chance, loads, passed = random.Random(seed), 0, 0
    modules = [(case.name, emitted(case, case.mugraph)) for case in bases()[:3]]
    before, digest = os.environ.get("MIRAGE_HOME"), "a" * 64
    with tempfile.TemporaryDirectory(prefix="mirage-bench-") as folder:
        os.environ["MIRAGE_HOME"] = folder
        try:
            for name, text in modules:
                path = installed_kernels.install(digest, text)
                signed = path.read_text()
                assert decorator.load(digest, name) is not None  # the twin: what was installed is loaded
                for _ in range(rounds // len(modules)):
                    path.write_text(forged_file(chance, signed))
                    loads += loaded(decorator.load, digest, name)
        finally:
            os.environ.pop("MIRAGE_HOME")
            if before is not None:
                os.environ["MIRAGE_HOME"] = before
    fault_of = cache(loading_fault)  # chance takes a place and a statement more than once
    for _ in range(max(1, rounds // 20)):
        _, text = chance.choice(modules)
        lines = text.split("\n")
        # the lines on which a statement of the top level or of a function may begin
        starts = [s for f in ast.parse(text).body for s in (f, *(f.body[1:] if isinstance(f, ast.FunctionDef) else ()))]
        s, more = chance.choice(starts), chance.choice(STATEMENTS)
        first = min((d.lineno for d in getattr(s, "decorator_list", ())), default=s.lineno)
        lines.insert(first - 1, " " * s.col_offset + more)
        own = s.col_offset and first > text.count("\n", 0, text.index("# mirage:begin original"))
        if fault_of("\n".join(lines)) is None and not (own and more in OF_USERS):
            print(f"may be loaded: {lines[first - 1]}")
            passed += 1
    yield row("forged kernel files: tries", rounds, "")
    yield row("forged kernel files: loads", loads, "", "== 0")
    yield row("signed modules with a statement more: loads", passed, "", "== 0")


def loaded(load: Callable[[str, str], object], digest: str, name: str) -> bool:
    try:
        return load(digest, name) is not None
    except (MirageError, UnicodeError):
        return False


def rows(rounds: int) -> Iterator[Row]:
    yield from of_mugraphs(rounds)
    yield from of_files(rounds)
