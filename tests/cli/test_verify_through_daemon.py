"""`mirage verify` through a daemon: the same verdicts and errors as in one process, and the process judges where no daemon does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgpack
import pytest
from click.testing import CliRunner

from mirage.cli import main, verify_by_daemon
from mirage.cli.judged_row import JudgedRow
from mirage.cli.named_text import NamedText
from mirage.cli.verify import NOTHING, MayDiffer, every_row
from mirage.cli.verify_task import verify_task
from mirage.errors import DaemonBusy, DaemonUnavailable, MirageError, SignatureMismatch, WorkerDied
from mirage.link.request_parameters import JudgedText
from mirage.link.version import package_version
from mirage.results.codec import unstructure

HEAD = "import torch\nfrom jaxtyping import Float16\nfrom torch import Tensor\n\nimport mirage\n\n\n"


def function(folder: Path, name: str, body: str, parameters: str = 'x: Float16[Tensor, "6 10"]') -> Path:
    path = folder / f"{name}.py"
    path.write_text(f"{HEAD}@mirage.optimize\ndef f({parameters}):\n    return {body}\n", "utf-8")
    return path


class Asked:
    """In a client's place: its daemon's worker is this process."""

    package = package_version()
    welcome: Any = None

    def __init__(self, error: MirageError | None = None, package: str = package_version()) -> None:
        self.error, self.asked = error, 0
        self.welcome = type("Welcome", (), {"package": package})

    def connect(self, *, start_daemon: bool) -> Asked:
        assert not start_daemon  # a verdict is worth no daemon
        return self

    def __enter__(self) -> Asked:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def verify(
        self, a: JudgedText, b: JudgedText, target: str, overflow: bool, undefined: bool, interpreter: str
    ) -> dict[str, Any]:
        self.asked += 1
        if self.error is not None:
            raise self.error
        sides = {
            name: {"path": x.path, "function": x.function, "text": x.text, "full": x.full}
            for name, x in (("a", a), ("b", b))
        }
        payload = {**sides, "target": target, "overflow": overflow, "undefined": undefined, "warm": False}
        found: dict[str, Any] = msgpack.unpackb(msgpack.packb(verify_task(payload, lambda event: None)))
        return found


def through(
    asked: Asked, monkeypatch: pytest.MonkeyPatch, a: Path, b: Path, may: MayDiffer = NOTHING
) -> JudgedRow | None:
    monkeypatch.setattr(verify_by_daemon, "Client", asked)
    return verify_by_daemon.by_daemon(NamedText.of(str(a)), NamedText.of(str(b)), "sm_90", may)


def plain(found: JudgedRow) -> dict[str, Any]:
    """Without what differs from run to run."""

    def timeless(data: Any) -> Any:
        if isinstance(data, dict):
            return {k: timeless(v) for k, v in data.items() if k != "seconds"}
        return [timeless(x) for x in data] if isinstance(data, list | tuple) else data

    found = replace(found, subjects=())
    return {"left": found.left, "right": found.right, "rows": timeless([(s, unstructure(v)) for s, v in found.rows])}


@pytest.mark.usefixtures("workers_stay")
@pytest.mark.parametrize(("other", "word"), [("x + x", "PROVED"), ("x * 3", "REJECTED")])
def test_the_verdict_is_that_of_one_process(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, other: str, word: str
) -> None:
    a, b = function(tmp_path, "a", "x * 2"), function(tmp_path, "b", other)
    found = through(Asked(), monkeypatch, a, b)
    assert found is not None and found.weakest.word == word
    assert plain(found) == plain(every_row(str(a), str(b), "sm_90", None))


@pytest.mark.usefixtures("workers_stay")
def test_what_may_differ_reaches_the_judge(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    a, b = function(tmp_path, "a", "x * 0.25"), function(tmp_path, "b", "(x * 4096) * 0.00006103515625")
    strict, lax = (through(Asked(), monkeypatch, a, b, MayDiffer(overflow=may)) for may in (False, True))
    assert strict is not None and lax is not None
    assert (strict.weakest.accepted, lax.weakest.accepted) == (False, True)


@pytest.mark.usefixtures("workers_stay")
def test_what_the_judging_raises_is_raised(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    a, b = (
        function(tmp_path, "a", "x * 2"),
        function(tmp_path, "b", "x * y", 'x: Float16[Tensor, "6 10"], y: Float16[Tensor, "6 10"]'),
    )
    with pytest.raises(SignatureMismatch):
        through(Asked(), monkeypatch, a, b)


@pytest.mark.parametrize("error", [DaemonUnavailable("none"), DaemonBusy("not now"), WorkerDied("gone")])
def test_where_no_daemon_judges_this_process_does(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: MirageError
) -> None:
    a = function(tmp_path, "a", "x * 2")
    asked = Asked(error)
    assert through(asked, monkeypatch, a, a) is None and asked.asked == 1


def test_a_daemon_of_another_version_is_not_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    a, asked = function(tmp_path, "a", "x * 2"), Asked(package="0.0.1")
    assert through(asked, monkeypatch, a, a) is None and asked.asked == 0


def judged_here(*_: object) -> JudgedRow:
    raise SignatureMismatch("judged here")


@pytest.mark.parametrize("here", ["--no-daemon", "--rules", "PYTHONPATH"])
def test_what_a_daemon_cannot_do_is_not_asked_of_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, here: str) -> None:
    """It may not see what a variable of this process names."""
    a, asked = function(tmp_path, "a", "x * 2"), Asked()
    monkeypatch.setattr(verify_by_daemon, "Client", asked)
    monkeypatch.setattr("mirage.cli.verify.judged_here", judged_here)
    arguments = ["verify", str(a), str(a)]
    if here == "PYTHONPATH":
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    else:
        (tmp_path / "rules").write_text("")
        arguments += [here] if here == "--no-daemon" else [here, str(tmp_path / "rules")]
    said = CliRunner().invoke(main, arguments)
    assert asked.asked == 0 and "judged here" in said.output
