"""The identity of a function: a digest of its code and of all that it refers to."""

from __future__ import annotations

import ast

from mirage.errors import UnsupportedFunctionKind
from mirage.source import digest
from mirage.source.module_names import ModuleNames
from mirage.source.references import References


def followed(function: ast.FunctionDef, names: ModuleNames) -> tuple[References, str]:
    """What a function refers to, and the digest of it all. Raises UnsafeReference, SideEffect, UnsupportedFunctionKind."""
    references = References(names)
    try:
        references.follow(function)
        return references, _digest(function, references)
    except RecursionError:
        place = names.chunks.place(function)
        raise UnsupportedFunctionKind(f"`{function.name}` is nested too deeply", **place) from None


def _digest(function: ast.FunctionDef, references: References) -> str:
    imports = sorted(f"{i.name}={i.target}" for i in references.imports.values())
    constants = [references.constants[name] for name in sorted(references.constants)]
    helpers = [references.helpers[name] for name in sorted(references.helpers)]
    texts = [_written(n, references) for n in (*helpers, function)]
    return digest.of_texts([*map(digest.written, constants), *texts], imports)


def _written(node: ast.FunctionDef, references: References) -> str:
    """What the digest of a function is made of: read once for all that refer to it."""
    known = references.names.closures.written
    if node not in known:
        known[node] = digest.written(_without_decorators(node, references))
    return known[node]


def _without_decorators(node: ast.FunctionDef, references: References) -> ast.FunctionDef:
    rest = [d for d in node.decorator_list if not references.is_dropped(d)]
    new = ast.FunctionDef(name=node.name, args=node.args, body=node.body, decorator_list=rest, lineno=node.lineno)
    return ast.copy_location(new, node)
