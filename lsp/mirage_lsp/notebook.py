"""Notebooks: the cells of one are read as one text, because a cell uses what the cells before it import and define."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from mirage_lsp import text_edits
from mirage_lsp.document import Document, View

# Lines for IPython and not for Python: magics, shell commands, questions.
_MAGIC = re.compile(r"^(?:[%!][^\r\n]*|\?[^\r\n]*|[\w.]+\?{1,2}[ \t]*$)", re.MULTILINE)
# Magics of a whole cell after which comes Python all the same.
_PYTHON_MAGICS = ("%%time", "%%timeit", "%%capture", "%%prun", "%%python", "%%python3")


@dataclass
class Cell:
    """A code cell as the client has it."""

    uri: str
    text: str
    version: int

    @property
    def python(self) -> str:
        """The text with what is not Python in comments: as long, line for line."""
        if self.text.startswith("%%") and not self.text.startswith(_PYTHON_MAGICS):
            return "".join(
                "#" + line[1:] if text_edits.split_end(line)[0] else line for line in text_edits.split_lines(self.text)
            )
        return _MAGIC.sub(lambda m: "#" + m[0][1:], self.text)


@dataclass
class Notebook(Document):
    """The code cells of a notebook in their order; what is no code has None in its place."""

    cells: list[Cell | None] = field(default_factory=list)
    _views: list[View] | None = None

    def refresh(self, version: int) -> None:
        """The cells have changed: read the text anew."""
        self.set("".join(f"{cell.python}\n" for cell in self.code), version)
        self._views = None

    @property
    def code(self) -> list[Cell]:
        return [cell for cell in self.cells if cell is not None]

    @property
    def views(self) -> list[View]:
        if self._views is None:
            self._views, line = [], 0
            texts = [cell.python for cell in self.code]
            for number, (cell, text) in enumerate(zip(self.code, texts)):
                count = len(text_edits.split_lines(text))
                others = "".join(f"{t}\n" for i, t in enumerate(texts) if i != number)
                self._views.append(View(self, cell.uri, cell.version, line, count, text, others, cell.text))
                line += count
        return self._views
