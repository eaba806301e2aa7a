"""Lists and tables of a module's top level, which live as long as it does: to change one is to keep something between calls.

A text that changes one by its own name is refused as it is read (`module_text`); here it does not matter by which name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mirage.verify.real_sizes.tile_values import Unknown

CHANGING: dict[type, tuple[str, ...]] = {
    list: ("__setitem__", "__delitem__", "__iadd__", "__imul__", "append", "clear", "extend", "insert", "pop", "remove",
           "reverse", "sort"),
    dict: ("__setitem__", "__delitem__", "__ior__", "clear", "pop", "popitem", "setdefault", "update"),
    set: ("__iand__", "__ior__", "__isub__", "__ixor__", "add", "clear", "difference_update", "discard", "intersection_update",
          "pop", "remove", "symmetric_difference_update", "update"),
}  # fmt: skip


def kept(name: str, value: object) -> object:
    """The value of a name of the top level, with every list, table and set in it one that raises Unknown when it is changed."""
    if type(value) is tuple:
        return tuple(kept(name, x) for x in value)
    if type(value) is list:
        return _named(name, KEPT[list](kept(name, x) for x in value))
    if type(value) is dict:
        return _named(name, KEPT[dict]((k, kept(name, x)) for k, x in value.items()))
    return _named(name, KEPT[set](value)) if type(value) is set else value


def _named(name: str, table: Any) -> Any:
    table.kept_name = name
    return table


def _refused(method: str) -> Callable[..., object]:
    def refuse(self: Any, *_: object, **__: object) -> object:
        raise Unknown(f"changes `{self.kept_name}` ({method}), which stays after the call")

    return refuse


KEPT: dict[type, Any] = {
    kind: type(f"Kept{kind.__name__.title()}", (kind,), {method: _refused(method) for method in methods})
    for kind, methods in CHANGING.items()
}
