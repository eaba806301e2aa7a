"""Terms as people write them: infix, with fractions and big sums, shortened where they are long."""

from __future__ import annotations

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
        kind = n[0]
        if kind == "in":
            index = [("*".join(d.axes) or "0") + (f"{d.offset:+d}" if d.offset else "") for d in n[2]]
            return f"{n[1]}[{','.join(index)}]"
        if kind == "const":
            return str(n[1]) if n[1].denominator == 1 and n[1] >= 0 else f"({n[1]})"
        if kind in ("lit", "ninf", "size", "index"):
            return {"lit": str(n[-1]), "ninf": "-inf", "size": f"|{n[-1]}|", "index": f"#{'*'.join(n[-1])}"}[kind]
        if depth == 0:
            self.whole = False
            return "…"
        if kind == "add":
            text = self.go(n[1][0], depth, SUM)
            for k in n[1][1:]:
                minus = t.coefficient(k) < 0
                text += (" - " if minus else " + ") + self.go(t.neg(k) if minus else k, depth, PRODUCT)
            return f"({text})" if least > SUM else text
        if kind == "mul" or (kind == "inv" and t.kind(n[1]) != "exp"):
            return self.product(x, depth, least)
        if kind == "red":
            return f"{n[1]}_{n[2]}({self.go(n[3], depth - 1, SUM)})"
        name = n[1] if kind == "fn" else kind
        return f"{name}({', '.join(self.go(k, depth - 1, SUM) for k in t.kids(x))})"

    def product(self, x: int, depth: int, least: int) -> str:
        t = self.t
        parts = t.kids(x) if t.kind(x) == "mul" else (x,)
        over = [t.node(f)[1] for f in parts if t.kind(f) == "inv"]
        top = sorted((f for f in parts if t.kind(f) != "inv"), key=lambda f: not t.is_const(f))
        minus = bool(top) and t.is_const(top[0], -1)
        text = " ".join(self.go(f, depth - 1, ATOM) for f in top[minus:]) or "1"
        for d in over:
            text += f" / {self.go(d, depth - 1, ATOM)}"
        text = f"-{text}" if minus else text
        return f"({text})" if least == ATOM and (len(parts) > 1 or over) else text
