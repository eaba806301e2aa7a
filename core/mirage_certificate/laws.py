"""The laws that a certificate may use, each stated here in its own words: what no step names does not happen.

Small letters are any terms, capital letters sets of axes, `n` a whole number. `sum(A, x)` and `max(A, x)` bind the axes A.
Where the conditions hold and one side has a value, the other has it too (of a square, the right side where the left has).
tests/certificates/test_certificate_laws.py evaluates each at random points.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from mirage_certificate.polynomials import Book, Poly, need

TEXT = """
sum of a sum: sum(A, a + b) = sum(A, a) + sum(A, b)
factor of a sum: sum(A | B, c * a) = sum(A, c * sum(B, a)) if free(c, B) and apart(A, B)
exponential of a sum: exp(a + b) = exp(a) * exp(b)
exponential of a multiple: exp(n * a) = exp(a) ** n
inverse of a product: inv(a * b) = inv(a) * inv(b)
square of a root: sqrt(a) ** 2 = a
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
logarithm of a root: log(sqrt(a)) = log(a) * half if positive(a)
root of an exponential: sqrt(exp(a)) = exp(a * half)
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
CONDITIONS = frozenset({"free", "apart", "positive", "not_negative"})


@dataclass(frozen=True)
class Law:
    """`left` to the power `exponent` is `right`, if all `conditions` hold; expressions of Python's grammar."""

    name: str
    text: str
    left: ast.expr
    right: ast.expr
    conditions: tuple[ast.Call, ...]
    exponent: int

    @property
    def letters(self) -> frozenset[str]:
        sides = (*ast.walk(self.left), *ast.walk(self.right))
        called = {n.func.id for n in sides if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
        return frozenset(n.id for n in sides if isinstance(n, ast.Name)) - called - {"half"}


def _read(line: str) -> Law:
    name, text = line.split(": ", 1)
    claim, _, condition = text.partition(" if ")
    left, right = (ast.parse(x.strip(), mode="eval").body for x in claim.split(" = "))
    calls = tuple(n for n in ast.walk(ast.parse(condition or "()")) if isinstance(n, ast.Call))
    squared = isinstance(left, ast.BinOp) and isinstance(left.op, ast.Pow)
    if isinstance(left, ast.BinOp) and squared:
        left = left.left
    return Law(name, text, left, right, calls, 2 if squared else 1)


LAWS: Mapping[str, Law] = {law.name: law for law in map(_read, TEXT.strip().splitlines())}


def evaluated(domain: Any, node: ast.expr, letters: Mapping[str, Any]) -> Any:
    """The value of an expression in a domain: a `Book`, or numbers."""
    match node:
        case ast.Constant(int(value)):
            return domain.const(value)
        case ast.Name("half"):
            return domain.const(Fraction(1, 2))
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
    assert isinstance(condition.func, ast.Name)
    values = [evaluated(book, x, letters) for x in condition.args]
    match condition.func.id:
        case "free":
            return not book.axes(values[0]) & values[1]
        case "apart":
            return not values[0] & values[1]
        case "positive":
            return book.sign(values[0]) == 2
        case "not_negative":
            return book.sign(values[0]) >= 1
    return False


def instance(book: Book, law: Law, letters: Mapping[str, Any], turned: bool) -> tuple[int, Poly]:
    """(the atom that the law's left side is at these letters, what it equals); of the right side where it is `turned`."""
    need(law.letters == set(letters), "a letter of the law is missing, or there is one more")
    need(all(holds(book, c, letters) for c in law.conditions), "a condition of the law does not hold")
    need(not turned or law.exponent == 1, "this law has one direction")
    left, right = (evaluated(book, x, letters) for x in (law.left, law.right))
    atom = book.only(right if turned else left)
    if atom is None:
        need(False, "that side of the law is no single atom here")
        raise AssertionError
    return atom, left if turned else right
