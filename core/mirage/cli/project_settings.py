"""A project's own defaults for commands: `[tool.mirage]` in the nearest pyproject.toml."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from mirage.errors import BadProjectSettings

if sys.version_info >= (3, 11):
    import tomllib
else:  # the same package, before it was the standard library's
    import tomli as tomllib

FILE = "pyproject.toml"
TABLE = re.compile(r"^\s*\[\s*tool\s*\.\s*mirage\s*\]", re.M)
# key: what it may be, and the commands that take it as the default of their option of that name
KEYS: dict[str, tuple[tuple[type, ...], tuple[str, ...]]] = {
    "target": ((str,), ("optimize", "show", "verify", "explain")),
    "seconds": ((int, float), ("optimize",)),
    "kernels": ((int,), ("optimize",)),
    "loops": ((int,), ("optimize",)),
}


def nearest(folder: Path) -> Path | None:
    """The nearest pyproject.toml at or above a folder that has the table."""
    for above in (folder, *folder.parents):
        path = above / FILE
        if path.is_file() and has_table(path):
            return path
    return None


def has_table(path: Path) -> bool:
    """Does the file have the table, as far as its text can be read?"""
    try:
        return TABLE.search(path.read_text(encoding="utf-8", errors="replace")) is not None
    except OSError:
        return False


def read(path: Path) -> dict[str, object]:
    """The table's keys. Raises BadProjectSettings."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {}).get("mirage", {})
    except (OSError, ValueError) as e:
        raise BadProjectSettings(f"it cannot be read: {e}", path=str(path)) from None
    for key, value in table.items():
        if key not in KEYS:
            raise BadProjectSettings(f"[tool.mirage] has no key `{key}` (it has {', '.join(KEYS)})", path=str(path))
        if not isinstance(value, KEYS[key][0]) or isinstance(value, bool):
            wanted = " or ".join(t.__name__ for t in KEYS[key][0])
            raise BadProjectSettings(f"`{key}` of [tool.mirage] is {value!r}, no {wanted}", path=str(path))
    return dict(table)


def defaults(folder: Path) -> dict[str, dict[str, object]]:
    """The defaults of options, by command."""
    path = nearest(folder)
    found: dict[str, dict[str, object]] = {}
    for key, value in (read(path) if path else {}).items():
        for command in KEYS[key][1]:
            found.setdefault(command, {})[key] = value
    return found
