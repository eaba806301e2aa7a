"""A certificate read from JSON, within limits: hostile text is refused in bounded time, and nothing of it is run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from mirage_certificate import replay
from mirage_certificate.polynomials import ONE, Book, Poly, Refused, need
from mirage_certificate.replay import NONZERO, Condition, Guards, Reason, Step

MOST_BYTES, MOST_ITEMS = 4 << 20, 50_000
NUMBER = re.compile(r"-?[0-9]{1,40}(/[1-9][0-9]{0,39})?\Z")
LITERAL = re.compile(r"-?[0-9]{1,40}(\.[0-9]{1,40})?(e[-+]?[0-9]{1,3})?\Z")
NAME = re.compile(r"[^\s\x00-\x1f]{1,200}\Z")
DOMAIN = {"inv": NONZERO, "sqrt": replay.NOT_NEGATIVE, "log": replay.POSITIVE}
Place = tuple[int, Guards, frozenset[str]]


def parsed(text: bytes) -> Any:
    """JSON without floats, repeated keys, other constants and deep nesting."""
    need(len(text) <= MOST_BYTES, "the file is too large")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        need(len({k for k, _ in pairs}) == len(pairs), "a key stands twice")
        return dict(pairs)

    def no(text: str) -> None:
        raise Refused("a number that is no whole one")

    try:
        return json.loads(text.decode("utf-8"), object_pairs_hook=unique, parse_float=no, parse_constant=no)
    except (ValueError, RecursionError) as e:
        raise Refused(f"the file is no certificate: {type(e).__name__}") from None


def record(data: Any, keys: str, more: str | None = "") -> dict[str, Any]:
    """A JSON object with exactly these keys, and perhaps some of `more` (None: any)."""
    need(isinstance(data, dict) and len(data) <= 1000, "an object is missing, or too large")
    want = set(keys.split())
    need(
        want <= set(data) and (more is None or set(data) <= want | set(more.split())), f"other keys than {keys or more}"
    )
    return dict(data)


def listed(data: Any, most: int = MOST_ITEMS) -> list[Any]:
    need(isinstance(data, list) and len(data) <= most, "a list is missing, or too long")
    return list(data)


def name(data: Any) -> str:
    need(isinstance(data, str) and NAME.match(data) is not None, "a name is missing")
    return str(data)


def whole(data: Any, least: int, most: int) -> int:
    need(type(data) is int and least <= data <= most, "a whole number is missing, or too large")
    return int(data)


class Table:
    """The terms of a certificate: its rows as they stand, and their polynomials. `lengths`: of the axes that may be named;
    `inputs`: the number of dimensions of each."""

    def __init__(self, book: Book, lengths: Mapping[str, int], inputs: Mapping[str, int]) -> None:
        self.book, self.lengths, self.inputs = book, lengths, inputs
        self.rows: list[list[Any]] = []
        self.terms: list[Poly] = []

    def axes(self, data: Any) -> tuple[str, ...]:
        names = tuple(map(name, listed(data, 64)))
        need(len(set(names)) == len(names) and set(names) <= set(self.lengths), "an axis that is not known")
        return names

    def term(self, i: Any) -> Poly:
        return self.terms[whole(i, 0, len(self.terms) - 1)]

    def add(self, data: Any) -> None:
        row = listed(data, 4096)
        self.terms.append(self._term(row))
        self.rows.append(row)

    def _term(self, row: list[Any]) -> Poly:
        book = self.book
        match row:
            case ["in", who, index]:
                return self._input(name(who), listed(index, 64))
            case ["num", str(text)] if NUMBER.match(text):
                return book.const(Fraction(text))
            case ["lit", str(text)] if LITERAL.match(text):
                return book.literal(text)
            case ["ninf"]:
                return book.negative_infinity()
            case ["size", axis]:
                return book.size(*self.axes([axis]))
            case ["index", axes]:
                return book.atom(("index", self.axes(axes)), self.axes(axes))
            case ["pow", x, n]:
                return book.power(self.term(x), whole(n, -256, 256))
            case ["sum" | "max" as op, axes, x]:
                return (book.sum if op == "sum" else book.max)(self.axes(axes), self.term(x))
            case ["fn", called, *args]:
                return book.fn(name(called), *map(self.term, args))
            case ["inv" | "exp" | "sqrt" as op, x]:
                return {"inv": book.inverse, "exp": book.exp, "sqrt": book.sqrt}[op](self.term(x))
            case ["add" | "mul" as op, *parts]:
                return (book.plus if op == "add" else book.product)(*map(self.term, parts))
        raise Refused("a row that is no term")

    def _input(self, who: str, index: list[Any]) -> Poly:
        pairs = [listed(i, 2) for i in index]
        need(all(len(i) == 2 for i in pairs), "an index is missing")
        need("#" in who or self.inputs.get(who) == len(pairs), "an input that is not known, or has other dimensions")
        places = [(self.axes(a), whole(o, -(1 << 62), 1 << 62)) for a, o in pairs]
        return self.book.atom(("in", who, *places), {a for axes, _ in places for a in axes})

    # ---- where a term has a value
    def conditions(self, root: int) -> Iterator[Condition]:
        """What must hold for the term of a row to have a value, as the row and its parts are written."""
        start: Place = (root, frozenset(), frozenset())
        seen, todo = {start}, [start]
        while todo:
            i, guards, bound = todo.pop()
            row = self.rows[i]
            kind, *parts = row[1:] if row[0] == "fn" else row
            if kind in DOMAIN or (kind == "pow" and parts[1] < 0):
                yield Condition(DOMAIN.get(kind, NONZERO), self.terms[parts[0]], guards, bound)
            for following in self._below(row, guards, bound):
                if following not in seen:
                    need(len(seen) < replay.MOST_CONDITIONS, "too many side conditions")
                    seen.add(following)
                    todo.append(following)

    def _below(self, row: list[Any], guards: Guards, bound: frozenset[str]) -> Iterator[Place]:
        """The parts of a row, each with the guards under which its value counts, and the axes that are bound there."""
        match row:
            case ["fn", "where", c, chosen, other]:
                yield c, guards, bound
                yield chosen, guards | {(self.terms[c], True)}, bound
                yield other, guards | {(self.terms[c], False)}, bound
            case ["mul", *parts]:
                flags = {k for k in parts if self.book.selects(self.terms[k]) and self.terms[k] != ONE}
                more = guards | {(self.terms[k], True) for k in flags}
                yield from ((k, guards if k in flags else more, bound) for k in parts)
            case ["sum" | "max", axes, x]:
                yield x, guards, bound | set(axes)
            case ["add", *parts] | ["fn", _, *parts]:
                yield from ((k, guards, bound) for k in parts)
            case ["inv" | "exp" | "sqrt" | "pow", x, *_]:
                yield x, guards, bound

    # ---- steps
    def step(self, data: Any) -> Step:
        row = record(data, "law at with", "turned")
        need(row.get("turned", True) is True and isinstance(row["law"], str), "a law is missing")
        values: dict[str, Any] = {}
        for k, v in record(row["with"], "", "a b c n A B").items():
            values[k] = whole(v, -64, 64) if k == "n" else frozenset(self.axes(v)) if k.isupper() else self.term(v)
        return Step(row["law"], self.term(row["at"]), values, "turned" in row)

    def reason(self, data: Any) -> Reason:
        row = record(data, "needs of because")
        need(isinstance(row["needs"], str) and row["needs"] in replay.STRONGER, "no such side condition")
        condition = Condition(row["needs"], self.term(row["of"]))
        if row["because"] == "sign":
            return Reason(condition)
        why = record(row["because"], "first factor steps")
        return Reason(
            condition, self.term(why["first"]), self.term(why["factor"]), tuple(map(self.step, listed(why["steps"])))
        )
