"""What is wrong with the attributes of an operator in a µGraph: each is a number, a truth value, None, a dtype, or one of the
words that the operator's entry knows. They are asked wherever attributes come from a file, a cache or another process.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence

from mirage.ir.dtypes import TORCH_NAMES
from mirage.ir.opaque_calls import DTYPES, NUMBERS, OPERATOR, has_effect, is_call
from mirage.ir.program import Attr
from mirage.operators.table import OPERATORS

NAME = re.compile(r"_?[A-Za-z][A-Za-z0-9_]{0,99}\Z")
WORD = re.compile(
    r"[A-Za-z0-9_%.,:> -]{0,200}\Z"
)  # of a call that stays PyTorch's own, which takes what its schema says
MAX_INT = 1 << 63


def attribute_fault(op: str, attrs: Sequence[tuple[str, Attr]]) -> str:
    """In words; "" if nothing is wrong. `op` is an operator of the table or an ATen overload."""
    own = is_call(op)
    if own and not OPERATOR.match(op):
        return f"{op} is no overload of PyTorch"
    if own and has_effect(op):
        return f"{op} changes what it is given, or reaches a file"
    if not own and op not in OPERATORS:
        return f"{op} is no operator"
    texts = {} if own else OPERATORS[op].texts
    seen = set()
    for name, value in attrs:
        if not NAME.match(name) or keyword.iskeyword(name) or name in seen:
            return f"{op} has the attribute {name!r}{' twice' if name in seen else ''}"
        seen.add(name)
        if not _plain(value, WORD.pattern if own else texts.get(name, "")):
            return f"{name} of {op} is {str(value)[:40]!r}"
    return ""


def _plain(value: Attr, words: str) -> bool:
    if isinstance(value, tuple):
        return all(_plain(v, words) for v in value)
    if isinstance(value, str):
        known = value in DTYPES or value in NUMBERS or value in TORCH_NAMES
        return known or bool(words and re.fullmatch(words, value))
    return not isinstance(value, int) or abs(value) < MAX_INT
