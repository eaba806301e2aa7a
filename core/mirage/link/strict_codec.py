"""Messages to and from plain data, exactly: unknown keys and other types are mistakes, nothing is turned into something."""

from __future__ import annotations

from typing import Any

import cattrs

from mirage.errors import ProtocolError

_converter = cattrs.Converter(forbid_extra_keys=True, prefer_attrib_converters=True)


def _exactly(value: Any, cls: Any) -> Any:
    """cattrs would turn 5 into "5" and "no" into True; on the wire that is a mistake."""
    if type(value) is cls or (cls is float and type(value) is int):
        return cls(value)
    raise ValueError(f"{type(value).__name__} where {cls.__name__} belongs")


for _primitive in (str, int, float, bool):
    _converter.register_structure_hook(_primitive, _exactly)


def structure(body: Any, cls: type) -> Any:
    """`body` as an instance of `cls`, or ProtocolError with what does not fit."""
    try:
        return _converter.structure(body, cls)
    except Exception as e:
        raise ProtocolError(f"{cls.__name__}: {'; '.join(cattrs.transform_error(e))}") from None


def unstructure(obj: Any) -> dict[str, Any]:
    return dict(_converter.unstructure(obj))
