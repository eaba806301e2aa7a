"""`mirage init` and `[tool.mirage]`: a project's defaults hold for its commands, and a mistake in them is one line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mirage.cli import doctor, init, main, optimize, project_settings
from mirage.errors import MirageError, UnknownOperator
from mirage.link.request_parameters import SearchOptions

FUNCTION = """import mirage


@mirage.optimize(inputs=[((16, 64), "fp16")])
def f(x):
    return x * 2
"""
Run = Callable[..., Result]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(FUNCTION)
    return tmp_path


@pytest.fixture
def run() -> Run:
    return lambda *arguments: CliRunner().invoke(main, [str(a) for a in arguments], prog_name="mirage")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, SearchOptions]]:
    """What the search is asked with."""
    found: list[tuple[str, SearchOptions]] = []

    def here(text: str, path: str, function: str, target: str, options: SearchOptions, *_: object) -> None:
        found.append((target, options))
        raise UnknownOperator(function)

    monkeypatch.setattr(optimize, "here", here)
    return found


def fine(monkeypatch: pytest.MonkeyPatch, *wrong: dict[str, str | bool]) -> None:
    rows: list[dict[str, str | bool]] = [{"name": "torch", "value": "2.9", "ok": True, "next": ""}, *wrong]
    monkeypatch.setattr(doctor, "check", lambda: rows)


def test_the_settings_are_the_defaults_of_its_commands(
    project: Path, run: Run, asked: list[tuple[str, SearchOptions]], monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "pyproject.toml").write_text('[tool.mirage]\ntarget = "a100"\nseconds = 7\nkernels = 2\n')
    (project / "below").mkdir()
    monkeypatch.chdir(project / "below")
    run("optimize", project / "model.py", "--no-daemon")
    run("optimize", project / "model.py", "--no-daemon", "--target", "h100", "--seconds", "3")
    assert [(t, o.seconds, o.kernels) for t, o in asked] == [("sm_80", 7.0, 2), ("sm_90", 3.0, 2)]


def test_a_pyproject_without_the_table_says_nothing(
    project: Path, run: Run, asked: list[tuple[str, SearchOptions]]
) -> None:
    (project / "pyproject.toml").write_text("[tool.other]\nnot toml at all")
    run("optimize", "model.py", "--no-daemon")
    assert [t for t, _ in asked] == ["sm_90"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[tool.mirage]\ntarget = ", "cannot be read"),
        ('[tool.mirage]\ntargets = "sm_90"', "`targets`"),
        ("[tool.mirage]\ntarget = 90", "no str"),
        ("[tool.mirage]\nkernels = true", "no int"),
    ],
)
def test_a_mistake_in_them_is_one_line(
    project: Path, run: Run, asked: list[tuple[str, SearchOptions]], text: str, says: str
) -> None:
    (project / "pyproject.toml").write_text(text)
    done = run("optimize", "model.py", "--no-daemon")
    assert done.exit_code == 1 and not asked
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("MIR111") and says in done.stderr
    assert run("init").exit_code == 1, "it is kept as it is"
    assert (project / "pyproject.toml").read_text() == text


def test_bounds_that_bound_nothing_are_wrong_usage_there_too(
    project: Path, run: Run, asked: list[tuple[str, SearchOptions]]
) -> None:
    (project / "pyproject.toml").write_text("[tool.mirage]\nkernels = 0\n")
    assert run("optimize", "model.py", "--no-daemon").exit_code == 2 and not asked


@pytest.mark.parametrize("before", [None, "[project]\nname = 'p'\n", "[project]\nname = 'p'"])
def test_init_writes_what_the_commands_read(
    project: Path, run: Run, asked: list[tuple[str, SearchOptions]], monkeypatch: pytest.MonkeyPatch, before: str | None
) -> None:
    fine(monkeypatch)
    monkeypatch.setattr(init, "gpu_target", lambda: "sm_89")
    path = project / "pyproject.toml"
    if before is not None:
        path.write_text(before)
    done = run("init")
    assert done.exit_code == 0 and "sm_89 (RTX 4090)" in done.stdout
    assert path.read_text().startswith(before or "[tool.mirage]")
    assert project_settings.read(path) == {"target": "sm_89"}
    run("optimize", "model.py", "--no-daemon")
    assert [t for t, _ in asked] == ["sm_89"]
    again = path.read_text()
    assert "kept" in run("init").stdout and path.read_text() == again


def test_init_says_the_one_next_thing(project: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    fine(monkeypatch)
    assert run("init").stdout.endswith("next    run `mirage optimize .`: 1 decorated function here\n")
    (project / "model.py").unlink()
    assert "write `@mirage.optimize(" in run("init").stdout.splitlines()[-1]
    fine(monkeypatch, {"name": "triton", "value": "missing", "ok": False, "next": "pip install triton"})
    done = run("init")
    assert "NO      triton: missing  -> pip install triton" in done.stdout
    assert done.stdout.endswith("next    pip install triton\n")


def test_a_folder_that_cannot_be_written_is_said(project: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    fine(monkeypatch)
    (project / "pyproject.toml").mkdir()
    done = run("init")
    assert done.exit_code == 1 and done.stderr.startswith("MIR404"), done.stderr


@pytest.mark.parametrize(("said", "target"), [("9.0\n", "sm_90"), ("8.9\n9.0\n", "sm_89"), ("7.5", None), ("", None)])
def test_the_first_gpu_decides(said: str, target: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\nprintf '{said}'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert init.gpu_target() == target
    program.unlink()
    assert init.gpu_target() is None


def test_each_setting_is_an_option_of_its_commands() -> None:
    context = main.make_context("mirage", ["docs"])
    for key, (_, commands) in project_settings.KEYS.items():
        for name in commands:
            command = main.get_command(context, name)
            assert command is not None and key in {p.name for p in command.params}, (key, name)
    assert issubclass(MirageError.registry["MIR111"], MirageError)
