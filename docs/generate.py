"""Write the pages that follow from the code. `python docs/generate.py` writes them; with `--check` it only says whether
they are what they would be, and exits 1 if not."""

from __future__ import annotations

import sys
from pathlib import Path

import mirage_lsp.errors  # its classes join the registry  # noqa: F401
from mirage.errors import MirageError

DOCS = Path(__file__).resolve().parent
NOTE = "<!-- Written by docs/generate.py; change core/mirage and run it again. -->\n"
SECTIONS = {
    "1": "Reading the file",
    "2": "Tracing the function",
    "3": "Search, verification, code",
    "4": "Running",
    "5": "Daemon and editor",
    "6": "Edits in the editor",
}


def errors_page() -> str:
    """The table of error codes, from the registry of error classes."""
    out = [
        NOTE,
        "# Errors\n",
        "Every error is one line: code, place, what is wrong, `->` the next step. The codes are stable.\n",
    ]
    for digit, title in SECTIONS.items():
        codes = sorted(code for code in MirageError.registry if code.startswith(f"MIR{digit}"))
        out.append(f"## {title}\n\n| code | what | next step |\n|---|---|---|")
        for code in codes:
            error = MirageError.registry[code]
            out.append(f"| {code} | <a id='{code}'></a>{_cell(error.title)} | {_cell(error.default_next_step)} |")
        out.append("")
    return "\n".join(out)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


PAGES = {"errors.md": errors_page}


def stale() -> list[str]:
    """The names of the pages that are not what they would be."""
    return [
        name for name, page in PAGES.items() if not (DOCS / name).exists() or (DOCS / name).read_text("utf-8") != page()
    ]


def main() -> int:
    if "--check" in sys.argv[1:]:
        for name in stale():
            print(f"docs/{name} is stale; run: ./dev fix")
        return 1 if stale() else 0
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
