"""Two questions have the same key exactly when they have the same answer."""

import dataclasses
import sys
from importlib import metadata

import pytest

from mirage.errors import FunctionNotFound, MirageError
from mirage_daemon import alias

ASK = {"path": "a.py", "function": "f", "target": "sm_90", "interpreter": sys.executable}


def question():
    return alias.Question(
        slice="s", function="f", text="t", inputs="[]", target="sm_90", packages=(("torch", "2.9"),), python="3.11",
        mirage="0.1", code="c", devices=("H200",),
    )  # fmt: skip


OTHER = {"packages": (("torch", "2.10"),), "devices": ("H100",)}


@pytest.mark.parametrize("row", sorted(alias.KEY_INPUTS))
def test_each_row_alone_changes_the_key(row):
    changed = dataclasses.replace(question(), **{row: OTHER.get(row, "another")})
    assert alias.key(changed) != alias.key(question())


def test_every_fact_has_its_row():
    assert alias.fields_without_a_row() == set()
    assert alias.key(question()) == alias.key(question())


def test_neighbouring_rows_cannot_run_together():
    one, other = (dataclasses.replace(question(), python=p, mirage=m) for p, m in (("3.1", "10.1"), ("3.11", "0.1")))
    assert alias.key(one) != alias.key(other)


def test_a_results_place_depends_on_question_and_program():
    places = {alias.result_key(q, p) for q in (b"q", b"r") for p in ("p", "o")}
    assert len(places) == 4


def test_where_a_function_lies_does_not_change_its_question(text):
    here = alias.ask(text, **ASK)
    assert alias.ask("# moved\n\n" + text, **{**ASK, "path": "/other/project/b.py"}) == here


@pytest.mark.parametrize(("old", "new"), [("16, 64", "16, 128"), ("fp16", "bf16"), ("dim=-1", "dim=0")])
def test_what_the_function_is_changes_its_question(text, old, new):
    assert text.replace(old, new) != text
    assert alias.ask(text.replace(old, new), **ASK) != alias.ask(text, **ASK)


def test_a_constant_that_the_function_uses_changes_its_question_and_another_does_not(text):
    def with_constants(used, unused):
        return text.replace("import torch\n", f"import torch\nK = {used}\nL = {unused}\n").replace(
            "dim=-1)", "dim=-1) * K"
        )

    assert alias.ask(with_constants(1, 5), **ASK) == alias.ask(with_constants(1, 6), **ASK)
    assert alias.ask(with_constants(1, 5), **ASK) != alias.ask(with_constants(2, 5), **ASK)


def test_what_cannot_be_asked_is_an_error_of_the_source(text):
    with pytest.raises(FunctionNotFound):
        alias.ask(text, **{**ASK, "function": "nothing"})
    with pytest.raises(MirageError):
        alias.ask(text.replace("torch.softmax", "open"), **ASK)


def test_another_interpreters_packages_are_read_from_its_folders(tmp_path):
    site = tmp_path / "lib" / "python3.12" / "site-packages"
    (site / "torch-2.9.1.dist-info").mkdir(parents=True)
    (site / "torch-2.9.1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.9.1\n")
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin" / "python"
    python.write_text("#!/bin/sh\ntouch " + str(tmp_path / "ran"))
    python.chmod(0o755)
    (tmp_path / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.12.1\n")
    assert dict(alias.package_versions(str(python)))["torch"] == "2.9.1"
    assert dict(alias.package_versions(str(python)))["numpy"] == ""
    assert dict(alias.package_versions(sys.executable))["numpy"] == metadata.version("numpy")
    assert not (tmp_path / "ran").exists()


def test_asking_imports_neither_torch_nor_triton(text):
    import subprocess

    script = (
        "import sys\nfrom mirage_daemon import alias, life\n"
        f"alias.ask({text!r}, 'a.py', 'f', 'sm_90', sys.executable)\n"
        "assert not {'torch', 'triton'} & set(sys.modules), 'heavy'\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
