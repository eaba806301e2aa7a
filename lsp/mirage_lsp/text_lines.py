"""Lines of a text as LSP ends them: at LF, CRLF or CR, and nowhere else (`str.splitlines` knows more ends)."""

from __future__ import annotations

import re

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r|\Z)")
_END = re.compile(r"(?:\r\n|\n|\r)\Z")


def split_lines(text: str) -> list[str]:
    """The lines with their ends; the last one has no end (it may be empty), so that joining them gives the text."""
    lines = _LINE.findall(text)
    if len(lines) > 1 and not lines[-1] and not _END.search(lines[-2]):
        lines.pop()  # the pattern also matches the empty string at the very end
    return lines or [""]


def split_end(line: str) -> tuple[str, str]:
    """A line as its text and its end."""
    end = _END.search(line)
    return (line[: end.start()], end.group()) if end else (line, "")


def line_end_of(text: str) -> str:
    """The line end that the text uses most."""
    crlf = text.count("\r\n")
    return "\r\n" if crlf > text.count("\n") - crlf else "\n"
