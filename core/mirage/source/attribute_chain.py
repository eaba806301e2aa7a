"""The names of an expression such as `torch.nn.functional`, as far as it is nothing but names."""

from __future__ import annotations

import ast


def attribute_chain(node: ast.expr) -> tuple[str, ...]:
    """("torch", "nn", "functional"); () for an expression that is more than a name and its attributes."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return (node.id, *reversed(parts)) if isinstance(node, ast.Name) else ()
