"""Calls that stay PyTorch's own: operators that the table gives no meaning, kept as functions of whole tensors.

Of such a call nothing is known but that equal arguments give equal results. What it gives is to the rest of the program a
tensor like an input, and what it takes is a tensor that the program must make: then the program holds for any function in
the call's place, and so for this one. Plain data: no torch here.

The operator is the ATen overload (`aten.cumsum.default`), the attributes are its other arguments by the schema's names:
numbers, flags, texts, None, lists of them, `%0` for the first tensor, `torch.float32` for a dtype, `-inf` for that number.
Two begin with an underscore: `_result`, which of several results it is, and `_sizes`, the dims that have one size and may
change it together, each a pair (which tensor, dim), the result being tensor -1. The sizes of all other dims are fixed.
"""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from mirage.ir.dtypes import TORCH_NAMES
from mirage.ir.program import Attr

OPERATOR = re.compile(r"aten\.[A-Za-z_][A-Za-z0-9_]*\.[A-Za-z_][A-Za-z0-9_]*\Z")
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
TENSOR = re.compile(r"%([0-9]{1,3})\Z")
RESULT, SIZES = "_result", "_sizes"
T = TypeVar("T")
RESULT_TENSOR = -1  # in `_sizes`
Attrs = Sequence[tuple[str, Attr]]
Places = tuple[tuple[int, int], ...]


def is_call(op: str) -> bool:
    """Is this an operator that stays PyTorch's own?"""
    return op.startswith("aten.")


def has_effect(op: str) -> bool:
    """Does an overload by its name do more than to give a tensor: write to an argument, or to a file?"""
    _, name, overload = op.split(".")
    in_place = name.startswith("__i") or (name.endswith("_") and not name.endswith("__"))  # `__iand__` is `&=`
    return in_place or name in EFFECTS or overload == "out" or overload.endswith("_out")


EFFECTS = {"from_file", "set_data", "record_stream", "_print", "_foobar", "_cuda_set_sync_debug_mode"}


def sizes_of(attrs: Attrs) -> tuple[Places, ...]:
    """The dims that have one size and may change it together, group by group."""
    return tuple(tuple(_place(pair) for pair in _tuple(group)) for group in _tuple(dict(attrs).get(SIZES, ())))


def _tuple(value: Attr) -> tuple[Attr, ...]:
    if not isinstance(value, tuple):
        raise TypeError(f"{value!r} is no group of sizes")
    return value


def _place(value: Attr) -> tuple[int, int]:
    tensor, dim = _tuple(value)
    if not isinstance(tensor, int) or not isinstance(dim, int):
        raise TypeError(f"{value!r} is no pair of numbers")
    return tensor, dim


def tensors_in(value: Attr) -> Iterator[int]:
    """The numbers of the tensors that stand in an attribute."""
    if isinstance(value, tuple):
        for v in value:
            yield from tensors_in(v)
    elif isinstance(value, str) and (found := TENSOR.match(value)):
        yield int(found[1])


def fault(op: str, attrs: Attrs, arguments: int) -> str:
    """What is wrong with a call of that many tensors, in words; "" if nothing."""
    if not OPERATOR.match(op):
        return f"{op} is no overload of PyTorch"
    if has_effect(op):
        return f"{op} changes what it is given, or reaches a file"
    given = {k: v for k, v in attrs if k not in (RESULT, SIZES)}
    odd = next((k for k in given if not NAME.match(k) or keyword.iskeyword(k)), None)
    if odd is not None or len(dict(attrs)) != len(attrs):
        return f"{op} has the attribute {odd!r}" if odd is not None else f"{op} has an attribute twice"
    if {i for v in given.values() for i in tensors_in(v)} != set(range(arguments)):
        return f"{op} takes other tensors than its {arguments} arguments"
    if not isinstance(dict(attrs).get(RESULT, 0), int):
        return f"{op} has no result {dict(attrs)[RESULT]!r}"
    try:
        sizes_of(attrs)
    except (TypeError, ValueError):
        return f"{op} has sizes that are no pairs of numbers"
    return ""


def call_text(op: str, attrs: Attrs, arguments: Sequence[str]) -> str:
    """The call in Python: a tensor of its own, elements in their order."""
    given = ", ".join(f"{k}={literal(v, arguments)}" for k, v in attrs if k not in (RESULT, SIZES))
    which = dict(attrs).get(RESULT)
    return f"torch.ops.{op}({given}){'' if which is None else f'[{which}]'}.contiguous()"


def literal(value: Attr, arguments: Sequence[str]) -> str:
    """An attribute in Python."""
    if isinstance(value, tuple):
        return "[" + ", ".join(literal(v, arguments) for v in value) + "]"
    if isinstance(value, str) and (found := TENSOR.match(value)):
        return arguments[int(found[1])]
    return plain_literal(value)


def plain_literal(value: Attr) -> str:
    """A value that names no tensor, in Python. What it gives is a literal, a dtype or `float("...")`, whatever it is given."""
    if isinstance(value, tuple):
        return "(" + ", ".join(map(plain_literal, value)) + (",)" if len(value) == 1 else ")")
    if isinstance(value, str) and value in DTYPES:
        return value
    if str(value) in NUMBERS:  # a float's own name is no literal
        return f'float("{value}")'
    if type(value) not in LITERALS:
        raise TypeError(f"an attribute is no {type(value).__name__}")
    return repr(value)


LITERALS = (int, float, bool, str, type(None))
DTYPES = {f"torch.{name}" for name in TORCH_NAMES.values()}  # as they stand in attributes
NUMBERS = {str(x): x for x in (math.inf, -math.inf, math.nan)}


def call_arguments(attrs: Attrs, given: Mapping[str, T], arguments: int) -> list[T] | None:
    """The tensors that a call with the keywords `given` takes; None where it is not the call of these attributes. Numbers are
    compared as they are written: 1, 1.0 and True are three values."""
    found: dict[int, T] = {}

    def same(value: Attr, other: T) -> bool:
        if isinstance(value, tuple):
            return isinstance(other, list) and len(value) == len(other) and all(map(same, value, other))
        if isinstance(value, str) and (place := TENSOR.match(value)):
            return found.setdefault(int(place[1]), other) is other
        special = isinstance(value, str) and (value in DTYPES or (value in NUMBERS and isinstance(other, float)))
        return str(other) == value if special else repr(other) == repr(value)

    want = {k: v for k, v in attrs if k not in (RESULT, SIZES)}
    if set(want) != set(given) or not all(same(v, given[k]) for k, v in want.items()):
        return None
    return [found[i] for i in range(arguments)] if set(found) == set(range(arguments)) else None
