"""A traced text with a call where it asks something without one: by `is`, and by a `try` with handlers."""

from __future__ import annotations

import ast

from mirage.program.text_frames import FILE

SAME, TRIED = "__same__", "__tried__"  # what `is` and the body of a `try` call


class _Written(ast.NodeTransformer):
    """The text with a call where it asks without one."""

    def __init__(self) -> None:
        self._inside = False

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        before, self._inside = self._inside, True
        self.generic_visit(node)
        self._inside = before
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        sides = (node.left, *node.comparators)
        if len(sides) != 2 or not isinstance(node.ops[0], ast.Is | ast.IsNot) or any(map(_is_constant, sides)):
            return node
        asked = ast.Call(ast.Name(SAME, ast.Load()), list(sides), [])
        return asked if isinstance(node.ops[0], ast.Is) else ast.UnaryOp(ast.Not(), asked)

    def visit_Try(self, node: ast.Try) -> ast.Try:
        self.generic_visit(node)
        if node.handlers and self._inside:
            node.body.insert(0, ast.Expr(ast.Call(ast.Name(TRIED, ast.Load()), [], [])))
        return node


def _is_constant(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant)


def written(text: str) -> ast.Module:
    """A text's syntax tree, in which `is` and `try` ask too. Raises SyntaxError."""
    tree: ast.Module = _Written().visit(ast.parse(text, FILE))
    return ast.fix_missing_locations(tree)
