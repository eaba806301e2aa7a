"""JSON data as Python holds it, and the readers that refuse another form where data cross a process or a file."""

from __future__ import annotations

Json = bool | int | float | str | list["Json"] | dict[str, "Json"] | None
JsonObject = dict[str, Json]


def json_object(value: object) -> JsonObject:
    """The value, which is an object with texts for keys. Raises TypeError."""
    if not isinstance(value, dict):
        raise TypeError(f"expected an object, not {type(value).__name__}")
    return value


def json_list(value: object) -> list[Json]:
    """The value, which is an array; a tuple is one before it is written. Raises TypeError."""
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"expected an array, not {type(value).__name__}")
    return list(value)


def json_text(value: object) -> str:
    """The value, which is a text. Raises TypeError."""
    if not isinstance(value, str):
        raise TypeError(f"expected a text, not {type(value).__name__}")
    return value


def json_int(value: object) -> int:
    """The value, which is a whole number. Raises TypeError."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"expected a whole number, not {type(value).__name__}")
    return value


def json_ints(value: object) -> tuple[int, ...]:
    """The value, which is an array of whole numbers. Raises TypeError."""
    return tuple(json_int(x) for x in json_list(value))


def json_texts(value: object) -> tuple[str, ...]:
    """The value, which is an array of texts. Raises TypeError."""
    return tuple(json_text(x) for x in json_list(value))


def json_objects(value: object) -> list[JsonObject]:
    """The value, which is an array of objects. Raises TypeError."""
    return [json_object(x) for x in json_list(value)]
