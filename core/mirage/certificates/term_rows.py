"""The rows by which a certificate writes terms: of an arena as they are built there, and of the checker's polynomials."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from mirage.meaning.node_rows import node_row
from mirage.meaning.terms import Terms
from mirage_certificate.polynomials import Poly
from mirage_certificate.reading import Table

Row = list[Any]


class TermRows:
    """Rows, each after those of its parts; each is read by the checker's `table` as it is written. Raises its Refused."""

    def __init__(self, t: Terms, table: Table, sizes: dict[str, int] | None = None) -> None:
        self.t, self.table, self.sizes = t, table, sizes
        self._places: dict[str, int] = {}
        self._terms: dict[int, int] = {}
        self._polynomials: dict[Poly, int] = {}

    def place(self, row: Row) -> int:
        """The number of a row, written once."""
        key = repr(row)
        if key not in self._places:
            self.table.add(row)
            self._places[key] = len(self.table.rows) - 1
        return self._places[key]

    # ---- terms of the arena
    def term(self, x: int) -> int:
        """The row of a term. Axes that the checker splits keep their names."""
        if x not in self._terms:
            kids = [self.term(k) for k in self.t.kids(x)]
            self._terms[x] = self.place([*self._head(x), *kids])
        return self._terms[x]

    def _head(self, x: int) -> Row:
        """In the checker's words for constants and reductions."""
        match node_row(self.t.node(x)):
            case ["const", value]:
                return ["num", value]
            case ["red", op, axis]:
                return [op, [axis]]
            case row:
                return row

    # ---- the checker's polynomials
    def polynomial(self, p: Poly) -> int:
        if p not in self._polynomials:
            parts = [self._monomial(m, c) for m, c in sorted(p)]
            number = ["num", "0"] if not parts else None
            self._polynomials[p] = (
                self.place(number) if number else parts[0] if len(parts) == 1 else self.place(["add", *parts])
            )
        return self._polynomials[p]

    def _monomial(self, m: tuple[tuple[int, int], ...], c: Fraction) -> int:
        parts = [self.place(["num", str(c)])] if c != 1 or not m else []
        for a, e in m:
            atom = self._atom(a)
            parts.append(atom if e == 1 else self.place(["pow", atom, e]))
        return parts[0] if len(parts) == 1 else self.place(["mul", *parts])

    def _atom(self, a: int) -> int:
        kind, *rest = self.table.book.atoms[a]
        if kind == "in":
            return self.place(["in", rest[0], [[list(axes), offset] for axes, offset in rest[1:]]])
        if kind == "fn":
            return self.place(["fn", rest[0], *map(self.polynomial, rest[1:])])
        if kind in ("sum", "max"):
            return self.place([kind, sorted(rest[0]), self.polynomial(rest[1])])
        if kind in ("inv", "exp", "sqrt"):
            return self.place([kind, self.polynomial(rest[0])])
        return self.place([kind, *(list(x) if isinstance(x, tuple) else x for x in rest)])
