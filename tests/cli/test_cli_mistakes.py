"""Mistakes: one line on standard error with code, place and next step; nothing written, nothing of the file run."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
import torch
from bad_inputs import BAD, X, one

from mirage.errors import MirageError

Mirage = Callable[..., CompletedProcess[str]]
LINE = re.compile(r"(MIR\d{3})(?: (?P<path>[^:]+?)(?::(?P<line>\d+))?:)? (?P<message>.+) -> (?P<next>.+)\n")


def mistake(done: CompletedProcess[str], code: str) -> re.Match[str]:
    """The error's one line; it was all that was said."""
    assert (done.returncode, done.stdout) == (1, ""), (done.returncode, done.stdout, done.stderr)
    found = LINE.fullmatch(done.stderr)
    assert found is not None, done.stderr
    assert found[1] == code, done.stderr
    return found


# Each job of the daemon has fresh workers, which cost seconds. How an error reaches the user from there does not depend on which
# it is: one that is found in the text goes that way, and one that is found while the function is traced.
WAYS = [*((name, ("--no-daemon",)) for name in BAD), ("opens a file", ()), ("leaves for numpy", ())]


@pytest.mark.parametrize("name,options", WAYS, ids=[" ".join((name, *options)) for name, options in WAYS])
def test_bad_input(name: str, options: tuple[str, ...], mirage: Mirage, tmp_path: Path) -> None:
    bad = BAD[name]
    folder = tmp_path / "project"
    folder.mkdir()
    file = folder / "model.py"
    file.write_text(bad.text(str(tmp_path / "marker"), str(tmp_path / "other")), "utf-8")
    before = file.read_bytes()
    found = mistake(mirage("optimize", file, *options), bad.code)
    assert (found["path"], int(found["line"])) == (str(file), bad.line()), found[0]
    assert bad.says in found["message"]
    assert file.read_bytes() == before
    assert [p.name for p in folder.iterdir()] == ["model.py"]
    assert [p.name for p in tmp_path.iterdir()] == ["project"], "the file's own code ran"


def test_the_markers_would_be_seen(tmp_path: Path) -> None:
    """The twin: imported, the file leaves its marker; called, its function leaves the other."""
    space: dict[str, Any] = {}
    exec(BAD["opens a file"].text(str(tmp_path / "marker"), str(tmp_path / "other")), space)
    assert [p.name for p in tmp_path.iterdir()] == ["marker"]
    space["f"](torch.zeros(16, 64))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["marker", "other"]


def test_each_code_of_the_table_is_registered() -> None:
    assert {b.code for b in BAD.values()} <= set(MirageError.registry)


def test_missing_file(mirage: Mirage, tmp_path: Path) -> None:
    found = mistake(mirage("optimize", tmp_path / "nowhere.py"), "MIR100")
    assert found["path"] == str(tmp_path / "nowhere.py") and "No such file" in found["message"]
    assert found["message"].count("nowhere.py") == 0, "the path is said once"


def test_an_empty_folder_and_bytes_are_no_text(mirage: Mirage, tmp_path: Path) -> None:
    mistake(mirage("optimize", tmp_path), "MIR102")
    (tmp_path / "a.py").write_bytes(b"\xff\xfe\x00")
    mistake(mirage("optimize", tmp_path / "a.py"), "MIR100")


def test_unknown_function(mirage: Mirage, tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text("import mirage\n\n" + one(X, "return x + 1.0"), "utf-8")
    found = mistake(mirage("optimize", f"{file}::g"), "MIR108")
    assert "g" in found["message"] and "f" in found["message"]
    assert [p.name for p in tmp_path.iterdir()] == ["model.py"]


def test_unknown_target(mirage: Mirage, tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text("import mirage\n\n" + one(X, "return x + 1.0"), "utf-8")
    found = mistake(mirage("optimize", file, "--target", "sm_1", "--no-daemon"), "MIR304")
    assert "sm_90" in found["message"]


def test_wrong_usage(mirage: Mirage) -> None:
    done = mirage("optimize")
    assert done.returncode == 2 and "FILE[::FUNCTION]" in done.stderr
