"""Write the TypeScript types of results and progress from their dataclasses: `python docs/generate_types.py` writes the file of the
extension; with `--check` it only says whether it is what it would be, and exits 1 if not."""

from __future__ import annotations

import sys
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from mirage.results.codec import DERIVED
from mirage.results.progress import ProgressCounts
from mirage.results.result import Result

TARGET = Path(__file__).resolve().parents[1] / "vscode-extension" / "src" / "result_types.ts"
HEAD = "/** The result of an optimization and its progress as JSON. Written by docs/generate_types.py from core/mirage/results. */\n"
PLAIN = {str: "string", int: "number", float: "number", bool: "boolean", type(None): "null", object: "unknown"}


def written(kind: Any, found: dict[str, type]) -> str:
    """A Python type in TypeScript; dataclasses that it names join `found`."""
    if kind in PLAIN:
        return PLAIN[kind]
    if is_dataclass(kind) and isinstance(kind, type):
        found.setdefault(kind.__name__, kind)
        return kind.__name__
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Literal:
        return " | ".join(f'"{p}"' for p in parts)
    if origin in (Union, types.UnionType):
        return " | ".join(dict.fromkeys(written(p, found) for p in parts))
    if origin in (dict, Mapping):
        return f"Record<{written(parts[0], found)}, {written(parts[1], found)}>"
    if origin in (tuple, list):
        if origin is tuple and parts[-1] is not Ellipsis:
            return f"[{', '.join(written(p, found) for p in parts)}]"
        inner = written(parts[0], found)
        return f"({inner})[]" if " " in inner and "<" not in inner else f"{inner}[]"
    raise TypeError(f"{kind} has no form in TypeScript")


def interface(cls: type, found: dict[str, type]) -> str:
    """A dataclass, with what the codec derives from its fields."""
    hints = get_type_hints(cls)
    rows = [(f.name, written(hints[f.name], found)) for f in fields(cls)]
    rows += [(name, written(derived.kind, found)) for name, derived in DERIVED.get(cls, {}).items()]
    body = "".join(f"  {name}: {kind};\n" for name, kind in rows)
    return f"export interface {cls.__name__} {{\n{body}}}\n"


def page() -> str:
    found: dict[str, type] = {"Result": Result, "ProgressCounts": ProgressCounts}
    done: dict[str, str] = {}
    while left := [name for name in found if name not in done]:
        for name in left:
            done[name] = interface(found[name], found)
    return HEAD + "".join(f"\n{done[name]}" for name in done)


def stale() -> bool:
    return not TARGET.exists() or TARGET.read_text("utf-8") != page()


def main(*arguments: str) -> int:
    if "--check" in arguments:
        return int(stale())
    TARGET.write_text(page(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
