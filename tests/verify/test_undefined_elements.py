"""What cannot be compared in a module: where the function has no number (accepted under a flag alone), and tensors too large to be run."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from handwritten.case import case
from written_modules import ADD

from mirage.cli import verify_subjects
from mirage.cli.verify import NOTHING, MayDiffer, judged
from mirage.isolate.runner import Worker
from mirage.results.verdict import Verdict

NAN = MayDiffer(undefined=True)
NORM = case("batch_norm")
Ask = Callable[[str, str, MayDiffer], Verdict]


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory, worker: Worker) -> Ask:
    folder = tmp_path_factory.mktemp("undefined")

    def verdict(function: str, module: str, may: MayDiffer) -> Verdict:
        sides = []
        for name, text in (("function", function), ("module", module)):
            path = folder / f"{name}.py"
            path.write_text(text, "utf-8")
            sides.append(verify_subjects.load(str(path), worker))
        return judged(*sides, worker, may=may)

    return verdict


def test_a_number_where_the_function_has_none_is_accepted_under_the_flag_alone(ask: Ask) -> None:
    """A ReLU of NaN is NaN, and Triton's maximum of NaN and 0 is 0."""
    plain = ask(NORM.function, NORM.module, NOTHING)
    assert plain.word == "UNDECIDED" and "--nan-may-differ" in plain.evidence[0].summary
    allowed = ask(NORM.function, NORM.module, NAN)
    assert allowed.word == "TESTED" and any("where the function gives NaN nothing is said" in n for n in allowed.notes)


def test_without_such_elements_the_verdict_says_nothing_of_them(ask: Ask) -> None:
    notes = ask(ADD.function, ADD.module, NAN).notes
    assert not any("NaN" in n for n in notes)
    assert any("no input needs a gradient" in n for n in notes)  # a module that does not ask gives none


@pytest.mark.parametrize("fault", NORM.faults, ids=lambda f: f.name)
def test_what_differs_where_the_function_has_numbers_is_refused_all_the_same(ask: Ask, fault: object) -> None:
    assert ask(NORM.function, NORM.wrong(fault), NAN).word == "REJECTED"  # type: ignore[arg-type]


def test_no_number_where_the_function_has_one_is_refused_all_the_same(ask: Ask) -> None:
    old = "tl.maximum(x * scale + shift, 0.0)"
    assert NORM.module.count(old) == 1
    wrong = NORM.module.replace(old, "tl.where(x < 1.0, tl.maximum(x * scale + shift, 0.0), tl.sqrt(-1.0 - x * x))")
    assert ask(NORM.function, wrong, NAN).word == "REJECTED"


def test_a_function_that_has_hardly_a_number_is_undecided_under_the_flag_too(ask: Ask) -> None:
    line = next(x for x in ADD.function.splitlines() if x.startswith("    return"))
    function = ADD.function.replace(line, "    return torch.log(-(x * x) - y * y - 1.0)")
    found = ask(f"import torch\n{function}", ADD.module, NAN)
    assert found.word == "UNDECIDED", found.evidence[0].summary


def test_tensors_that_are_too_large_to_be_run_are_undecided_with_a_next_step(ask: Ask) -> None:
    large = ADD.function.replace("98432", str((1 << 26) + 1))
    found = ask(large, ADD.module, NOTHING)
    assert found.word == "UNDECIDED" and "name a row of smaller ones" in found.evidence[0].summary
