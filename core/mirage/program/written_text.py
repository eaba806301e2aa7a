"""A traced text with a call where it asks something without one: by `is`, by a `try` with handlers, by `type` and `__class__`."""

from __future__ import annotations

import ast

from mirage.program.text_frames import FILE

SAME, TRIED, OWN = (
    "__same__",
    "__tried__",
    "__own__",
)  # what `is`, the body of a `try`, and a read of an object's own call
_OWN = ("__class__", "__dict__")


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

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        own = node.attr in _OWN and isinstance(node.ctx, ast.Load)
        return _own(node.value, node.attr) if own else node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        asks = isinstance(node.func, ast.Name) and node.func.id == "type" and len(node.args) == 1 and not node.keywords
        return _own(node.args[0], "__class__") if asks else node

    def visit_Try(self, node: ast.Try) -> ast.Try:
        self.generic_visit(node)
        if node.handlers and self._inside:
            node.body.insert(0, ast.Expr(ast.Call(ast.Name(TRIED, ast.Load()), [], [])))
        return node


def _own(value: ast.expr, name: str) -> ast.expr:
    return ast.Call(ast.Name(OWN, ast.Load()), [value, ast.Constant(name)], [])


def _is_constant(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant)


def written(text: str) -> ast.Module:
    """A text's syntax tree, in which `is` and `try` ask too. Raises SyntaxError."""
    tree: ast.Module = _Written().visit(ast.parse(text, FILE))
    return ast.fix_missing_locations(tree)
