"""Terms as people write them: infix, with fractions and big sums, shortened where they are long."""

from __future__ import annotations

from mirage.meaning.nodes import (
    Add,
    Apply,
    Const,
    Exp,
    FloatLiteral,
    Index,
    Input,
    Inv,
    Mul,
    NegInf,
    Node,
    Reduce,
    Size,
)
from mirage.meaning.terms import Terms

SUM, PRODUCT, ATOM = 0, 1, 2  # how tightly an operator binds
WIDE = 160  # characters, from where on the inner parts are left out


def written(t: Terms, x: int, wide: int = WIDE) -> str:
    """The term in at most about `wide` characters, as deep as fits."""
    text = ""
    for depth in range(2, 40):
        following, whole = _Writer(t, depth).run(x)
        if text and len(following) > wide:
            break
        text = following
        if whole:
            break
    return text


class _Writer:
    def __init__(self, t: Terms, depth: int) -> None:
        self.t, self.depth, self.whole = t, depth, True

    def run(self, x: int) -> tuple[str, bool]:
        return self.go(x, self.depth, SUM), self.whole

    def go(self, x: int, depth: int, least: int) -> str:
        t = self.t
        n = t.node(x)
        leaf = self.leaf(n)
        if leaf is not None:
            return leaf
        if depth == 0:
            self.whole = False
            return "…"
        match n:
            case Add(parts):
                return self.sum(parts, depth, least)
            case Mul(parts):
                return self.product(parts, depth, least)
            case Inv(arg) if not isinstance(t.node(arg), Exp):
                return self.product((x,), depth, least)
            case Reduce(op, axis, body):
                return f"{op}_{axis}({self.go(body, depth - 1, SUM)})"
        name = n.name if isinstance(n, Apply) else n.kind
        return f"{name}({', '.join(self.go(k, depth - 1, SUM) for k in n.kids)})"

    def leaf(self, n: Node) -> str | None:
        match n:
            case Input(name, index):
                shown = (("*".join(d.axes) or "0") + (f"{d.offset:+d}" if d.offset else "") for d in index)
                return f"{name}[{','.join(shown)}]"
            case Const(value):
                return str(value) if value.denominator == 1 and value >= 0 else f"({value})"
            case FloatLiteral(text):
                return text
            case NegInf():
                return "-inf"
            case Size(axis):
                return f"|{axis}|"
            case Index(axes):
                return f"#{'*'.join(axes)}"
        return None

    def sum(self, parts: tuple[int, ...], depth: int, least: int) -> str:
        t = self.t
        first, *more = parts
        text = self.go(first, depth, SUM)
        for k in more:
            minus = t.coefficient(k) < 0
            text += (" - " if minus else " + ") + self.go(t.neg(k) if minus else k, depth, PRODUCT)
        return f"({text})" if least > SUM else text

    def product(self, parts: tuple[int, ...], depth: int, least: int) -> str:
        t = self.t
        over = [n.arg for n in map(t.node, parts) if isinstance(n, Inv)]
        top = sorted((f for f in parts if not isinstance(t.node(f), Inv)), key=lambda f: not t.is_const(f))
        minus = bool(top) and t.is_const(top[0], -1)
        text = " ".join(self.go(f, depth - 1, ATOM) for f in top[minus:]) or "1"
        for d in over:
            text += f" / {self.go(d, depth - 1, ATOM)}"
        text = f"-{text}" if minus else text
        return f"({text})" if least == ATOM and (len(parts) > 1 or over) else text
