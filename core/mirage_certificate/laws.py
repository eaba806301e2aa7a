"""The laws that a certificate may use, each stated here in its own words: what no step names does not happen.

Small letters are any terms, capital letters sets of axes, `n` a whole number. `sum(A, x)` and `max(A, x)` bind the axes A.
Both sides are equal wherever the conditions hold, with functions that are total (`polynomials.py`).
tests/certificates/test_certificate_laws.py evaluates each at random points.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mirage_certificate.polynomials import Book, Poly, need

TEXT = """
sum of a sum: sum(A, a + b) = sum(A, a) + sum(A, b)
factor of a sum: sum(A | B, c * a) = sum(A, c * sum(B, a)) if free(c, B) and apart(A, B)
exponential of a sum: exp(a + b) = exp(a) * exp(b)
exponential of a multiple: exp(n * a) = exp(a) ** n
inverse of a product: inv(a * b) = inv(a) * inv(b)
square of a root: sqrt(a) ** 2 = a if not_negative(a)
square of an absolute value: abs(a) ** 2 = a * a
guard of a number: finite(a) = a
term of a maximum: max(A, a + c) = max(A, a) + c if free(c, A)
factor of a maximum: max(A, c * a) = c * max(A, a) if free(c, A) and positive(c)
maximum of exponentials: max(A, exp(a)) = exp(max(A, a))
maximum of maxima: max(A, maximum(a, b)) = maximum(max(A, a), max(A, b))
sigmoid: sigmoid(a) = inv(1 + exp(-a))
tanh: tanh(a) = 1 - 2 * inv(exp(2 * a) + 1)
logarithm of an exponential: log(exp(a)) = a
exponential of a logarithm: exp(log(a)) = a if positive(a)
logarithm of a product: log(a * b) = log(a) + log(b) if positive(a) and positive(b)
logarithm of a root: log(sqrt(a)) = log(a) * inv(2) if positive(a)
root of an exponential: sqrt(exp(a)) = exp(a * inv(2))
root of a square: sqrt(a * a) = abs(a)
root of a product: sqrt(a * b) = sqrt(a) * sqrt(b) if not_negative(a) and not_negative(b)
root of an inverse: sqrt(inv(a)) = inv(sqrt(a))
what is not negative: abs(a) = a if not_negative(a)
what is not positive: abs(a) = -a if not_negative(-a)
absolute value of a product: abs(a * b) = abs(a) * abs(b)
absolute value by a maximum: abs(a) = 2 * maximum(a, 0) - a
minimum by a maximum: minimum(a, b) = a + b - maximum(a, b)
the greater of two: maximum(a, b) = a if not_negative(a - b)
maximum within a maximum: maximum(a, maximum(a, b)) = maximum(a, b)
odd erf: erf(-a) = -erf(a)
odd sine: sin(-a) = -sin(a)
even cosine: cos(-a) = cos(a)
"""
CLEARED = "denominator multiplied out"  # of an equation with zero: not between terms, so not in the table


@dataclass(frozen=True)
class Law:
    """`left` to the power `exponent` is `right`, if all `conditions` hold; expressions of Python's grammar."""

    name: str
    text: str
    left: ast.expr
    right: ast.expr
    conditions: tuple[ast.Call, ...]
    exponent: int = 1

    @property
    def letters(self) -> frozenset[str]:
        names = {n.id for side in (self.left, self.right) for n in ast.walk(side) if isinstance(n, ast.Name)}
        return frozenset(x for x in names if len(x) == 1)


def _read(line: str) -> Law:
    name, text = line.split(": ", 1)
    claim, _, condition = text.partition(" if ")
    left, right = (ast.parse(x.strip(), mode="eval").body for x in claim.split(" = "))
    calls = tuple(n for n in ast.walk(ast.parse(condition or "()")) if isinstance(n, ast.Call))
    if isinstance(left, ast.BinOp) and isinstance(left.op, ast.Pow):
        return Law(name, text, left.left, right, calls, 2)
    return Law(name, text, left, right, calls)


LAWS: Mapping[str, Law] = {law.name: law for law in map(_read, TEXT.strip().splitlines())}


def evaluated(domain: Any, node: ast.expr, letters: Mapping[str, Any]) -> Any:
    """The value of an expression in a domain: a `Book`, or numbers."""
    match node:
        case ast.Constant(int(value)):
            return domain.const(value)
        case ast.Name(name):
            return letters[name]
        case ast.UnaryOp(ast.USub(), x):
            return domain.times(domain.const(-1), evaluated(domain, x, letters))
        case ast.BinOp(x, ast.Pow(), ast.Name("n")):
            return domain.power(evaluated(domain, x, letters), letters["n"])
        case ast.BinOp(ast.Name("n"), ast.Mult(), x):
            return domain.times(domain.const(letters["n"]), evaluated(domain, x, letters))
        case ast.BinOp(x, op, y):
            a, b = evaluated(domain, x, letters), evaluated(domain, y, letters)
            if isinstance(op, ast.BitOr):
                return a | b
            return {ast.Add: domain.plus, ast.Sub: domain.minus, ast.Mult: domain.times}[type(op)](a, b)
        case ast.Call(ast.Name(name), args):
            values = [evaluated(domain, x, letters) for x in args]
            own = {"sum": domain.sum, "max": domain.max, "exp": domain.exp, "sqrt": domain.sqrt, "inv": domain.inverse}
            return own[name](*values) if name in own else domain.fn(name, *values)
    raise ValueError(ast.dump(node))


def holds(book: Book, condition: ast.Call, letters: Mapping[str, Any]) -> bool:
    """True if a condition is known to hold, from the axes and the signs of the terms."""
    x, *more = (evaluated(book, a, letters) for a in condition.args)
    match condition.func:
        case ast.Name("free"):
            return not book.axes(x) & more[0]
        case ast.Name("apart"):
            return not x & more[0]
        case ast.Name("positive"):
            return book.sign(x) == 2
    return book.sign(x) >= 1


def instance(book: Book, law: Law, letters: Mapping[str, Any], turned: bool) -> tuple[Poly, Poly]:
    """The law's left side at these letters, and what it equals; from its right side where it is `turned`."""
    need(law.letters == set(letters), "a letter of the law is missing, or there is one more")
    need(all(holds(book, c, letters) for c in law.conditions), "a condition of the law does not hold")
    need(not turned or law.exponent == 1, "this law has one direction")
    left, right = (evaluated(book, x, letters) for x in (law.left, law.right))
    return (right, left) if turned else (left, right)
