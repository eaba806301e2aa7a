"""`mirage optimize FOLDER`, `mirage status`, `mirage uninstall`: all functions of a project, one mistake not the others' end."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mirage.cli import installed, main, optimize
from mirage.errors import MirageError, UnknownOperator, UnknownTarget
from mirage.runtime import daemon_kernels, installed_kernels
from mirage.source.slice import cut

FUNCTION = """import mirage
import torch


@mirage.optimize(inputs=[((16, 64), "fp16")])
def {name}(x):
    return torch.softmax(x * {factor}, dim=-1)
"""
Run = Callable[..., Result]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MIRAGE_HOME", str(tmp_path / "home"))
    root = tmp_path / "project"
    (root / "pkg").mkdir(parents=True)
    (root / "pkg" / "one.py").write_text(FUNCTION.format(name="f", factor=2))
    (root / "two.py").write_text(FUNCTION.format(name="g", factor=3))
    (root / "plain.py").write_text("x = 1\n")
    for ignored in (".hidden", "venv", "build"):
        (root / ignored).mkdir()
        (root / ignored / "three.py").write_text(FUNCTION.format(name="h", factor=4))
    (root / ".gitignore").write_text("build/\n")
    return root


@pytest.fixture
def run() -> Run:
    return lambda *arguments: CliRunner().invoke(main, [str(a) for a in arguments], prog_name="mirage")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, MirageError]:
    """Questions are answered by an error for each: by default one of the function alone. The table is of what each raised."""
    raised: dict[str, MirageError] = {}

    def here(text: str, path: str, function: str, target: str, *_: object) -> None:
        raised.setdefault(function, UnknownOperator(f"{function} for {target}", path=path))
        raise raised[function]

    monkeypatch.setattr(optimize, "here", here)
    return raised


def test_all_functions_of_a_folder_are_asked_for(project: Path, run: Run, asked: dict[str, MirageError]) -> None:
    done = run("optimize", project, "--no-daemon")
    assert list(asked) == ["g", "f"], "not those of ignored folders"
    assert done.exit_code == 1 and "0 of 2 answered" in done.stdout
    assert "MIR201" in done.stderr or all(e.code in done.stderr for e in asked.values())


def test_what_is_wrong_with_the_question_is_said_once(project: Path, run: Run, asked: dict[str, MirageError]) -> None:
    asked["g"] = UnknownTarget("no such")
    done = run("optimize", project, "--no-daemon")
    assert list(asked) == ["g"] and done.exit_code == 1 and done.stderr.count("MIR304") == 1


def test_a_file_that_does_not_parse_is_named_and_the_others_go_on(
    project: Path, run: Run, asked: dict[str, MirageError]
) -> None:
    (project / "broken.py").write_text("import mirage\ndef f(:\n")
    done = run("optimize", project, "--no-daemon", "--json")
    assert list(asked) == ["g", "f"]
    said = [e["error"]["code"] for e in json.loads(done.stdout)]
    assert said[0] == "MIR101" and len(said) == 3


def test_a_folder_without_decorated_functions_is_a_mistake(tmp_path: Path, run: Run) -> None:
    (tmp_path / "plain.py").write_text("import mirage\n")
    done = run("optimize", tmp_path, "--no-daemon")
    assert done.exit_code == 1 and done.stderr.startswith("MIR102")


def test_several_answers_do_not_overwrite_one_file(project: Path, run: Run, asked: dict[str, MirageError]) -> None:
    assert run("optimize", project, "--no-daemon", "--out", project / "kernel.py").exit_code == 2
    assert not asked
    assert run("optimize", project / "two.py", "--no-daemon", "--out", project / "kernel.py").exit_code == 1
    assert list(asked) == ["g"]


@pytest.mark.parametrize(
    "bad", [("--kernels", 0), ("--kernels", -1), ("--loops", 0), ("--seconds", 0), ("--seconds", -1)]
)
def test_bounds_that_bound_nothing_are_wrong_usage(
    project: Path, run: Run, asked: dict[str, MirageError], bad: tuple[str, int]
) -> None:
    assert run("optimize", project / "two.py", "--no-daemon", *bad).exit_code == 2 and not asked


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("h100", "sm_90"),
        ("H200", "sm_90"),
        ("RTX 4090", "sm_89"),
        ("sm89", "sm_89"),
        ("sm_90a", "sm_90a"),
        ("a100", "sm_80"),
    ],
)
def test_a_gpu_is_called_by_its_name(
    project: Path, run: Run, asked: dict[str, MirageError], name: str, target: str
) -> None:
    run("optimize", project / "two.py", "--no-daemon", "--target", name)
    assert asked["g"].message == f"g for {target}"


def test_a_name_of_no_gpu_stays_what_it_is(project: Path, run: Run, asked: dict[str, MirageError]) -> None:
    run("optimize", project / "two.py", "--no-daemon", "--target", "h10")
    assert asked["g"].message == "g for h10"


def test_status_and_uninstall_know_what_is_installed(project: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installed.shutil, "which", lambda name: "/usr/bin/nvidia-smi")
    path = project / "two.py"
    where = installed_kernels.install_for(path.read_text(), "g", "def g(x): ...\n")
    rows = {r["function"]: r for r in json.loads(run("status", project, "--json").stdout)}
    assert rows["g"]["installed"] == str(where) and rows["g"]["why_not"] == ""
    assert rows["f"]["installed"] == "" and "nothing is installed" in rows["f"]["why_not"]
    assert "taken back" in run("uninstall", path).stdout and not where.exists()
    assert "nothing is installed" in run("uninstall", path).stdout


def test_a_kernel_of_an_earlier_text_is_not_said_to_run(project: Path, run: Run) -> None:
    path = project / "two.py"
    digest = cut(path.read_text(), "g").digest
    installed_kernels.install(digest, "def g(x): ...\n")
    path.write_text(FUNCTION.format(name="g", factor=5))
    assert json.loads(run("status", path, "--json").stdout)[0]["installed"] == ""
    assert installed_kernels.names() == [digest]
    assert run("uninstall", "--all").exit_code == 0 and installed_kernels.names() == []
    assert run("uninstall").exit_code == 2 and run("uninstall", path, "--all").exit_code == 2


def test_without_a_gpu_status_says_why(project: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installed.shutil, "which", lambda name: None)
    path = project / "two.py"
    installed_kernels.install_for(path.read_text(), "g", "def g(x): ...\n")
    assert "has no GPU" in run("status", path).stdout


def test_a_kernel_that_somebody_changed_is_not_said_to_run(project: Path, run: Run) -> None:
    path = project / "two.py"
    where = installed_kernels.install_for(path.read_text(), "g", "def g(x): ...\n")
    where.write_text("def g(x): return x\n" + where.read_text())
    row = json.loads(run("status", path, "--json").stdout)[0]
    assert row["installed"] == "" and "is not as this user's Mirage wrote it" in row["why_not"]


@pytest.fixture
def taken(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The kernel that a program took from the daemon for `g`, on a machine whose GPU is of that kind."""
    monkeypatch.setattr(installed.shutil, "which", lambda name: "/usr/bin/nvidia-smi")
    monkeypatch.setattr(installed, "gpu_target", daemon_kernels.target)
    digest = cut((project / "two.py").read_text(), "g").digest
    return installed_kernels.install(daemon_kernels.place(digest), "def g(x): ...\n")


def test_a_kernel_that_a_program_took_is_known_too(project: Path, run: Run, taken: Path) -> None:
    rows = {r["function"]: r for r in json.loads(run("status", project, "--json").stdout)}
    assert rows["g"]["installed"] == str(taken) and rows["g"]["why_not"] == ""
    assert rows["f"]["installed"] == "" and "nothing is installed" in rows["f"]["why_not"]
    assert "nothing is installed" in run("uninstall", project / "pkg").stdout and taken.exists()
    assert "taken back" in run("uninstall", project / "two.py").stdout and not taken.exists()
    assert json.loads(run("status", project / "two.py", "--json").stdout)[0]["installed"] == ""


def test_what_the_user_installed_goes_before_it(project: Path, run: Run, taken: Path) -> None:
    own = installed_kernels.install_for((project / "two.py").read_text(), "g", "def g(x): ...\n")
    assert json.loads(run("status", project / "two.py", "--json").stdout)[0]["installed"] == str(own)
    run("uninstall", project / "two.py")
    assert installed_kernels.names() == []


def test_a_kernel_that_a_program_took_with_other_versions_is_not_said_to_run(
    project: Path, run: Run, taken: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(daemon_kernels, "versions", lambda: {"torch": "0"})
    row = json.loads(run("status", project / "two.py", "--json").stdout)[0]
    assert row["installed"] == "" and row["why_not"] == installed.OTHER_VERSIONS
    assert "taken back" in run("uninstall", project / "two.py").stdout and not taken.exists()


def test_a_kernel_that_a_program_took_for_another_gpu_is_not_said_to_run(
    project: Path, run: Run, taken: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installed, "gpu_target", lambda: "sm_80")
    row = json.loads(run("status", project / "two.py", "--json").stdout)[0]
    assert row["installed"] == str(taken) and "this GPU is sm_80" in row["why_not"]


def test_a_kernel_that_a_program_took_and_somebody_changed_is_not_said_to_run(
    project: Path, run: Run, taken: Path
) -> None:
    taken.write_text("def g(x): return x\n" + taken.read_text())
    row = json.loads(run("status", project / "two.py", "--json").stdout)[0]
    assert row["installed"] == "" and "is not as this user's Mirage wrote it" in row["why_not"]
