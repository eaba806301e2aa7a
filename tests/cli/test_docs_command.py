"""`mirage docs`: each page that an error names is there, and a search finds what a user asks."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner, Result

from mirage.cli import main
from mirage.errors import MirageError
from mirage.results import documentation

NAMED = re.compile(r"`mirage docs ([a-z-]+)`")


def docs(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["docs", *arguments], prog_name="mirage")


def test_each_page_that_an_error_names_is_there() -> None:
    named = {p for e in MirageError.registry.values() for p in NAMED.findall(e.default_next_step)}
    assert {"operators", "mugraph"} <= named <= set(documentation.pages())
    assert not any("docs/" in e.default_next_step for e in MirageError.registry.values()), "a path that a wheel has not"


def test_a_page_a_code_and_a_list_are_printed() -> None:
    assert docs("errors").stdout == docs("docs/errors.md").stdout and "MIR201" in docs("errors").stdout
    assert docs("mir201").stdout.startswith("MIR201: ")
    assert docs().stdout.split() == documentation.pages()


@pytest.mark.parametrize(
    ("words", "page"), [("speed light", "performance"), ("axiom", "verification"), ("sandbox", "daemon")]
)
def test_words_find_their_page(words: str, page: str) -> None:
    found = [line.split()[0] for line in docs(*words.split()).stdout.splitlines()]
    assert page in found[:5], found


@pytest.mark.parametrize(
    "question",
    [
        "my function is a method",
        "which kernel runs",
        "how do i check it again",
        "why is it not faster",
        "is my code sent anywhere",
    ],
)
def test_a_question_finds_its_answer_first(question: str) -> None:
    for asked in ([question], question.split()):
        first = docs(*asked).stdout.splitlines()[0]
        assert first.split()[0] == "questions" and question in first.lower(), first
    page = documentation.page("questions")
    assert page is not None and len(re.split(f"(?i)## {question}", page.read_text("utf-8"))) == 2


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("can I use a class method?", "my function is a method"),
        ("nn.Module forward", "my function is a method"),
        ("which kernel is running?", "which kernel runs"),
        ("how can I verify a kernel again", "how do i check it again"),
        ("Why isn't it faster?", "why is it not faster"),
        ("why is my function not faster", "why is it not faster"),
        ("is my code sent anywhere?", "is my code sent anywhere"),
        ("shell completion", "can my shell complete the commands"),
        ("telemetry", "is my code sent anywhere"),
        ("is anything uploaded or sent to a server", "is my code sent anywhere"),
    ],
)
def test_other_words_find_the_same_answer(asked: str, answer: str) -> None:
    """People do not ask as a heading does: it is among the first three."""
    first = docs(asked).stdout.lower().splitlines()[:3]
    assert any(line.startswith("questions ") and answer in line for line in first), first


def test_the_commands_that_the_questions_name_are_there() -> None:
    for name in ("questions", "projects"):
        page = documentation.page(name)
        assert page is not None
        for command in re.findall(
            r"(?<!pip )`?mirage ([a-z-]+)", re.sub(r"```python.*?```", "", page.read_text(), flags=re.S)
        ):
            assert main.get_command(main.make_context("mirage", ["docs"]), command) is not None, command


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_that_a_page_names_is_there(shell: str) -> None:
    page = documentation.page("questions")
    assert page is not None and f"_MIRAGE_COMPLETE={shell}_source mirage" in page.read_text("utf-8")
    instructions = {
        "_MIRAGE_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": "mirage opt",
        "COMP_CWORD": "1" if shell != "fish" else "opt",
    }
    done = CliRunner().invoke(main, [], prog_name="mirage", env=instructions, complete_var="_MIRAGE_COMPLETE")
    assert "optimize" in done.stdout and "uninstall" not in done.stdout


def test_what_is_on_no_page_is_said() -> None:
    done = docs("zyzzyva")
    assert done.exit_code == 1 and "no page says zyzzyva" in done.stderr
    assert docs("zyzzyva", "roofline").stdout == docs("roofline").stdout, (
        "a word that no page has does not hide the others"
    )
    assert docs("../errors").exit_code == 1


def test_without_pages_nothing_is_pretended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documentation, "folder", lambda: None)
    assert docs("errors").exit_code == 1 and docs().exit_code == 1
