"""Two questions have the same key exactly when they have the same answer."""

import dataclasses
import os
import shutil
import sys
from importlib import metadata
from types import SimpleNamespace

import attrs
import pytest

from mirage.errors import FunctionNotFound, MirageError
from mirage.link import request_parameters
from mirage_daemon import question_key

ASK = {"path": "a.py", "function": "f", "target": "sm_90", "interpreter": sys.executable}


def question():
    rows = {name: name[0] for name in question_key.KEY_INPUTS}
    return question_key.JobQuestion(**{**rows, "packages": (("torch", "2.9"),), "devices": ("H200",)})


OTHER = {"packages": (("torch", "2.10"),), "devices": ("H100",)}


@pytest.mark.parametrize("row", sorted(question_key.KEY_INPUTS))
def test_each_row_alone_changes_the_key(row):
    changed = dataclasses.replace(question(), **{row: OTHER.get(row, "another")})
    assert question_key.key(changed) != question_key.key(question())


def test_every_fact_has_its_row():
    assert question_key.fields_without_a_row() == set()
    assert question_key.key(question()) == question_key.key(question())


@pytest.fixture
def world(tmp_path, monkeypatch, text):
    """A project with an interpreter of its own, a machine with a GPU, and our own code: all that a key looks at."""
    site, drivers, code = tmp_path / "lib/python3.12/site-packages", tmp_path / "nvidia", tmp_path / "code"
    for package in question_key.PACKAGES:
        install(site, package, "1.0")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python").write_text("")
    (tmp_path / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.12.1\n")
    (drivers / "gpus/0").mkdir(parents=True)
    (drivers / "gpus/0/information").write_text("Model: H200\nIRQ: 5\n")
    (drivers / "version").write_text("driver 575\n")
    code.mkdir()
    (code / "verify.py").write_text("DRAWS = 16\n")
    monkeypatch.setattr(question_key, "DRIVER", drivers)
    monkeypatch.setattr(question_key.mirage, "__file__", str(code / "__init__.py"))
    yield SimpleNamespace(
        folder=tmp_path, site=site, drivers=drivers, code=code, monkeypatch=monkeypatch, text=text, target="sm_90",
        options=request_parameters.SearchOptions(), function="f",
    )  # fmt: skip
    forget()  # else what comes after is asked, for a second, as by this code


def forget():
    """What a key remembers of the machine and of our code."""
    for remembered in (question_key.devices, question_key._code_now, question_key.package_version):
        remembered.cache_clear()


def install(site, package, version):
    name = package.replace("-", "_")
    for old in site.glob(f"{name}-*.dist-info"):
        shutil.rmtree(old)
    folder = site / f"{name}-{version}.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    os.utime(site, ns=(0, hash((package, version)) % 10**18))  # an installation is later than the last one


def rows_of(world):
    forget()
    options = question_key.as_text(world.options)
    asked_now = question_key.ask(
        world.text, "a.py", world.function, world.target, str(world.folder / "bin/python"), options
    )
    return {name: read(asked_now) for name, read in question_key.KEY_INPUTS.items()}


def replaced(old, new):
    def change(world):
        assert old in world.text
        world.text = world.text.replace(old, new, 1)

    return change


def option(**changed):
    def change(world):
        world.options = attrs.evolve(world.options, **changed)

    return change


def package(name):
    return lambda world: install(world.site, name, "2.0")


def written(place, content):
    return lambda world: (world.folder / place).write_text(content)


def moved(world):
    """The same packages in another folder."""
    other = world.folder.with_name("other")
    shutil.copytree(world.folder, other)
    world.folder = other


# what can change the answer -> (how it changes, the rows that say so); a row of the table without a change is a failure
CHANGES = {
    "the program": (replaced("dim=-1", "dim=0"), {"slice", "text"}),
    "a constant it uses": (replaced("dim=-1)", "dim=-1) * 2"), {"slice", "text"}),
    "its name": (lambda w: setattr(w, "function", "g"), {"function", "slice", "text"}),
    "a comment in it": (replaced("dim=-1)", "dim=-1)  # why"), {"text"}),
    "a shape": (replaced("16, 64", "16, 128"), {"inputs", "text"}),
    "a rank": (replaced("(16, 64)", "(2, 16, 64)"), {"inputs", "text"}),
    "a dtype": (replaced("fp16", "bf16"), {"inputs", "text"}),
    "the architecture": (lambda w: setattr(w, "target", "sm_100"), {"target"}),
    "the device": (written("nvidia/gpus/0/information", "Model: H100\n"), {"devices"}),
    "the driver": (written("nvidia/version", "driver 580\n"), {"devices"}),
    "the language": (written("pyvenv.cfg", "home = /usr/bin\nversion = 3.12.2\n"), {"python"}),
    "the environment": (moved, {"environment"}),
    "our version": (lambda w: w.monkeypatch.setattr(question_key, "package_version", Version("99")), {"mirage"}),
    "the verifier": (written("code/verify.py", "DRAWS = 17\n"), {"code"}),
    "an operator": (written("code/operators.py", ""), {"code"}),
    **{f"package {name}": (package(name), {"packages"}) for name in question_key.PACKAGES},
    **{
        f"option {name}": (option(**{name: value}), {"options"})
        for name, value in {
            "kernels": 1, "loops": 1, "seconds": 1.0, "anyway": True, "rules": "a: x + y == y + x",
            "given": {"franges": [4]},
        }.items()
    },
}  # fmt: skip


class Version(str):
    def __call__(self):
        return str(self)

    def cache_clear(self):
        pass


@pytest.mark.parametrize("name", sorted(CHANGES))
def test_each_thing_that_can_change_the_answer_changes_its_row_and_the_key(world, name):
    change, rows = CHANGES[name]
    before = rows_of(world)
    assert rows_of(world) == before
    change(world)
    after = rows_of(world)
    assert {row for row in before if before[row] != after[row]} == rows


def test_every_row_is_changed_by_something_and_every_option_and_package_is_among_them():
    assert set().union(*(rows for _, rows in CHANGES.values())) == set(question_key.KEY_INPUTS)
    assert {f"option {f.name}" for f in attrs.fields(request_parameters.SearchOptions)} <= set(CHANGES)
    assert {"torch", "triton", "z3-solver", "numpy"} < set(question_key.PACKAGES)


def test_neighbouring_rows_cannot_run_together():
    one, other = (dataclasses.replace(question(), python=p, mirage=m) for p, m in (("3.1", "10.1"), ("3.11", "0.1")))
    assert question_key.key(one) != question_key.key(other)


def test_a_results_place_depends_on_question_and_program():
    places = {question_key.result_key(q, p) for q in (b"q", b"r") for p in ("p", "o")}
    assert len(places) == 4


def test_where_a_function_lies_does_not_change_its_question(text):
    here = question_key.ask(text, **ASK)
    assert question_key.ask("# moved\n\n" + text, **{**ASK, "path": "/other/project/b.py"}) == here


@pytest.mark.parametrize(("old", "new"), [("16, 64", "16, 128"), ("fp16", "bf16"), ("dim=-1", "dim=0")])
def test_what_the_function_is_changes_its_question(text, old, new):
    assert text.replace(old, new) != text
    assert question_key.ask(text.replace(old, new), **ASK) != question_key.ask(text, **ASK)


def test_a_constant_that_the_function_uses_changes_its_question_and_another_does_not(text):
    def with_constants(used, unused):
        return text.replace("import torch\n", f"import torch\nK = {used}\nL = {unused}\n").replace(
            "dim=-1)", "dim=-1) * K"
        )

    assert question_key.ask(with_constants(1, 5), **ASK) == question_key.ask(with_constants(1, 6), **ASK)
    assert question_key.ask(with_constants(1, 5), **ASK) != question_key.ask(with_constants(2, 5), **ASK)


@pytest.mark.parametrize("before", ["\ufeff", "\x0c\n", "# \u2028 \x85\n", "S = '\x1c\x1d\x0b'\n", "\r\n", "\r"])
def test_the_functions_own_lines_are_counted_as_python_counts_them(text, before):
    commented = text.replace("torch.softmax(x, dim=-1)", "torch.softmax(x, dim=-1)  # mine")
    assert question_key.ask(before + text, **ASK) == question_key.ask(text, **ASK)
    assert question_key.ask(before + commented, **ASK).text == question_key.ask(commented, **ASK).text
    assert question_key.key(question_key.ask(before + commented, **ASK)) != question_key.key(
        question_key.ask(before + text, **ASK)
    )


def test_what_cannot_be_asked_is_an_error_of_the_source(text):
    with pytest.raises(FunctionNotFound):
        question_key.ask(text, **{**ASK, "function": "nothing"})
    with pytest.raises(MirageError):
        question_key.ask(text.replace("torch.softmax", "open"), **ASK)


def test_another_interpreters_packages_are_read_from_its_folders(tmp_path):
    site = tmp_path / "lib" / "python3.12" / "site-packages"
    (site / "torch-2.9.1.dist-info").mkdir(parents=True)
    (site / "torch-2.9.1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.9.1\n")
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin" / "python"
    python.write_text("#!/bin/sh\ntouch " + str(tmp_path / "ran"))
    python.chmod(0o755)
    (tmp_path / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.12.1\n")
    assert dict(question_key.package_versions(str(python)))["torch"] == "2.9.1"
    assert dict(question_key.package_versions(str(python)))["numpy"] == ""
    assert dict(question_key.package_versions(sys.executable))["numpy"] == metadata.version("numpy")
    assert not (tmp_path / "ran").exists()


def test_asking_imports_neither_torch_nor_triton(text):
    import subprocess

    script = (
        "import sys\nfrom mirage_daemon import question_key as alias\n"
        f"alias.ask({text!r}, 'a.py', 'f', 'sm_90', sys.executable)\n"
        "assert not {'torch', 'triton'} & set(sys.modules), 'heavy'\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
