"""Dataclasses from and to plain data, exactly: an unknown key or another type is a mistake, nothing is converted."""

from __future__ import annotations

from typing import TypeVar, cast

import cattrs

from mirage.errors import ProtocolError
from mirage.ir.json_value import JsonObject

T = TypeVar("T")
_converter = cattrs.Converter(forbid_extra_keys=True, prefer_attrib_converters=True)


def _exactly(value: object, cls: type[T]) -> T:
    """cattrs would turn 5 into "5" and "no" into True; on the wire that is a mistake."""
    if isinstance(value, cls) and type(value) is cls:
        return value
    if cls is float and type(value) is int:
        return cast(T, float(value))
    raise ValueError(f"{type(value).__name__} where {cls.__name__} belongs")


for _primitive in (str, int, float, bool):
    _converter.register_structure_hook(_primitive, _exactly)
_converter.register_structure_hook_func(lambda cls: cls is object, lambda value, _: value)  # its reader checks it


def structure(body: object, cls: type[T]) -> T:
    """`body` as an instance of `cls`, or ProtocolError with what does not fit."""
    try:
        return _converter.structure(body, cls)
    except Exception as e:
        raise ProtocolError(f"{cls.__name__}: {'; '.join(cattrs.transform_error(e))}") from None


def unstructure(obj: object) -> JsonObject:
    return dict(_converter.unstructure(obj))
