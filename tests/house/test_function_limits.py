"""The limits of functions: what is counted, and that a function past a limit is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from function_limits import COMPLEXITY, FOLDERS, LINES, PARAMETERS, ROOT, beyond, measured

COUNTED = {
    "pass": 1,
    "if a: pass\nelif b: pass\nelse: pass": 3,
    "return 1 if a else 2": 2,
    "for x in a: pass\nelse: pass": 3,
    "while a: pass": 2,
    "try: pass\nexcept A: pass\nexcept B: pass\nelse: pass\nfinally: pass": 4,
    "assert a": 2,
    "return [x for x in a if b if c]": 4,
    "return {x for y in a for x in y}": 3,
    "return a and b and c or d": 4,
    "match a:\n case 1: pass\n case 2: pass\n case _: pass": 3,
    "match a:\n case 1: pass\n case _ if b: pass": 3,
    "with a: pass": 1,
    "def inner():\n  if a: pass": 1,
    "return lambda: a and b": 2,
}


def function(body: str, signature: str = "") -> str:
    return f"def f({signature}):\n" + "".join(f" {line}\n" for line in body.splitlines())


@pytest.mark.parametrize("body", COUNTED)
def test_paths_are_counted(body: str) -> None:
    assert next(f for f in measured(Path("f.py"), function(body)) if f.name == "f").complexity == COUNTED[body]


def past(tmp_path: Path, text: str) -> list[str]:
    path = tmp_path / "f.py"
    path.write_text(text, "utf-8")
    return beyond([path])


NAMES = [f"p{i}" for i in range(PARAMETERS)]


@pytest.mark.parametrize(
    ("at_the_limit", "past_it"),
    [
        (function("pass\n" * (LINES - 1)), function("pass\n" * LINES)),
        (function("if a: pass\n" * (COMPLEXITY - 1)), function("if a: pass\n" * COMPLEXITY)),
        (function("pass", ", ".join(["self", *NAMES])), function("pass", ", ".join([*NAMES, "one_more"]))),
        (function("pass", ", ".join([*NAMES[:4], "/", *NAMES[4:]])), function("pass", ", ".join([*NAMES, "*", "k"]))),
        (function("pass"), "class C:\n async def f(self):\n" + "  if a: pass\n" * COMPLEXITY),
        (function("def g():\n  pass"), function("def g():\n" + "  if a: pass\n" * COMPLEXITY)),
    ],
)
def test_a_function_past_a_limit_is_named(tmp_path: Path, at_the_limit: str, past_it: str) -> None:
    assert past(tmp_path, at_the_limit) == []
    assert len(past(tmp_path, past_it)) == 1


def test_no_function_of_ours_is_past_a_limit() -> None:
    assert beyond([ROOT / folder for folder in FOLDERS]) == []
