"""Laws as text: `sqrt(a) * sqrt(b) == sqrt(a * b) if a >= 0 and b >= 0`.

Letters stand for any tensors, element by element. `sum(k, x[k])` and `max(k, x[k])` bind an axis: a letter varies along
a bound axis only if brackets after it name the axis, so in `sum(k, x[k] * c) == c * sum(k, x[k])` c is the same for all
k. `size(k)` is the length of a bound axis. The axioms and the user's rules are read by this one reader.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from mirage.ir.index import DimIndex
from mirage.meaning.nodes import Reduce, Size
from mirage.meaning.terms import Terms
from mirage.operators.block_operators import BLOCK
from mirage.operators.entry import BlockOperator

MARK = "?"  # letters of a law are inputs whose names no program's input can have
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.GtE: ">=", ast.Gt: ">", ast.LtE: "<=", ast.Lt: "<",
}  # fmt: skip
_LETTER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def is_function(entry: BlockOperator) -> bool:
    """An operator of real numbers that a law's text may call: flags and roundings are none, and sums and products are
    written as Python does."""
    return entry.form == "pointwise" and entry.least == entry.most and not entry.flag and not entry.rounds


class LawSyntax(ValueError):
    """The text is no law."""


@dataclass(frozen=True)
class Comparison:
    """left <relation> right, of terms."""

    left: int
    relation: str
    right: int


@dataclass(frozen=True)
class ReadLaw:
    """`claim` holds wherever all of `conditions` do and both sides are defined; terms of one arena."""

    name: str
    text: str
    claim: Comparison
    conditions: tuple[Comparison, ...] = ()


class _Reader:
    def __init__(self, t: Terms) -> None:
        self.t = t
        self.letters: dict[str, tuple[str, ...]] = {}
        self.bound: set[str] = set()
        self.scope: list[str] = []

    def comparison(self, node: ast.AST) -> Comparison:
        if not isinstance(node, ast.Compare) or len(node.ops) != 1 or type(node.ops[0]) not in _COMPARE:
            raise LawSyntax(f"`{ast.unparse(node)}` is no comparison of two expressions")
        return Comparison(self.term(node.left), _COMPARE[type(node.ops[0])], self.term(node.comparators[0]))

    def axis(self, node: ast.AST) -> str:
        if not isinstance(node, ast.Name):
            raise LawSyntax("an axis is a name")
        return node.id

    def term(self, node: ast.AST) -> int:
        t = self.t
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
            return t.const(node.value) if isinstance(node.value, int) else t.literal(node.value)
        if isinstance(node, ast.Name):
            return self.letter(node.id, ())
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            inside = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            return self.letter(node.value.id, tuple(self.axis(a) for a in inside))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return t.neg(self.term(node.operand))
        if isinstance(node, ast.BinOp):
            return self.operation(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            return self.call(node.func.id, node.args)
        raise LawSyntax(f"`{ast.unparse(node)}` is not covered")

    def letter(self, name: str, axes: tuple[str, ...]) -> int:
        if self.letters.setdefault(name, axes) != axes:
            raise LawSyntax(f"`{name}` stands with different axes")
        if len(set(axes)) < len(axes):
            raise LawSyntax(f"`{name}` names an axis twice")
        for a in axes:
            if a not in self.scope:
                raise LawSyntax(f"`{name}[{', '.join(axes)}]` stands outside the sum or maximum over `{a}`")
        return self.t.input(MARK + name, tuple(DimIndex((MARK + a,)) for a in axes))

    def operation(self, node: ast.BinOp) -> int:
        t = self.t
        if isinstance(node.op, ast.Pow):
            n = node.right
            if not isinstance(n, ast.Constant) or not isinstance(n.value, int) or not 1 <= n.value <= 16:
                raise LawSyntax("powers are whole numbers from 1 to 16")
            return t.mul(*[self.term(node.left)] * n.value)
        a, b = self.term(node.left), self.term(node.right)
        if isinstance(node.op, ast.Add):
            return t.add(a, b)
        if isinstance(node.op, ast.Sub):
            return t.sub(a, b)
        if isinstance(node.op, ast.Mult):
            return t.mul(a, b)
        if isinstance(node.op, ast.Div):
            return t.mul(a, t.inv(b))
        raise LawSyntax(f"`{ast.unparse(node)}` is not covered")

    def call(self, name: str, args: list[ast.expr]) -> int:
        t = self.t
        if name in ("sum", "max") and len(args) == 2:
            axis = self.axis(args[0])
            if axis in self.scope:
                raise LawSyntax(f"`{axis}` is bound twice, one inside the other")
            self.bound.add(axis)
            self.scope.append(axis)
            body = self.term(args[1])
            self.scope.pop()
            return t.sum(MARK + axis, body) if name == "sum" else t.max(MARK + axis, body)
        if name == "size" and len(args) == 1:
            self.bound.add(self.axis(args[0]))
            return t.size(MARK + self.axis(args[0]))
        if name == "where" and len(args) == 3:
            c = self.comparison(args[0])
            if c.relation not in ("<", "<=", "=="):
                raise LawSyntax("where takes a comparison by <, <= or ==")
            flag = t.fn({"<": "lt", "<=": "le", "==": "eq"}[c.relation], c.left, c.right)
            return t.where(flag, self.term(args[1]), self.term(args[2]))
        entry = BLOCK.get(name)
        if entry is not None and is_function(entry) and len(args) == entry.least:
            return entry.as_term(t, *(self.term(a) for a in args))
        raise LawSyntax(f"`{name}` with {len(args)} arguments is not covered")


def read_law(t: Terms, name: str, text: str) -> ReadLaw:
    """The law of a text, its terms in `t`. Raises LawSyntax."""
    claim, word, condition = text.partition(" if ")
    reader = _Reader(t)
    try:
        said = ast.parse(claim.strip(), mode="eval").body
        held = ast.parse(condition.strip(), mode="eval").body if word else None
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise LawSyntax(f"`{text}` does not parse") from error
    parts = held.values if isinstance(held, ast.BoolOp) and isinstance(held.op, ast.And) else [held] if held else []
    try:
        claimed = reader.comparison(said)
        reader.scope = sorted(reader.bound)  # a condition on x[k] is one for all k
        law = ReadLaw(name, text, claimed, tuple(reader.comparison(p) for p in parts))
    except OverflowError as error:
        raise LawSyntax(f"`{text}` has a number that is too large") from error
    clash = reader.bound & set(reader.letters)
    if clash:
        raise LawSyntax(f"`{min(clash)}` is both an axis and a letter")
    _check_letters(t, law)
    _check_axes(t, law)
    return law


def _sides(law: ReadLaw) -> list[int]:
    """The terms of a law but for the left side of its claim."""
    return [law.claim.right, *(x for c in law.conditions for x in (c.left, c.right))]


def _check_letters(t: Terms, law: ReadLaw) -> None:
    free = set().union(*(letters_of(t, x) for x in _sides(law))) - letters_of(t, law.claim.left)
    if law.claim.relation == "==" and free:
        raise LawSyntax(f"`{min(free).removeprefix(MARK)}` does not stand on the left side")


def _check_axes(t: Terms, law: ReadLaw) -> None:
    axes = {n.axis for n in map(t.node, t.walk(law.claim.left)) if isinstance(n, Reduce)}
    other = {n.axis for x in _sides(law) for n in map(t.node, t.walk(x)) if isinstance(n, (Reduce, Size))} - axes
    if other:
        raise LawSyntax(f"no sum or maximum of the left side binds `{min(other).removeprefix(MARK)}`")


def letters_of(t: Terms, x: int) -> set[str]:
    return {n for n in t.inputs(x) if n.startswith(MARK)}
