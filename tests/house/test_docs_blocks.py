"""What a newcomer copies from the pages runs: Python blocks compile and define readable functions, commands and their options exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from mirage.cli import main
from mirage.errors import MirageError
from mirage.source.detect import find
from mirage.source.shapes import read
from mirage.source.slice import cut

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("README.md", "docs/questions.md", "docs/pytorch.md", "docs/tutorial.md")
PYTHON = [
    (page, text) for page in PAGES for text in re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.S)
]


def commands(text: str) -> list[str]:
    """The `mirage ...` lines of a page, without their comments, in code spans and in indented blocks."""
    spans = re.findall(r"`(mirage [a-z][^`]*)`", text)
    return spans + [
        line.partition("#")[0].strip() for line in re.findall(r"^    (?:\./dev run )?(mirage .*)$", text, re.M)
    ]


def fault(line: str) -> str:
    """What is wrong with a command line: no such command, or no such option of it; "" where nothing is."""
    _, name, *rest = shlex.split(line)
    command = main.get_command(click.Context(main), name)
    if isinstance(command, click.Group) and rest:
        name, rest = f"{name} {rest[0]}", rest[1:]
        command = command.get_command(click.Context(command), name.split()[1])
    if command is None:
        return f"no command {name}"
    known = {option for p in command.params for option in (*p.opts, *p.secondary_opts)}
    return ", ".join(f"{name} has no {o}" for o in rest if o.startswith("--") and o != "--help" and o not in known)


def defined(text: str) -> list[str]:
    """Compiles a block, reads its decorated functions as `mirage optimize` does, and gives their names. Raises SyntaxError, MirageError."""
    compile(text, "block.py", "exec")
    scan = find(text, "block.py")
    for problem in scan.problems:
        raise problem
    for function in scan.functions:
        cut(text, function)
        assert read(function)
    return [function.name for function in scan.functions]


@pytest.mark.parametrize("page, text", PYTHON, ids=[f"{page}-{i}" for i, (page, _) in enumerate(PYTHON)])
def test_a_python_block_is_taken_as_it_stands(page: str, text: str) -> None:
    found = defined(text)
    assert bool(found) is ("@mirage.optimize" in text)
    if found:
        space: dict[str, object] = {"__name__": "block"}
        exec(compile(text, page, "exec"), space)
        assert all(callable(space[name]) for name in found)


def test_a_block_with_two_functions_of_one_name_is_seen() -> None:
    one = '@mirage.optimize(inputs=[((16,), "fp16")])\ndef f(x):\n    return x * 2\n'
    with pytest.raises(MirageError):
        defined(f"import mirage\n\n\n{one}\n\n{one}")


def test_the_commands_of_the_pages_exist() -> None:
    found = [line for page in PAGES for line in commands((ROOT / page).read_text("utf-8"))]
    assert len(found) > 10
    assert [f for line in found if (f := fault(line))] == []


@pytest.mark.parametrize("line", ["mirage optimise f.py", "mirage cache forget", "mirage optimize f.py --fast"])
def test_a_command_that_is_none_is_seen(line: str) -> None:
    assert fault(line)
