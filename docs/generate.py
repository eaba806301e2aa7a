"""Write the pages that follow from the code. `python docs/generate.py` writes them; with `--check` it only says whether
they are what they would be, and exits 1 if not."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

import click

import mirage
import mirage_lsp.errors  # its classes join the registry  # noqa: F401
from mirage import cli
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


def reference_page() -> str:
    """The public names, from their docstrings, and the commands, from their help."""
    out = [
        NOTE,
        "# Names and commands\n",
        "## Python\n\nWhat `import mirage` offers. What is not here may change.\n",
    ]
    for name in sorted(set(mirage.__all__) - {"__version__"}):
        thing = getattr(mirage, name)
        out.append(f"### mirage.{name}\n")
        if inspect.isfunction(thing):
            out.append(f"```\n{name}{inspect.signature(thing)}\n```\n")
        out.append(f"{inspect.getdoc(thing)}\n")
    out.append("## Commands\n\nWhat `mirage COMMAND --help` says.\n")
    for path, command in _commands(cli.main, ("mirage",)):
        context = click.Context(command, info_name=" ".join(path), max_content_width=100, terminal_width=100)
        out.append(f"### {' '.join(path)}\n\n```text\n{command.get_help(context)}\n```\n")
    return "\n".join(out)


def _commands(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """The commands that do something, groups opened, in the order of their names."""
    if not isinstance(command, click.Group):
        yield path, command
        return
    context = click.Context(command)
    for name in sorted(command.list_commands(context)):
        inner = command.get_command(context, name)
        if inner is not None and not inner.hidden:
            yield from _commands(inner, (*path, name))


PAGES = {"errors.md": errors_page, "reference.md": reference_page}


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
