"""The marked block of kernel code that stands in a file in place of a function, with the original in it. Pure functions on text.

    # mirage:begin NAME sha256=<SHA-256 of the original's UTF-8 bytes> kernel=<that of the body's lines> [edited=<verdict>]
    # fmt: off
    <header, imports, kernels, the original under the name _original_NAME, the launcher>
    # mirage:original | <a line of the original, one such line for each>
    # fmt: on
    # mirage:end NAME

Formatters leave what lies between `fmt: off` and `fmt: on` alone, whatever their line length. The original comes back
byte for byte. A line whose end differs from the file's says so (`# mirage:original+crlf | `, `lf`, `cr`, or `none` for a
file without a final newline), and a line that ends in blanks is quoted as a JSON string, because editors and formatters
strip blanks at line ends. For the same reason the body's digest is of its lines without blanks at their ends, joined
by LF; a block without one (an older one) is not known to be edited. `edited` says that a person changed the code, and with
which word (PROVED, TESTED) the changed code was verified; times that were measured of the kernel are then not its own.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mirage_lsp.errors import OriginalDamaged
from mirage_lsp.text_lines import split_end, split_lines

MARK = "# mirage:begin "  # what every block begins with
_BEGIN = re.compile(
    r"# mirage:begin (\w+) sha256=([0-9a-f]{64})(?: kernel=([0-9a-f]{64}))?(?: edited=(PROVED|TESTED))?\s*"
)
_KEPT = re.compile(r"# mirage:original((?:\+[a-z]+)*) \|(?: (.*))?", re.DOTALL)
_END_NAMES = {"\n": "lf", "\r\n": "crlf", "\r": "cr", "": "none"}
_ENDS = {name: end for end, name in _END_NAMES.items()}


@dataclass(frozen=True)
class Block:
    """A block found in a text: offsets of its first character and behind its last line, and the 0-based first line.
    `digest`: of the original; `body_digest`: of the body as it was verified, "" where the first line does not say it;
    `edited_word`: the verdict on code that a person had changed, "" where it is the kernel that was written there."""

    name: str
    digest: str
    body_digest: str
    edited_word: str
    start: int
    end: int
    line: int
    last_line: int
    lines: tuple[str, ...]


def wrap(name: str, body: Sequence[str], original: Sequence[str], eol: str) -> str:
    """The block's text: `body` are lines without their ends, `original` the lines that it replaces, with them."""
    digest = hashlib.sha256(_bytes("".join(original))).hexdigest()
    kept = [_keep(line, eol) for line in original]
    first = [f"# mirage:begin {name} sha256={digest} kernel={_body_digest(body)}", "# fmt: off"]
    lines = [*first, *body, "", "", *kept, "# fmt: on", f"# mirage:end {name}"]
    return eol.join(lines) + (eol if split_end(original[-1])[1] else "")


def body(block: Block) -> list[str]:
    """The lines of its code, without their ends: what stands between the first line and the original."""
    lines = [split_end(line)[0] for line in block.lines[1:-1]]
    while lines and (not lines[-1].strip() or lines[-1].rstrip() == "# fmt: on" or _KEPT.fullmatch(lines[-1])):
        lines.pop()
    return lines[1:] if lines and lines[0].rstrip() == "# fmt: off" else lines


def edited(block: Block) -> bool:
    """Whether its code is another than was verified."""
    return block.body_digest not in ("", _body_digest(body(block)))


def sealed(block: Block, word: str) -> str:
    """The block's text with the digest of the code that it holds now, and with the verdict on it."""
    _, end = split_end(block.lines[0])
    digest = _body_digest(body(block))
    first = f"# mirage:begin {block.name} sha256={block.digest} kernel={digest} edited={word}{end}"
    return "".join([first, *block.lines[1:]])


def _body_digest(lines: Sequence[str]) -> str:
    text = "\n".join(line.rstrip() for line in lines).strip("\n")
    return hashlib.sha256(_bytes(text)).hexdigest()


def find(text: str) -> list[Block]:
    """The blocks of a text, in its order. A begin without its end is not a block."""
    lines = split_lines(text)
    blocks: list[Block] = []
    number, offset = 0, 0
    while number < len(lines):
        mark = _BEGIN.fullmatch(split_end(lines[number])[0])
        stop = _end_line(lines, number, mark) if mark else None
        if mark is None or stop is None:
            offset += len(lines[number])
            number += 1
            continue
        inner = lines[number : stop + 1]
        size = sum(map(len, inner))
        said = (mark[1], mark[2], mark[3] or "", mark[4] or "")
        blocks.append(Block(*said, offset, offset + size, number, stop, tuple(inner)))
        offset += size
        number = stop + 1
    return blocks


def original(block: Block) -> str:
    """The text that the block replaced. Raises OriginalDamaged when its digest is not the one in the first line."""
    found = _original(block.lines, block.digest)
    if found is None:
        raise OriginalDamaged(f"the lines kept for `{block.name}` do not have the digest that its first line names")
    return found


def gives_back(text: str, original: str) -> bool:
    """Whether a text is one block, and keeps that original."""
    found = find(text)
    return len(found) == 1 and found[0].end == len(text) and _original(found[0].lines, found[0].digest) == original


def _original(lines: Sequence[str], digest: str) -> str | None:
    """The original that a block's lines keep, if it has that digest. Lines that only look like kept ones (in a string of the
    function's own) stand before the others."""
    matches = [_KEPT.fullmatch(split_end(line)[0]) for line in lines]
    end = split_end(lines[0])[1] or "\n"
    first = next((n + 1 for n in range(len(matches) - 3, -1, -1) if matches[n] is None), 0)
    for kept in ([m for m in matches if m], [m for m in matches[first:] if m]):
        # A file whose line ends were converted as a whole still has its original, now with the new ends.
        for assumed in dict.fromkeys((end, "\n", "\r\n", "\r")):
            if hashlib.sha256(_bytes(_unkeep(kept, assumed))).hexdigest() == digest:
                return _unkeep(kept, end)
    return None


def _end_line(lines: list[str], begin: int, mark: re.Match[str]) -> int | None:
    """The line that ends a block: the first of those that say so with which the original is whole, else the first."""
    ends = []
    for number in range(begin + 1, len(lines)):
        text = split_end(lines[number])[0].rstrip()
        if text == f"# mirage:end {mark[1]}":
            ends.append(number)
        elif _BEGIN.fullmatch(text):
            break
    whole = (n for n in ends if _original(lines[begin : n + 1], mark[2]) is not None)
    return next(whole, ends[0]) if ends else None


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
