"""The argument FILE[::FUNCTION] of the command line: the file's text and the functions that it means."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mirage.errors import FileUnreadable, FunctionNotFound, NoDecoratedFunction, SourceSyntaxError
from mirage.source import detect

if TYPE_CHECKING:
    from mirage.verify.proof.user_rules import Rules


def read(path: str) -> str:
    """The file's text, or FileUnreadable."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as e:
        raise FileUnreadable(f"the file cannot be read: {e.strerror}", path=path) from None
    except UnicodeDecodeError as e:
        raise FileUnreadable(f"the file is not UTF-8 text: {e.reason} at byte {e.start}", path=path) from None


def rules(path: str | None) -> Rules | None:
    """The rules of a file, tested; None without one. RuleUnreadable, RuleFalse."""
    if path is None:
        return None
    from mirage.verify.proof.user_rules import load

    return load(read(path), path)


def functions(place: str) -> tuple[str, str, list[str]]:
    """(path, text, names of the decorated functions that FILE[::FUNCTION] means)."""
    path, _, wanted = place.partition("::")
    text = read(path)
    scan = detect.find(text, path)
    names = [f.name for f in scan.functions]
    for problem in scan.problems:
        if isinstance(problem, SourceSyntaxError):
            raise problem
    if wanted:
        if wanted not in names:
            have = ", ".join(names) or "none"
            raise FunctionNotFound(f"no decorated function {wanted} (decorated here: {have})", path=path)
        return path, text, [wanted]
    if not names:
        raise NoDecoratedFunction("no function carries @mirage.optimize", path=path, line=1)
    return path, text, names
