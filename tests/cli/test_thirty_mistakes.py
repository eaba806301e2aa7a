"""Each mistake of `mistakes.py` is one line with code, place and next step, and who follows the next step has made it good."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from mistakes import MISTAKES, WRONG_USAGE, Files, Mistake

from mirage.cli import main, optimize, progress_line
from mirage.devices.table import device
from mirage.errors import Cancelled
from mirage.program.trace import trace
from mirage.results import documentation
from mirage.source import detect, shapes
from mirage.source.slice import cut_decorated

LINE = re.compile(r"(?P<code>MIR\d{3})(?: (?P<path>[^:]+?)(?::(?P<line>\d+))?:)? (?P<message>.+) -> (?P<next>.+)\n")
Mirage = Callable[..., Result]


@pytest.fixture
def mirage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mirage:
    """The command in a folder of its own. What comes after tracing is not asked for: it ends there as if it were cancelled."""
    monkeypatch.chdir(tmp_path)

    def here(text: str, path: str, function: str, target: str, *_: object) -> None:
        device(target)
        (found,) = (f for f in detect.find(text, path).functions if f.name == function)
        trace(cut_decorated(found).text, function, shapes.read(found), path=path)
        raise Cancelled("traced")

    monkeypatch.setattr(optimize, "here", here)
    monkeypatch.setattr(progress_line, "EVERY_S", {True: 600.0, False: 600.0})  # a slow machine says that time goes on
    return lambda *arguments: CliRunner().invoke(main, arguments, prog_name="mirage")


def put(files: Files) -> None:
    for name, text in files.items():
        Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_line_and_its_next_step_works(mistake: Mistake, mirage: Mirage, tmp_path: Path) -> None:
    put(mistake.files)
    done = mirage(*mistake.run)
    assert (done.exit_code, done.stdout) == (1, ""), (done.output, done.exception)
    found = LINE.fullmatch(done.stderr)
    assert found is not None and found["code"] == mistake.code, done.stderr
    place = (found["path"] or "").removeprefix(f"{tmp_path}/")
    assert (place, found["line"]) == (mistake.path, None if mistake.line is None else str(mistake.line)), done.stderr
    assert mistake.says in found["message"] and mistake.step in found["next"], done.stderr
    put(mistake.mended)
    again = mirage(*(mistake.again or mistake.run))
    ends = again.stderr.splitlines()
    assert ends and all(x.startswith("MIR402") and "traced" in x for x in ends), again.stderr


@pytest.mark.parametrize("arguments", WRONG_USAGE.values(), ids=WRONG_USAGE)
def test_wrong_usage_says_how_it_is_used(arguments: tuple[str, ...], mirage: Mirage) -> None:
    put(MISTAKES["a method"].mended)
    done = mirage(*arguments)
    assert done.exit_code == 2 and done.stderr.startswith("Usage: mirage"), done.output
    assert done.stderr.splitlines()[-1].startswith("Error: ") and "Traceback" not in done.stderr


def test_there_are_thirty_and_none_names_a_page_that_is_not_there() -> None:
    assert len(MISTAKES) + len(WRONG_USAGE) >= 30 and len({m.code for m in MISTAKES.values()}) >= 15
    for m in MISTAKES.values():
        for page in re.findall(r"mirage docs ([a-z-]+)", m.step):
            assert documentation.page(page) is not None, page
        assert "docs/" not in m.step


def test_a_function_without_a_mistake_has_none(mirage: Mirage) -> None:
    put(MISTAKES["a method"].mended)
    assert mirage("optimize", "model.py", "--no-daemon").stderr.startswith("MIR402 traced")
