"""The two sides that `mirage verify` compares, read from a decorated function, an emitted module, a µGraph or a result."""

from __future__ import annotations

import ast
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeGuard

from mirage.cli import place_argument
from mirage.cli.named_text import NamedText
from mirage.codegen.carried_mugraph import read_carried
from mirage.codegen.emit import split_parts
from mirage.codegen.size_table import focused, rows_of
from mirage.codegen.writing_module import WritingPart, taken_apart
from mirage.errors import FunctionNotFound, InvalidMugraph, ModuleUnreadable, MugraphSyntax
from mirage.ir.dtypes import BY_TORCH_NAME
from mirage.ir.program import Program
from mirage.ir.writes import Writes
from mirage.mugraph import json_form
from mirage.mugraph.check import SM_90, Limits, check
from mirage.mugraph.grammar import MuGraph
from mirage.mugraph.parse import parse
from mirage.pipeline.request import TRACE_S, Request, read, traced
from mirage.results.progress import CancelToken
from mirage.results.verdict import Evidence
from mirage.source import detect
from mirage.verify.judge import read_syntax
from mirage.verify.structure.module_syntax import ModuleSyntax

if TYPE_CHECKING:
    from mirage.isolate.task_table import Caller, Payload

KERNELS = "# mirage:begin kernels"


@dataclass(frozen=True)
class Subject:
    """One side of a comparison, for one row of sizes. A function has a `program` and its `text`; a module has a `module`, the
    original in it for `program` and `text`, and the `mugraph` that it carries, if any; a µGraph has a `mugraph`, and a `module`
    where it comes from a result. Kernels that a person wrote have a `module` alone, and the `function` in it that is called where
    one was named; they are for whatever inputs the other side has, and so is a module that is `refused` as it is read: nothing
    of it has run. `writes`: what a function, or a module, writes to its inputs; its program is that of the function on copies."""

    kind: Literal["function", "module", "mugraph", "kernels"]
    label: str
    program: Program | None = None
    text: str = ""
    function: str = ""
    mugraph: MuGraph | None = None
    module: str = ""
    refused: Evidence | None = None
    writes: Writes | None = None

    @property
    def inputs(self) -> dict[str, tuple[tuple[int, ...], str]]:
        """Shape and dtype of each input, in their order."""
        if self.program is not None:
            return {i.name: (i.type.shape, i.type.dtype) for i in self.program.inputs}
        assert self.mugraph is not None
        return {x.name: (self.mugraph.shape(x), x.dtype) for x in self.mugraph.inputs}


def load(where: str, worker: Caller, limits: Limits = SM_90) -> Subject:
    """The last of `rows`."""
    return rows(where, worker, limits)[-1]


def rows(where: str, worker: Caller, limits: Limits = SM_90) -> list[Subject]:
    """Reads FILE[::FUNCTION]: one subject for each row of sizes that a function's decorator, a module's table or a result
    has, the one that is meant where no size is named last. µGraphs have to keep to the `limits` of a
    device. Raises FileUnreadable, NoDecoratedFunction, MugraphSyntax,
    InvalidMugraph, ModuleUnreadable, and what tracing raises."""
    return rows_of_text(NamedText.of(where), worker, limits)


def rows_of_text(named: NamedText, worker: Caller, limits: Limits = SM_90) -> list[Subject]:
    """As `rows`, of a file that has been read."""
    path, wanted, text = named.path, named.function, named.text
    if not path.endswith(".py"):
        return structures(path, text, limits)
    if KERNELS in text and not wanted:
        return modules(path, text, worker, limits)
    if has_kernels(text) and not detect.find(text, path).functions:
        return [Subject("kernels", path, function=wanted, module=text)]
    return functions(named, worker)


def has_kernels(text: str) -> bool:
    """Does a text define functions with `triton.jit`? It is read and not run; what does not parse has none."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    decorators = (d for n in tree.body if isinstance(n, ast.FunctionDef) for d in n.decorator_list)
    return "triton" in text and any(ast.unparse(d).partition("(")[0].split(".")[-1] == "jit" for d in decorators)


def functions(named: NamedText, worker: Caller) -> list[Subject]:
    path, names = named.path, place_argument.functions_of(named)
    if len(names) > 1:
        raise FunctionNotFound(
            f"{path} has several decorated functions: {', '.join(names)}",
            path=path,
            next_step=f"name one: {path}::{names[0]}",
        )
    found = read(Request(named.text, named.full, names[0]))
    made = [traced(replace(found, inputs=x), named.full, worker, CancelToken()) for x in found.rows]
    label = f"{path}::{names[0]}"
    return [Subject("function", label, p, f.slice.text, f.decorated.name, writes=f.writes) for f, p in made]


def structures(path: str, text: str, limits: Limits) -> list[Subject]:
    """A µGraph as text or JSON, or a result of `mirage optimize --json`, whose module is taken too."""
    module, graphs = "", []

    if text.lstrip().startswith("{"):
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as e:
            raise MugraphSyntax(f"{path} is not JSON: {e}", path=path) from None
        if "mugraphs" in data:
            texts = [data.get(k) for k in ("text", "source")]
            module = next((x for x in texts if isinstance(x, str) and KERNELS in x), "")
            if not data["mugraphs"]:
                raise MugraphSyntax(
                    f"{path} is a result without a µGraph: {data.get('reason', 'nothing was found')}",
                    path=path,
                    next_step="optimize with --anyway to get the best verified kernel",
                )
            every = data["mugraphs"] if data.get("by_size") else data["mugraphs"][:1]  # else one and its alternatives
            graphs = [json_form.from_json(x) for x in (*every[1:], every[0])]
        else:
            graphs = [json_form.from_json(data)]
    else:
        graphs = [parse(text)]
    for graph in graphs:
        check(graph, limits)
    return [Subject("mugraph", path, mugraph=graph, module=module) for graph in graphs]


def modules(path: str, text: str, worker: Caller, limits: Limits) -> list[Subject]:
    """An emitted module. Its original, at the shapes that a row's guard expects, is the function that the row stands for; the
    µGraphs that it carries are read and valid, and nothing more is known of them. One that breaks a rule on what a module may
    contain is not traced: it is refused, or without a µGraph a text like any other."""
    try:
        text, part = taken_apart(text)
    except ModuleUnreadable as e:
        e.path = path
        raise
    found = plain_modules(path, text, worker, limits)
    return found if part is None else [with_its_writes(x, part, worker) for x in found]


def with_its_writes(subject: Subject, part: WritingPart, worker: Caller) -> Subject:
    """The module that writes to its inputs as a part of it says; refused where the function that it carries writes otherwise, or that is
    not known of what it carries."""
    if subject.refused is not None:
        return subject
    if subject.kind != "module" or subject.mugraph is None:
        raise ModuleUnreadable(f"{subject.label} writes to its inputs and carries no µGraph", path=subject.label)
    inputs = [
        {"name": n, "shape": list(s), "dtype": d, "names": []}
        for n, (s, d) in zip(part.inputs, subject.inputs.values(), strict=True)
    ]
    payload = {"text": part.text, "function": part.writing, "inputs": inputs}
    own = Writes.from_dict(worker.call("written_inputs", payload, timeout_s=TRACE_S)["writes"])
    wrong = None if own == part.writes else other_writes(own, part.writes, part.inputs)
    return replace(subject, writes=part.writes, refused=wrong)


def other_writes(a: Writes | None, b: Writes | None, names: Sequence[str]) -> Evidence:
    """The evidence that two sides write to inputs of these names, or return them, in different ways."""
    first, second = ("writes to no input" if x is None else x.words(names) for x in (a, b))
    return Evidence(link="algebra", opinion="structure", word="REJECTED", summary=f"one {first}, the other {second}")


def plain_modules(path: str, text: str, worker: Caller, limits: Limits) -> list[Subject]:
    """Of a module of a function that writes to no input."""
    parts = split_parts(text)
    bare = not parts.get("mugraph")
    try:
        if {"imports", "kernels", "launcher", "original"} - set(parts):
            raise ModuleUnreadable(f"{path} lacks one of the marked parts imports, kernels, launcher, original")
        table = rows_of(text)
        carried = [None] * len(table) if bare else read_carried(parts["mugraph"], len(table))
        for graph in carried:
            if graph is not None:
                check(graph, limits)
        pairs = [(focused(text, row.inputs), graph) for row, graph in zip(table, carried, strict=True)]
    except (ModuleUnreadable, MugraphSyntax, InvalidMugraph) as e:
        if bare:
            return [Subject("kernels", path, function=public_name(text), module=text)]
        e.path = e.path or path
        raise
    syntax = read_syntax(text)
    if syntax.word == "REJECTED" and bare:
        return [Subject("kernels", path, function=public_name(text), module=text)]
    if syntax.word == "REJECTED":
        return [Subject("module", path, module=text, refused=syntax)]
    return [
        module(path, x, graph, worker) for x, graph in (*pairs[1:], pairs[0])
    ]  # the plain names are the first one's


def public_name(text: str) -> str:
    """The function of a module that a caller calls; "" where its text does not say."""
    try:
        return ModuleSyntax(text, ast.parse(text)).public
    except (SyntaxError, ValueError):
        return ""


def module(path: str, text: str, carried: MuGraph | None, worker: Caller) -> Subject:
    """A module, read by its plain names."""
    original = original_of(path, text)
    data = worker.call("trace", original.payload, timeout_s=TRACE_S)["program"]
    program = replace(Program.from_dict(data), name=original.public)
    return Subject("module", path, program, original.text, original.function, carried, text)


@dataclass(frozen=True)
class ModulesOriginal:
    """The function that a module stands for, as it can be traced: its text, its name there, the name by which the module has it, and
    its `inputs` as the task "trace" takes them."""

    text: str
    function: str
    public: str
    inputs: list[dict[str, object]]

    @property
    def payload(self) -> Payload:
        """Of the task "trace"."""
        return {"text": self.text, "function": self.function, "inputs": self.inputs}


def original_of(path: str, text: str) -> ModulesOriginal:
    """Of a module, at the shapes that its guard expects; nothing of it runs. Raises ModuleUnreadable."""
    parts = split_parts(text)
    try:
        tree = ast.parse(parts["launcher"])
        expected = next(n.value for n in tree.body if _assigns(n, "_EXPECTED"))
        run = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "_run")
        public = [n.name for n in tree.body if isinstance(n, ast.FunctionDef) and not n.name.startswith("_")][-1]
        shapes = shapes_and_dtypes(expected)
        names = [a.arg for a in run.args.args][: len(shapes)]
        inputs: list[dict[str, object]] = [
            {"name": n, "shape": list(s), "dtype": BY_TORCH_NAME[d], "names": []}
            for n, (s, d) in zip(names, shapes, strict=True)
        ]
    except (SyntaxError, StopIteration, ValueError, AttributeError, IndexError, KeyError) as e:
        raise ModuleUnreadable(
            f"{path}: the launcher's tables cannot be read ({type(e).__name__})", path=path
        ) from None
    imports = "\n".join(x for x in parts["imports"].splitlines() if "triton" not in x and "mirage" not in x)
    lines = [x for x in parts["original"].splitlines() if not x.startswith("@")]
    return ModulesOriginal(f"{imports}\n\n\n" + "\n".join(lines) + "\n", f"_original_{public}", public, inputs)


def shapes_and_dtypes(expected: ast.expr) -> list[tuple[tuple[int, ...], str]]:
    """The rows of `_EXPECTED`, such as `((16, 4096), torch.float16)`. ValueError for anything else."""
    found = []
    for row in expected.elts if isinstance(expected, ast.Tuple | ast.List) else [expected]:
        match row:
            case ast.Tuple(elts=[shape, ast.Attribute(attr=dtype)]):
                found.append((tuple(ast.literal_eval(shape)), dtype))
            case _:
                raise ValueError(f"{ast.unparse(row)} is no shape with a dtype")
    return found


def _assigns(node: ast.stmt, name: str) -> TypeGuard[ast.Assign]:
    return isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == name


def tables(text: str, path: str) -> tuple[dict[str, int], dict[str, dict[str, int]]]:
    """SIZES and TILES of a module, read and not run."""
    found = {}
    try:
        for node in ast.parse(split_parts(text)["launcher"]).body:
            for name in ("SIZES", "TILES"):
                if _assigns(node, name):
                    found[name] = ast.literal_eval(node.value)
        return found["SIZES"], found["TILES"]
    except (SyntaxError, ValueError, KeyError):
        raise ModuleUnreadable(f"{path}: SIZES and TILES cannot be read", path=path) from None
