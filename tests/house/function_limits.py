"""Check that each function is short, simple and takes few parameters; prints those that are not.

    python tests/house/function_limits.py [PATH...]

Cyclomatic complexity is counted as radon counts it: one for the function, and one for each `if`, `elif`, conditional
expression, loop, loop's or try's `else`, `except`, `assert`, comprehension and its filters, boolean operator and
`case` that is not the last resort. A function inside another counts for itself, but its lines are the outer's too.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("core", "lsp", "mirage_daemon")
LINES, COMPLEXITY, PARAMETERS = 60, 20, 8

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


class Measured(NamedTuple):
    """A function's place and what is limited of it."""

    path: Path
    line: int
    name: str
    lines: int
    complexity: int
    parameters: int

    def faults(self) -> list[str]:
        limits = (
            (self.lines, LINES, "lines"),
            (self.complexity, COMPLEXITY, "paths"),
            (self.parameters, PARAMETERS, "parameters"),
        )
        return [f"{value} {what} (at most {limit})" for value, limit, what in limits if value > limit]


def branches(node: ast.AST) -> int:
    """What one node adds to the complexity of its function."""
    match node:
        case ast.If() | ast.IfExp() | ast.Assert() | ast.ExceptHandler():
            return 1
        case ast.For() | ast.AsyncFor() | ast.While():
            return 1 + bool(node.orelse)
        case ast.Try():
            return int(bool(node.orelse))
        case ast.BoolOp():
            return len(node.values) - 1
        case ast.comprehension():
            return 1 + len(node.ifs)
        case ast.Match():
            last = node.cases[-1]
            return len(node.cases) - (
                isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None and last.guard is None
            )
    return 0


def complexity(function: FunctionNode) -> int:
    total, waiting = 1, list[ast.AST](function.body)
    while waiting:
        node = waiting.pop()
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            total += branches(node)
            waiting += ast.iter_child_nodes(node)
    return total


def parameters(function: FunctionNode) -> int:
    arguments = function.args
    named = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return len(named) - (named[:1] in (["self"], ["cls"]))


def measured(path: Path, text: str) -> Iterator[Measured]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            yield Measured(path, node.lineno, node.name, length, complexity(node), parameters(node))


def beyond(paths: list[Path]) -> list[str]:
    """A line for each function of the files under `paths` that is past a limit."""
    found = []
    for top in paths:
        for path in sorted(top.rglob("*.py")) if top.is_dir() else [top]:
            for function in measured(path, path.read_text("utf-8")):
                if function.faults():
                    found.append(f"{path}:{function.line}: {function.name}: {', '.join(function.faults())}")
    return found


def main(arguments: list[str]) -> int:
    found = beyond([Path(a) for a in arguments] or [ROOT / folder for folder in FOLDERS])
    print("\n".join(found) or f"every function: at most {LINES} lines, {COMPLEXITY} paths, {PARAMETERS} parameters")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
