"""Values of emitted text: an expression with the tile dims of its shape, and what it holds.

A value's `kind` says how it may be used: "f" float32, "i" integer, "b" a condition, "c" a number known when the
kernel is compiled (a Python number or a tl.constexpr), which becomes whatever it meets.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

# How tightly Python binds what an expression ends in; an argument that binds less tightly gets parentheses.
COMPARE, OR, AND, SUM, PRODUCT, UNARY, ATOM = 1, 2, 3, 4, 5, 6, 7


@dataclass(frozen=True)
class TextValue:
    """`text` is what arithmetic reads; `raw` what a tl.dot reads (a tile as it was loaded, in `storage`, its dtype).
    `form` names a pointwise operator that the reader may merge with its own ("neg", "inv", "sqrt"), `inner` its
    argument."""

    text: str
    dims: tuple[str, ...] = ()
    kind: str = "f"
    level: int = ATOM
    raw: str = ""
    storage: str = ""
    form: str = ""
    inner: tuple[TextValue, ...] = ()
    number: Fraction | None = None

    def at(self, level: int) -> str:
        """The text as an argument of an operator that binds at `level`."""
        return self.text if self.level >= level else f"({self.text})"


def number(value: Fraction) -> TextValue:
    """A number of the program: an integer where an integer is met, else a float."""
    text = repr(float(value))
    return TextValue(text, (), "c", UNARY if text.startswith("-") else ATOM, number=value)


def integer(value: TextValue) -> TextValue:
    """A number as it stands beside integers."""
    if value.number is not None and value.number.denominator == 1:
        return replace(value, text=str(value.number.numerator))
    return value


def subscript(have: tuple[str, ...], want: tuple[str, ...]) -> str:
    """The subscript that gives a tile over `have` the rank of one over `want` (same relative order)."""
    if have == want or not have:
        return ""
    return "[" + ", ".join(":" if d in have else "None" for d in want) + "]"


def spread(value: TextValue, want: tuple[str, ...]) -> TextValue:
    """`value` so that it broadcasts against tiles over `want`: transposed where the order differs, with axes of one."""
    order = tuple(d for d in want if d in value.dims)
    text, level = value.text, value.level
    if order != value.dims:
        text, level = permute(text, value.dims, order), ATOM
    mark = subscript(order, want)
    if mark:
        text, level = (text if level == ATOM else f"({text})") + mark, ATOM
    return replace(value, text=text, level=level, dims=want if value.dims else (), raw="", form="", inner=())


def permute(text: str, have: tuple[str, ...], want: tuple[str, ...]) -> str:
    """`text`, a tile over `have`, with its dims in the order of `want`."""
    if have == want:
        return text
    if len(have) == 2:
        return f"tl.trans({text})"
    return f"tl.permute({text}, ({', '.join(str(have.index(d)) for d in want)}))"


def as_float(value: TextValue) -> TextValue:
    """The value in float32; numbers stay as they are."""
    if value.kind in ("f", "c"):
        return value
    return replace(value, text=f"{value.at(ATOM)}.to(tl.float32)", kind="f", level=ATOM)


def as_tensor(value: TextValue) -> TextValue:
    """A number as a float32 scalar, for functions that take tensors only."""
    if value.kind != "c":
        return as_float(value)
    return replace(value, text=f"tl.full((), {value.text}, tl.float32)", kind="f", level=ATOM, number=None)


def as_condition(value: TextValue) -> TextValue:
    """A value that is 0 or 1, as a condition."""
    if value.kind == "b":
        return value
    return replace(value, text=f"{value.at(SUM)} != 0", kind="b", level=COMPARE)


def joined(operator: str, level: int, parts: Iterable[TextValue]) -> str:
    """Arguments of a chain of one associative operator."""
    return f" {operator} ".join(p.at(level) for p in parts)


def constant(text: str) -> Fraction:
    """The number of a const operator: "p/q", or "~0.3" for a float that no fraction fits."""
    return Fraction(float(text[1:])) if text.startswith("~") else Fraction(text)
