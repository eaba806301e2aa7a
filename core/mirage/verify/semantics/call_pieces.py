"""What the meanings of calls are built with: pieces of tensors, blocks of one number, attributes as numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mirage.ir.program import Attr
from mirage.operators.protocols import Maker

Given = Mapping[str, Attr]
Meaning = Callable[[Maker, Mapping[str, int], Given], int | None]  # None: not of this form


def cast_to(m: Maker, x: int, dtype: str) -> int:
    return x if m.type(x).dtype == dtype else m.op("cast", x, dtype=dtype)


def listed(value: Attr) -> tuple[int, ...]:
    return tuple(int(v) for v in value) if isinstance(value, tuple) else (int(value),)  # type: ignore[arg-type]


def piece(m: Maker, x: int, at: int, start: int, length: int) -> int:
    return x if m.type(x).shape[at] == length else m.op("slice", x, dim=at, start=start, length=length)


def block(m: Maker, x: int, at: int, length: int, value: float) -> int:
    kind = m.type(x)
    shape = (*kind.shape[:at], length, *kind.shape[at + 1 :])
    return m.op("expand", cast_to(m, m.const(value), kind.dtype), shape=shape)


def number_of(m: Maker, a: Given, name: str, otherwise: float) -> int:
    value = a.get(name, otherwise)
    return m.const(float(value) if isinstance(value, (int, float, str)) else otherwise)
