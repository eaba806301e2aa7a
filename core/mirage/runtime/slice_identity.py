"""Identity of a running function: the digest of its slice, which names its kernel, given only if the text on disk is what runs."""

from __future__ import annotations

import builtins
import linecache
from types import CodeType, FunctionType

from mirage.errors import MirageError

# Constants and defaults that can be compared by value; anything else counts as different.
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis))


def digest_of(function: FunctionType) -> str | None:
    """The digest of the slice that the function was made from; None where its text cannot be read, or is no longer (a
    file edited after its import) what runs, or where a constant or helper was replaced since."""
    from mirage.source.slice import cut

    text = "".join(linecache.getlines(function.__code__.co_filename, function.__globals__))
    try:
        part = cut(text, function.__name__, function.__code__.co_filename)
    except MirageError:
        return None
    space: dict[str, object] = {"__name__": function.__module__, "__builtins__": builtins}
    try:
        exec(compile(part.text, function.__code__.co_filename, "exec", dont_inherit=True), space)
    except Exception:  # the text is the user's: whatever it raises, it is not what runs
        return None
    running = {name: function.__globals__.get(name) for name in part.names if name != part.function}
    if not _same(space.get(part.function), function):
        return None
    return part.digest if all(_same(space.get(name), value) for name, value in running.items()) else None


def _same(written: object, running: object) -> bool:
    while isinstance(running, FunctionType) and hasattr(running, "__wrapped__"):
        running = running.__wrapped__
    if isinstance(written, FunctionType) and isinstance(running, FunctionType):
        return (
            _same_code(written.__code__, running.__code__)
            and _same_value(written.__defaults__, running.__defaults__)
            and _same_value(written.__kwdefaults__, running.__kwdefaults__)
        )
    return written is running or _same_value(written, running)


def _same_value(a: object, b: object) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
        return len(a) == len(b) and all(map(_same_value, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(_same_value(a[k], b[k]) for k in a)
    if isinstance(a, CodeType) and isinstance(b, CodeType):
        return _same_code(a, b)
    return a is b or (isinstance(a, _PLAIN) and repr(a) == repr(b))  # repr: -0.0 is not 0.0, nan is nan


_CODE_PARTS = ("co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_argcount", "co_kwonlyargcount")


def _same_code(a: CodeType, b: CodeType) -> bool:
    return all(getattr(a, p) == getattr(b, p) for p in _CODE_PARTS) and _same_value(a.co_consts, b.co_consts)
