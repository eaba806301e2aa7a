"""`mirage verify`, `mirage show`, `mirage doctor`: what they print and how they end."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess

import click
import pytest
from click.testing import CliRunner
from workloads.hand import small

from mirage import cli
from mirage.cli import doctor
from mirage.mugraph import json_form, text
from mirage.mugraph.parse import parse

Mirage = Callable[..., CompletedProcess[str]]
HEAD = """\
import torch
import torch.nn.functional as F
from jaxtyping import Float16
from torch import Tensor

import mirage

open(MARKER, "w").close()


@mirage.optimize
"""
FUNCTIONS = {
    "twice": 'def f(x: Float16[Tensor, "8 24"], y: Float16[Tensor, "8 24"]):\n    return (x + y) * 2.0\n',
    "sum_of_doubles": 'def g(x: Float16[Tensor, "8 24"], y: Float16[Tensor, "8 24"]):\n    return x + y + y + x\n',
    "nearly": 'def f(x: Float16[Tensor, "8 24"], y: Float16[Tensor, "8 24"]):\n    return (x + y) * 2.001\n',
    "other_shape": 'def f(x: Float16[Tensor, "8 25"], y: Float16[Tensor, "8 25"]):\n    return (x + y) * 2.0\n',
}


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    made = {}
    for name, body in FUNCTIONS.items():
        made[name] = tmp_path / f"{name}.py"
        made[name].write_text((HEAD + body).replace("MARKER", repr(str(tmp_path / "marker"))), "utf-8")
    return made


def test_verify_equal(mirage: Mirage, files: dict[str, Path], tmp_path: Path) -> None:
    done = mirage("verify", files["twice"], files["sum_of_doubles"], "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["word"] in ("PROVED", "TESTED")
    assert not (tmp_path / "marker").exists()


def test_verify_not_equal(mirage: Mirage, files: dict[str, Path], tmp_path: Path) -> None:
    done = mirage("verify", files["twice"], f"{files['nearly']}::f")
    assert (done.returncode, done.stderr) == (3, "")
    assert "REJECTED" in done.stdout.splitlines()[0]
    assert not (tmp_path / "marker").exists()


def test_verify_of_other_inputs(mirage: Mirage, files: dict[str, Path]) -> None:
    done = mirage("verify", files["twice"], files["other_shape"])
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("MIR303 ") and done.stderr.count("\n") == 1 and " -> " in done.stderr


def test_verify_a_function_that_is_not_there(mirage: Mirage, files: dict[str, Path]) -> None:
    done = mirage("verify", files["twice"], f"{files['nearly']}::h")
    assert done.returncode == 1 and done.stderr.startswith(f"MIR108 {files['nearly']}: ")


def test_verify_with_one_file_is_wrong_usage(mirage: Mirage, files: dict[str, Path]) -> None:
    assert mirage("verify", files["twice"]).returncode == 2


GRAPH = small()["gated_mlp"].mugraph


def shown(mirage: Mirage, where: Path, form: str) -> str:
    done = mirage("show", where, "--format", form)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def is_the_graph(printed: str, form: str) -> bool:
    """Whether what was printed is GRAPH: read back, or as a drawing with the name of each of its tensors."""
    if form == "svg":
        root = ElementTree.fromstring(printed)
        said = " ".join(root.itertext())
        return root.tag.endswith("svg") and all(x.name in said for x in (*GRAPH.inputs, *GRAPH.outputs))
    read = parse(printed) if form == "text" else json_form.from_json(json.loads(printed))
    return text.to_text(read) == text.to_text(GRAPH)


@pytest.mark.parametrize("form", ["text", "svg", "json"])
def test_show_a_mugraph_file(mirage: Mirage, tmp_path: Path, form: str) -> None:
    (tmp_path / "a.txt").write_text(text.to_text(GRAPH), "utf-8")
    (tmp_path / "a.json").write_text(json.dumps({"mugraphs": [json_form.to_json(GRAPH)]}), "utf-8")
    printed = shown(mirage, tmp_path / "a.txt", form)
    assert is_the_graph(printed, form)
    assert shown(mirage, tmp_path / "a.json", form) == printed


def test_show_another_mugraph_would_be_seen(mirage: Mirage, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(text.to_text(small()["attention_split"].mugraph), "utf-8")
    assert not any(is_the_graph(shown(mirage, tmp_path / "a.txt", form), form) for form in ("text", "svg", "json"))


def test_show_a_function(mirage: Mirage, files: dict[str, Path], tmp_path: Path) -> None:
    done = mirage("show", files["twice"])
    assert (done.returncode, done.stderr) == (0, "")
    graph = parse(done.stdout)
    assert [t.name for t in graph.inputs] == ["x", "y"]
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(p.name for p in files.values()), "nothing is written"


@pytest.mark.parametrize("content", ["{", '{"mugraphs": [{"name": 3}]}', "mugraph a\nnonsense here\n", ""])
def test_show_what_is_no_mugraph(mirage: Mirage, tmp_path: Path, content: str) -> None:
    (tmp_path / "a.json").write_text(content, "utf-8")
    done = mirage("show", tmp_path / "a.json")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("MIR301 ") and done.stderr.count("\n") == 1 and " -> " in done.stderr


def test_show_in_an_unknown_form_is_wrong_usage(mirage: Mirage, files: dict[str, Path]) -> None:
    assert mirage("show", files["twice"], "--format", "png").returncode == 2


def test_doctor(mirage: Mirage) -> None:
    done = mirage("doctor", "--json")
    rows = {r["name"]: r for r in json.loads(done.stdout)}
    assert {"python", "torch", "triton", "numpy", "z3-solver", "gpu"} <= set(rows)
    assert done.returncode == (0 if all(r["ok"] for r in rows.values()) else 1)
    plain = mirage("doctor")
    assert plain.returncode == done.returncode and len(plain.stdout.splitlines()) == len(rows)


def test_doctor_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(package: str) -> str:
        if package == "triton":
            raise doctor.metadata.PackageNotFoundError(package)
        return "2.5.0"

    monkeypatch.setattr(doctor.metadata, "version", version)
    missing = [r for r in doctor.check() if not r["ok"]]
    assert [r["name"] for r in missing] == ["triton"] and "pip install" in str(missing[0]["next"])


def listed_without_words() -> list[str]:
    """The commands that `mirage --help` names and says nothing of."""
    names = cli.main.list_commands(click.Context(cli.main))
    said = CliRunner().invoke(cli.main, ["--help"]).output
    assert all(re.search(rf"(?m)^  {name}\b", said) for name in names)
    return [name for name in names if not re.search(rf"(?m)^  {name} +\w", said)]


def silent_commands(command: click.Command, path: str = "mirage") -> Iterator[str]:
    """The commands whose own `--help` does not say what they do, groups opened."""
    if not command.help:
        yield path
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None, name
            yield from silent_commands(inner, f"{path} {name}")


def test_every_command_says_what_it_does() -> None:
    assert listed_without_words() == []
    assert list(silent_commands(cli.main)) == []


def test_a_command_without_words_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(cli.HELP, "cache")
    assert listed_without_words() == ["cache"]
    group = click.Group("g", help="Of two.", commands=[click.Command("said", help="It is."), click.Command("mute")])
    assert list(silent_commands(group, "g")) == ["g mute"]
