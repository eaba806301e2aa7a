"""What is kept of a text from one keystroke to the next says the same as reading all of it anew."""

from __future__ import annotations

import random

import pytest
from lsp_samples import FUNCTION, HEAD, TEXT

from mirage.source.statements import Chunks
from mirage_lsp.document import Document

BIG = (
    HEAD
    + "SCALE = 2.0\nSIZES = (\n4,\nSCALE,\n)\nOpen = '''\n@mirage.optimize\n'''\n\n\n"
    + "def helper(x):\n    return x * SCALE\n\n\ndef other(x):\n    return helper(x)\n\n\n"
    + FUNCTION.replace("x + x", "other(x) + SIZES[0]")
    + "\n\n"
    + FUNCTION.replace("double", "twice")
    + "\n\n"
    + FUNCTION.replace("double", "scaled")
    .replace("16 64", "b 64")
    .replace("optimize", 'optimize(dims={"b": SIZES[0]})')
)


def fresh(text: str) -> Document:
    return Document("file:///project/model.py", text, 1)


def said(document: Document) -> list[tuple[str, str, str]]:
    """Name, identity and problem of every function."""
    return [(f.name, f.identity, str(f.problem)) for f in document.functions]


def test_random_edits_read_the_same_as_anew() -> None:
    rng = random.Random(7)
    document = fresh(BIG)
    words = [
        "(",
        ")",
        "'''",
        "#",
        "\n",
        "    ",
        "SCALE",
        "helper",
        "3",
        '"',
        "def f():\n    pass\n",
        "x",
        "import math\n",
        "]",
    ]
    text, parsed = BIG, 0
    for step in range(400):
        if step % 3 == 0:
            text = BIG  # else nearly everything is broken for good
        at = rng.randrange(len(text))
        cut = rng.choice([0, 0, 1, 3])
        text = text[:at] + rng.choice(words) + text[at + cut :]
        document.set(text, step)
        whole, expected = document.reading.error, Chunks(text).syntax_error
        assert (whole is None) == (expected is None), text
        parsed += expected is None
        assert said(document) == said(fresh(text)), text
    assert 50 < parsed < 350  # both kinds were met


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x * SCALE", "x * 3"),  # a helper of a helper
        ("SCALE = 2.0", "SCALE = 3.0"),
        ("\n4,\n", "\n5,\n"),  # behind a cut inside brackets
        ("def helper(x)", "def helper(x, y=1)"),
        ("import torch\n", "import torch as helper\n"),
    ],
)
def test_a_change_far_away_counts(old: str, new: str) -> None:
    document = fresh(BIG)
    before = dict(zip("abc", said(document)))
    document.set(BIG.replace(old, new), 2)
    after = dict(zip("abc", said(document)))
    assert before["a"] != after["a"] and before["b"] == after["b"]
    assert said(document) == said(fresh(document.text))


def test_only_what_changed_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    from mirage_lsp import reading as module

    text = BIG.replace("(\n4,\nSCALE,\n)", "(4, SCALE)")  # a cut inside brackets makes all that follows count
    document = fresh(text)
    said(document)
    read: list[str] = []
    identity = module._identity
    monkeypatch.setattr(module, "_identity", lambda f, rows: read.append(f.name) or identity(f, rows))
    document.set("# a comment\n\n" + text, 2)
    said(document)
    assert read == []
    document.set(text.replace("return x + x\n\n\n@", "return x - x\n\n\n@"), 3)
    said(document)
    assert read == ["twice"]


@pytest.mark.parametrize(
    "text", ["  x = 1\n" + TEXT, TEXT + "'''", TEXT + ")\n", "(\n" + TEXT, TEXT + "\x00", "\ufeff" + TEXT, "", "\n\n"]
)
def test_errors_outside_of_statements_are_seen(text: str) -> None:
    assert (fresh(text).reading.error is None) == (Chunks(text).syntax_error is None)
