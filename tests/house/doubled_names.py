"""Public classes whose name is defined more than once, and why each may be: everywhere else one name has one meaning."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("core", "mirage_daemon", "lsp")

CHECKER = "the checker of certificates imports nothing of ours, and has a name for its own half of the same thing"
ALLOWED = {
    "DTensor": "a tensor in device memory; the original's API has it under the original's public name",
    "Law": CHECKER,
    "Lowering": "the protocol by which operators see the class that implements it",
    "Result": "the parameters of the daemon's method `result`, named after it as every method's are, and written `parameters.Result`",
    "Step": CHECKER,
}


def public_classes(texts: dict[str, str]) -> Iterator[tuple[str, str]]:
    """(name, file) of each class at the top of a file whose name has no underscore in front."""
    for path, text in sorted(texts.items()):
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield node.name, path


def doubled(texts: dict[str, str]) -> dict[str, list[str]]:
    """The files of each name that several classes have."""
    found: dict[str, list[str]] = {}
    for name, path in public_classes(texts):
        found.setdefault(name, []).append(path)
    return {name: paths for name, paths in found.items() if len(paths) > 1}


def sources() -> dict[str, str]:
    files = (p for folder in FOLDERS for p in (ROOT / folder).rglob("*.py"))
    return {str(p.relative_to(ROOT)): p.read_text("utf-8") for p in files}
