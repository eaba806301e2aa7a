"""Checks of a script's arguments: sizes, numbers, paths; anything else is a GraphMistake at the script's line."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from operator import index
from typing import SupportsFloat, SupportsIndex

from mirage_original.mistakes import mistake

MOST_ELEMENTS = 1 << 40


def shown(value: object) -> str:
    """A value for a message, short whatever it is."""
    text = repr(value) if isinstance(value, (int, float, str, tuple, list)) or value is None else type(value).__name__
    return text if len(text) <= 60 else f"{text[:57]}..."


def whole_numbers(what: str, given: object) -> tuple[int, ...]:
    """A sequence of whole numbers: a tuple, a list, a torch.Size, with numbers of any kind that is an index."""
    try:
        if not isinstance(given, Iterable):
            raise TypeError
        numbers = list(given)
        if any(isinstance(x, (bool, str)) for x in numbers):
            raise TypeError
        return tuple(index(x) for x in numbers)
    except TypeError:
        raise mistake(f"{what} is a sequence of whole numbers, not {shown(given)}") from None


def finite(what: str, given: object) -> float:
    """A finite number."""
    try:
        value = math.nan
        if isinstance(given, (SupportsFloat, SupportsIndex)) and not isinstance(given, bool):
            value = float(given)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not math.isfinite(value):
        raise mistake(f"{what} is a finite number, not {shown(given)}")
    return value


def limits(min_val: object, max_val: object) -> dict[str, float]:
    """The numbers of a clamp."""
    low, high = finite("min_val", min_val), finite("max_val", max_val)
    if low > high:
        raise mistake(f"clamp between {low:g} and {high:g}")
    return {"min_val": low, "max_val": high}


def path_of(given: object) -> str:
    """A file's name."""
    if not isinstance(given, (str, os.PathLike)) or not str(given):
        raise mistake(f"a file's name is a text, not {shown(given)}")
    return str(given)
