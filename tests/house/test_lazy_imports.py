"""Imports of our own modules inside functions: only those that the table names, each with its reason."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from lazy_imports import LAZY, REASONS

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {
    "mirage": "core",
    "mirage_certificate": "core",
    "mirage_original": "core",
    "mirage_daemon": ".",
    "mirage_lsp": "lsp",
}


def modules() -> Iterator[tuple[str, str]]:
    """The name and the text of every module of ours."""
    for package, folder in PACKAGES.items():
        top = ROOT / folder
        for path in sorted((top / package).rglob("*.py")):
            name = ".".join(path.relative_to(top).with_suffix("").parts)
            yield name.removesuffix(".__init__"), path.read_text("utf-8")


def inside_functions(text: str) -> set[str]:
    """The modules of ours that a text imports inside its functions."""
    found: set[str] = set()
    outside = re.compile(r"^(from [\w.]+ )?import\b", re.M)
    if not re.search(r"[^\n]\bimport\b", outside.sub("", text)):  # to parse it takes much longer
        return found
    for function in ast.walk(ast.parse(text)):
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for node in ast.walk(function):
                if isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
                    found |= {node.module} if "." in node.module else {f"{node.module}.{a.name}" for a in node.names}
                elif isinstance(node, ast.ImportFrom):
                    found.add("." * node.level)  # relative: none is in the table
                elif isinstance(node, ast.Import):
                    found |= {a.name for a in node.names}
    return {name for name in found if name.startswith(".") or name.partition(".")[0] in PACKAGES}


def unlike_the_table(found: dict[str, set[str]], table: dict[str, dict[str, str]]) -> list[str]:
    """What a text imports and the table does not name, and the other way round."""
    have = {(module, name) for module, names in found.items() for name in names}
    named = {(module, name) for module, names in table.items() for name in names}
    return [f"{m} imports {n} inside a function, and the table does not say why" for m, n in sorted(have - named)] + [
        f"the table says that {m} imports {n} inside a function, and it does not" for m, n in sorted(named - have)
    ]


def test_each_import_inside_a_function_is_in_the_table_and_back() -> None:
    assert unlike_the_table({name: inside_functions(text) for name, text in modules()}, LAZY) == []
    assert {reason for row in LAZY.values() for reason in row.values()} == set(REASONS)


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n    from mirage.verify import judge",
        "def f():\n    import mirage.verify",
        "async def f():\n    if f:\n        from mirage.verify.judge import Case",
        "class C:\n    def f(self):\n        def g():\n            from mirage import verify",
        "def f():\n    from . import judge",
    ],
)
def test_an_import_that_the_table_does_not_name_is_seen(text: str) -> None:
    assert unlike_the_table({"mirage.a": inside_functions(text)}, {}) != []


@pytest.mark.parametrize("text", ["from mirage.verify import judge\n", "def f():\n    import torch, json\n", "x = 1\n"])
def test_a_row_without_its_import_is_seen(text: str) -> None:
    assert unlike_the_table({"mirage.a": inside_functions(text)}, {"mirage.a": {"mirage.verify": "COMMANDS"}}) != []
    assert unlike_the_table({"mirage.a": inside_functions(text)}, {}) == []
