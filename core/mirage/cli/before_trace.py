"""What is found out about a module without PyTorch, while a worker imports it: the judge then has the answers already."""

from __future__ import annotations

import ast
from collections.abc import Callable

from mirage.cli.verify_subjects import ModulesOriginal, original_of
from mirage.codegen.carried_mugraph import read_carried
from mirage.codegen.emit import split_parts
from mirage.codegen.size_table import focused, rows_of
from mirage.codegen.writing_module import taken_apart
from mirage.errors import MirageError
from mirage.mugraph.check import Limits, check
from mirage.verify.judge import memory_of_graph, memory_of_text, read_syntax


def read(text: str, limits: Limits, begin: Callable[[ModulesOriginal], object] = bool) -> None:
    """Asks of an emitted module's text and of the µGraphs that it carries what the judge will ask, and lets the traces of its originals
    `begin`. A text that is none, or that is refused, is left: whoever reads the argument says so."""
    try:
        text, _ = taken_apart(text)
        parts = split_parts(text)
        if not parts.get("mugraph") or read_syntax(text).word == "REJECTED":
            return
        table = rows_of(text)
        rows = [
            (graph, focused(text, row.inputs), len(row.inputs))
            for row, graph in zip(table, read_carried(parts["mugraph"], len(table)), strict=True)
            if graph is not None
        ]
        for graph, module, _ in rows:
            check(graph, limits)
            begin(original_of("", module))
        for graph, module, tensors in rows:
            memory_of_graph(graph)
            memory_of_text(graph, module, parameters(module, tensors))
    except (MirageError, SyntaxError, StopIteration):
        return


def parameters(module: str, tensors: int) -> tuple[str, ...]:
    """The names of the launcher's first parameters, which are the tensors. StopIteration where there is no launcher."""
    body = ast.parse(split_parts(module)["launcher"]).body
    run = next(n for n in body if isinstance(n, ast.FunctionDef) and n.name == "_run")
    return tuple(a.arg for a in run.args.args[:tensors])
