"""`./dev`: what it would install on which machine, and when it leaves the environment alone."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def dev(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """The script as a module, in a repository of its own, with pip replaced by a record of its calls."""
    loader = importlib.machinery.SourceFileLoader("dev_script", str(ROOT / "dev"))
    spec = importlib.util.spec_from_loader("dev_script", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    loader.exec_module(module)
    for name in ("pyproject.toml", "constraints/cpu.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    module.ROOT, module.VENV = tmp_path, tmp_path / ".venv"
    module.STAMP, module.CONSTRAINTS = module.VENV / "stamp", tmp_path / "constraints" / "cpu.txt"
    python = Path(module.venv_python())
    python.parent.mkdir(parents=True)
    python.touch()
    module.calls, module.answers = [], []

    def pip(*args: str) -> bool:
        module.calls.append(args)
        return module.answers.pop(0) if module.answers else True

    monkeypatch.setattr(module, "pip", pip)
    monkeypatch.setattr(module, "has_gpu", lambda: False)
    return module


def test_without_a_gpu_torch_is_pinned(dev: ModuleType) -> None:
    dev.setup()
    first, second = dev.calls
    assert {"torch==2.13.0", "triton==3.6.0"} <= set(first) and "torch" not in first
    assert second[:2] == ("--editable", ".[dev]") and "--constraint" in second


def test_without_a_gpu_the_cpu_index_is_the_second_choice(dev: ModuleType) -> None:
    dev.answers = [False]
    dev.setup()
    assert dev.calls[1] == ("--index-url", dev.CPU_INDEX, "torch==2.13.0")
    dev.STAMP.unlink()
    dev.answers = [False, False]
    with pytest.raises(SystemExit):
        dev.setup()
    assert not dev.STAMP.exists()


def test_with_a_gpu_the_machines_torch_stays(dev: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dev, "has_gpu", lambda: True)
    monkeypatch.setattr(dev, "imports", lambda *names: True)
    dev.setup()
    assert dev.calls == [("--editable", ".[dev]")]
    monkeypatch.setattr(dev, "imports", lambda *names: False)
    assert dev.install_torch() == [] and dev.calls[-1][0].startswith("torch>=")


def test_a_second_run_installs_nothing(dev: ModuleType) -> None:
    dev.setup()
    before = list(dev.calls)
    dev.setup()
    assert dev.calls == before


@pytest.mark.parametrize("name", ["pyproject.toml", "constraints/cpu.txt"])
def test_a_changed_requirement_installs_again(dev: ModuleType, name: str) -> None:
    dev.setup()
    before = len(dev.calls)
    (dev.ROOT / name).write_text((dev.ROOT / name).read_text() + "\n# changed\n")
    dev.setup()
    assert len(dev.calls) == 2 * before


def test_a_failed_install_leaves_no_stamp(dev: ModuleType) -> None:
    dev.answers = [True, False]
    with pytest.raises(SystemExit):
        dev.setup()
    assert not dev.STAMP.exists()


@pytest.mark.parametrize(
    ("args", "code"), [([], 2), (["--help"], 0), (["nothing"], 2), (["run"], 2), (["bench", "no"], 2)]
)
def test_usage(args: list[str], code: int) -> None:
    done = subprocess.run([sys.executable, str(ROOT / "dev"), *args], capture_output=True, text=True)
    assert done.returncode == code
    assert "demo" in done.stdout or "name a" in done.stderr


def test_a_long_install_says_that_it_goes_on(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert dev.EVERY_S <= 5
    monkeypatch.setattr(dev, "EVERY_S", 0.05)
    slow = [sys.executable, "-c", "import time; time.sleep(0.5)"]
    assert dev.waited("installing torch", slow)
    assert capfd.readouterr().err.count("dev: installing torch, 0 s\n") >= 2


def test_what_failed_is_no_success_and_what_is_quick_says_nothing(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(dev, "EVERY_S", 60.0)
    assert not dev.waited("installing torch", [sys.executable, "-c", "raise SystemExit(3)"])
    assert dev.waited("installing torch", [sys.executable, "-c", ""])
    assert capfd.readouterr().err == ""
