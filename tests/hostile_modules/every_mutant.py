"""All families of edits of emitted modules, and the mutants that they make of one module."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from hostile_modules import (
    equal_families,
    graph_families,
    launcher_families,
    precision_families,
    state_families,
    text_families,
)
from hostile_modules.mutant import Family, Mutant

FAMILIES: tuple[Family, ...] = tuple(
    family
    for file in (
        text_families,
        precision_families,
        launcher_families,
        state_families,
        graph_families,
        equal_families,
    )
    for family in file.FAMILIES
)
GROUPS = tuple(dict.fromkeys(family.group for family in FAMILIES))


def parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def code(text: str) -> str:
    """What runs of a module: its syntax tree without comments and docstrings."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return ast.dump(tree)


def every_mutant(module_text: str, families: Sequence[Family] = FAMILIES) -> Iterator[Mutant]:
    """The mutants of an emitted module in the order of the families, each text once and each a module that parses.

    None that is to be refused always differs in comments and docstrings alone.
    """
    seen, own = {module_text}, code(module_text)
    for family in families:
        for mutant in family.mutants(module_text):
            if mutant.text not in seen and parses(mutant.text):
                seen.add(mutant.text)
                if family.expected != "wrong" or code(mutant.text) != own:
                    yield mutant
