"""The cases are what they are called: PyTorch and Triton's interpreter confirm a sample, and what is not so is noticed."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from forked_python import ForkedPython

from strangers import pairs
from strangers.cases import all_cases
from strangers.certify import first_configuration, pair_is_equal, pair_is_wrong
from strangers.edited.edit import Edit
from strangers.text_table import TEXTS

CERTIFY = Path(__file__).parent / "certify.py"


def test_a_sample_is_certified(forked_python: ForkedPython) -> None:
    """In a process of its own: Triton must be imported for the interpreter."""
    environment = os.environ | {"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    done = forked_python.run(CERTIFY, "19", env=environment)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("kind", list(pairs.WRONG))
def test_what_is_called_wrong_and_is_equal_is_noticed(kind: str) -> None:
    pair = pairs.WRONG[kind][4]
    assert pair_is_wrong(pair, kind)
    assert not pair_is_equal(pair)
    assert not pair_is_wrong(replace(pair, b=pair.a), kind)


def test_what_is_called_equal_and_is_wrong_is_noticed() -> None:
    pair = pairs.EQUAL[0]
    assert pair_is_equal(pair)
    assert not pair_is_equal(replace(pair, b="x.clamp(min=0).clamp(max=5)"))


def test_an_edit_of_what_is_not_there_is_refused() -> None:
    edit = Edit("none", (("a line that no module holds", ""),), "nothing")
    with pytest.raises(ValueError, match="does not hold"):
        edit.applied("x = 1\n")
    with pytest.raises(ValueError, match="does not hold"):
        _ = replace(TEXTS[0], old="a line that no text holds").wrong


def test_every_class_has_cases_with_names_of_their_own() -> None:
    names = [x.name for x in all_cases()]
    assert len(set(names)) == len(names)
    assert all(len(found) >= 20 for found in pairs.WRONG.values())


def test_one_configuration_is_left_of_several() -> None:
    text = next(x for x in TEXTS if x.name == "autotuned").right
    assert text.count("triton.Config(") == 2
    assert first_configuration(text).count("triton.Config(") == 1
