"""The mutants of emitted modules: enough of each group, distinct, the same each time; a run shows the wrong ones and no equal one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from command_here import mirage
from forked_python import ForkedPython

from hostile_modules.certify_module import Outcome, Start, is_wrong, lines, outcomes
from hostile_modules.emitted import emitted
from hostile_modules.every_mutant import FAMILIES, GROUPS, code, every_mutant, parses
from hostile_modules.functions import FUNCTIONS
from hostile_modules.mutant import Family, Mutant, each

LEAST = {"text": 60, "precision": 20, "launcher": 60, "state": 100, "graph": 40, "equal": 25}
NAMES = ("softmax_rows", "long_sums")


def in_this_process(arguments: list[str]) -> None:
    done = mirage(*arguments, CUDA_VISIBLE_DEVICES="")
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory, workers_stay: None) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("modules")
    return {f.name: emitted(f, folder, in_this_process) for f in FUNCTIONS if f.name in NAMES}


@pytest.fixture
def start(forked_python: ForkedPython) -> Start:
    """Processes that find PyTorch imported."""
    return lambda arguments, environment, folder: forked_python.run(*arguments, cwd=folder, env=environment).stdout


@pytest.fixture(scope="module")
def mutants(modules: dict[str, str]) -> dict[str, list[Mutant]]:
    return {name: list(every_mutant(text)) for name, text in modules.items()}


def test_each_group_has_enough_mutants_of_each_module(mutants: dict[str, list[Mutant]]) -> None:
    for name, found in mutants.items():
        counts = Counter(m.group for m in found)
        assert all(counts[group] >= LEAST[group] for group in GROUPS), (name, counts)


def test_mutants_are_distinct_modules(modules: dict[str, str], mutants: dict[str, list[Mutant]]) -> None:
    for name, found in mutants.items():
        assert len({m.text for m in found} | {modules[name]}) == len(found) + 1
        assert len({m.name for m in found}) == len(found)
        assert all(parses(m.text) for m in found)


def test_mutants_are_the_same_each_time(modules: dict[str, str], mutants: dict[str, list[Mutant]]) -> None:
    assert list(every_mutant(modules["softmax_rows"])) == mutants["softmax_rows"]


def test_an_edit_that_breaks_the_syntax_is_no_mutant(modules: dict[str, str]) -> None:
    text = modules["softmax_rows"]
    broken = list(Family("broken", "text", "certify", each("kernels", r"def ", "def def ")).mutants(text))
    assert broken and not any(parses(m.text) for m in broken)


def test_an_edit_stays_in_its_part(modules: dict[str, str]) -> None:
    text = modules["softmax_rows"]
    names = {m.name for m in Family("f", "text", "certify", each("kernels", r"sizes", "x")).mutants(text)}
    assert names == set() and "sizes" in text


def test_no_docstring_is_labelled_wrong(modules: dict[str, str]) -> None:
    text = modules["softmax_rows"]
    named = text.replace(
        "    return torch.softmax", '    """Softmax of 12 rows, 700 each."""\n    return torch.softmax'
    )
    assert named != text and code(named) == code(text)
    graphs = [f for f in FAMILIES if f.group == "graph"]
    wrong = [m for m in every_mutant(named, graphs) if m.expected == "wrong"]
    assert wrong and all(code(m.text) != code(named) for m in wrong)


def test_modules_with_counters_lose_their_order(modules: dict[str, str], mutants: dict[str, list[Mutant]]) -> None:
    """The families of semaphores have places in a module with counters and none in one without."""
    order = {"order_relaxed", "barrier_dropped", "counter_not_reset", "last_but_one", "arrival_before_the_stores"}
    assert "atomic_add" in modules["long_sums"] and "atomic_add" not in modules["softmax_rows"]
    assert order <= {m.family for m in mutants["long_sums"]}
    assert not order & {m.family for m in mutants["softmax_rows"]}


def test_families_have_names_of_their_own_and_one_label() -> None:
    assert len({f.name for f in FAMILIES}) == len(FAMILIES)
    assert {f.expected for f in FAMILIES if f.group == "equal"} == {"equal"}
    assert "equal" not in {f.expected for f in FAMILIES if f.group != "equal"}


def shown(text: str, mutants: list[Mutant], families: set[str], start: Start) -> dict[str, set[str]]:
    """What a run says of the mutants of these families."""
    found: dict[str, set[str]] = {}
    for mutant, outcome in outcomes(text, [m for m in mutants if m.family in families], start=start):
        found.setdefault(mutant.family, set()).add(outcome.word)
    return found


def test_a_run_shows_wrong_mutants_and_no_equal_one(
    modules: dict[str, str], mutants: dict[str, list[Mutant]], start: Start
) -> None:
    wrong = {"store_negated", "answer_scaled", "launch_dropped"}
    equal = {"accumulator_renamed", "blocks_backwards", "answer_copied"}
    found = shown(modules["softmax_rows"], mutants["softmax_rows"], wrong | equal, start)
    assert set(found) == wrong | equal
    assert all(found[family] <= {"wrong", "breaks"} for family in wrong), found
    assert all(found[family] == {"equal"} for family in equal), found


def test_what_takes_too_long_certifies_nothing(modules: dict[str, str], tmp_path: Path, start: Start) -> None:
    """A loop without an end is no difference that was seen, whatever is raised when its time is up; one that raises is."""
    text = modules["softmax_rows"]
    at = text.index("    return out\n")
    endless = "    while True:\n        try:\n            sum(range(10**6))\n"
    added = (f"{endless}        except TimeoutError:\n            raise KeyError from None\n", "    raise KeyError\n")
    texts = [text, *(text[:at] + line + text[at:] for line in added)]
    assert lines(texts, 1, tmp_path, tmp_path / "given.pt", "1", start=start) == ["1", "late", "2", "breaks"]


def test_a_module_that_does_not_run_certifies_nothing(start: Start) -> None:
    text = "def _original_f(x):\n    return x\n"
    with pytest.raises(RuntimeError, match="does not run"):
        list(outcomes(text, [Mutant("a", "a", "text", text + "\n", "certify")], start=start))


def test_what_is_to_be_refused_always_is_wrong_without_a_run() -> None:
    always = Mutant("a", "a", "state", "", "wrong")
    assert is_wrong(always, None) and list(outcomes("def _original_f(): pass\n", [always])) == []
    asked = Mutant("a", "a", "text", "", "certify")
    assert is_wrong(asked, Outcome("wrong", 0)) and is_wrong(asked, Outcome.read("breaks 3"))
    assert not any(is_wrong(asked, Outcome(word)) for word in ("rounding", "equal", "late"))


def test_where_the_function_overflows_nothing_is_shown(tmp_path: Path, start: Start) -> None:
    """A kernel of float16 products beside a function that gives infinities for large inputs: another value there is no difference,
    and one where the function has numbers is."""
    head = (
        "import torch\n_EXPECTED = (((4, 4), torch.float16),)\ndef _original_f(x):\n    return x * x * 100\ndef f(x):\n"
    )
    own, large, small = (
        f"{head}    return {made}\n"
        for made in (
            "(100 * x.float() ** 2).half()",
            "torch.where((x.abs() > 30) & x.isfinite(), 1, (100 * x.float() ** 2).half())",
            "101 * x * x",
        )
    )
    assert lines([own, large, small], 1, tmp_path, tmp_path / "given.pt", start=start) == ["1", "equal", "2", "wrong 0"]
