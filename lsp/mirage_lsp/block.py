"""The block that stands in a file in place of a function, and the way back. Pure functions on text.

    # mirage:begin NAME sha256=<SHA-256 of the original's UTF-8 bytes>
    # fmt: off
    <header, imports, kernels, the original under the name _original_NAME, the launcher>
    # mirage:original | <a line of the original, one such line for each>
    # fmt: on
    # mirage:end NAME

Formatters leave what lies between `fmt: off` and `fmt: on` alone, whatever their line length. The original comes back
byte for byte. A line whose end differs from the file's says so (`# mirage:original+crlf | `, `lf`, `cr`, or `none` for a
file without a final newline), and a line that ends in blanks is quoted as a JSON string, because editors and formatters
strip blanks at line ends.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mirage_lsp.edits import split_end, split_lines
from mirage_lsp.errors import OriginalDamaged

MARK = "# mirage:begin "  # what every block begins with
_BEGIN = re.compile(r"# mirage:begin (\w+) sha256=([0-9a-f]{64})\s*")
_KEPT = re.compile(r"# mirage:original((?:\+[a-z]+)*) \|(?: (.*))?", re.DOTALL)
_END_NAMES = {"\n": "lf", "\r\n": "crlf", "\r": "cr", "": "none"}
_ENDS = {name: end for end, name in _END_NAMES.items()}


@dataclass(frozen=True)
class Block:
    """A block found in a text: offsets of its first character and behind its last line, and the 0-based first line."""

    name: str
    digest: str
    start: int
    end: int
    line: int
    last_line: int
    lines: tuple[str, ...]


def wrap(name: str, body: Sequence[str], original: Sequence[str], eol: str) -> str:
    """The block's text: `body` are lines without their ends, `original` the lines that it replaces, with them."""
    digest = hashlib.sha256(_bytes("".join(original))).hexdigest()
    kept = [_keep(line, eol) for line in original]
    first = [f"# mirage:begin {name} sha256={digest}", "# fmt: off"]
    lines = [*first, *body, "", "", *kept, "# fmt: on", f"# mirage:end {name}"]
    return eol.join(lines) + (eol if split_end(original[-1])[1] else "")


def find(text: str) -> list[Block]:
    """The blocks of a text, in its order. A begin without its end is not a block."""
    lines = split_lines(text)
    blocks: list[Block] = []
    number, offset = 0, 0
    while number < len(lines):
        mark = _BEGIN.fullmatch(split_end(lines[number])[0])
        stop = _end_line(lines, number, mark[1]) if mark else None
        if mark is None or stop is None:
            offset += len(lines[number])
            number += 1
            continue
        inner = lines[number : stop + 1]
        size = sum(map(len, inner))
        blocks.append(Block(mark[1], mark[2], offset, offset + size, number, stop, tuple(inner)))
        offset += size
        number = stop + 1
    return blocks


def original(block: Block) -> str:
    """The text that the block replaced. Raises OriginalDamaged when its digest is not the one in the first line."""
    kept = [m for m in (_KEPT.fullmatch(split_end(line)[0]) for line in block.lines) if m]
    end = split_end(block.lines[0])[1] or "\n"
    # A file whose line ends were converted as a whole still has its original, now with the new ends.
    for assumed in dict.fromkeys((end, "\n", "\r\n", "\r")):
        if hashlib.sha256(_bytes(_unkeep(kept, assumed))).hexdigest() == block.digest:
            return _unkeep(kept, end)
    raise OriginalDamaged(f"the lines kept for `{block.name}` do not have the digest that its first line names")


def _end_line(lines: list[str], begin: int, name: str) -> int | None:
    for number in range(begin + 1, len(lines)):
        text = split_end(lines[number])[0].rstrip()
        if text == f"# mirage:end {name}":
            return number
        if _BEGIN.fullmatch(text):
            return None
    return None


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _keep(line: str, eol: str) -> str:
    text, end = split_end(line)
    tag = "" if end == eol else f"+{_END_NAMES[end]}"
    if text != text.rstrip():
        return f"# mirage:original{tag}+quoted | {json.dumps(text, ensure_ascii=False)}"
    return f"# mirage:original{tag} | {text}".rstrip()


def _unkeep(kept: Iterable[re.Match[str]], eol: str) -> str:
    out: list[str] = []
    for line in kept:
        tags, text = line[1].split("+")[1:], line[2] or ""
        if "quoted" in tags:
            try:
                text = str(json.loads(text))
            except ValueError:
                return ""  # damaged: no digest fits
        end = next((_ENDS[tag] for tag in tags if tag in _ENDS), eol)
        out.append(text + end)
    return "".join(out)
