"""Texts of the command line: the argument FILE[::FUNCTION] with the text of the file that it names, and what is written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mirage.errors import CannotWrite, FileUnreadable


@dataclass(frozen=True)
class NamedText:
    """`path` as it was given, the `function` that is named ("" for none), the file's `text` and its `full` path."""

    path: str
    function: str
    text: str
    full: str

    @classmethod
    def of(cls, where: str) -> NamedText:
        """FileUnreadable where there is no such text."""
        path, _, function = where.partition("::")
        return cls(path, function, read(path), str(Path(path).resolve()))


def read(path: str) -> str:
    """The file's text, or FileUnreadable."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as e:
        raise FileUnreadable(f"the file cannot be read: {e.strerror}", path=path) from None
    except UnicodeDecodeError as e:
        raise FileUnreadable(f"the file is not UTF-8 text: {e.reason} at byte {e.start}", path=path) from None


def write_text(target: Path, text: str) -> None:
    try:
        target.write_text(text, encoding="utf-8")
    except OSError as e:
        raise CannotWrite(f"{target} cannot be written: {e.strerror}", path=str(target)) from None
