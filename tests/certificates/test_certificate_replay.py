"""Certificates of proofs are replayed by the independent checker, and what was changed or forged is refused."""

from __future__ import annotations

import ast
import io
import json
import sys
import time
import tokenize
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from forgery.forged import FALSE, Forge, hostile, sealed, step
from forgery.row_values import all_agree
from forgery.tampering import tampered
from workloads.terms import problem

from mirage.certificates.certificate import NoCertificate, Pair, Side, Statement, certificate, of_case
from mirage.devices.table import DEVICES
from mirage.meaning.terms import Terms
from mirage.mugraph.grammar import DTensor
from mirage.mugraph.text import to_text
from mirage.profile.roofline import estimate
from mirage.search.engine import Bounds, Search
from mirage.verify.judge import Case
from mirage.verify.output_terms import Output
from mirage_certificate.certificate import check, main
from mirage_certificate.laws import TEXT
from mirage_certificate.polynomials import Refused

CHECKER = Path(__file__).resolve().parents[2] / "core" / "mirage_certificate"
NAMES = ("attention", "rmsnorm_linear", "low_rank_adapter")


@cache
def written(name: str) -> dict[str, Any]:
    """The certificate of a workload's best candidate."""
    p = problem(name)
    search = Search(p, lambda g: estimate(g, DEVICES["sm_90"]), bounds=Bounds(keep=4, tilings=2))
    list(search.run())
    graph = search.best[0].mugraph
    targets = [Output(o.tensor, o.term, o.dims) for o in p.outputs]
    statement = of_case(Case(p.t, targets, graph, "", None, "", ""), graph)  # type: ignore[arg-type]
    return certificate(Side("function", name, b"f"), Side("mugraph", name, to_text(graph).encode()), [statement])


def graph_file(name: str) -> bytes:
    return str(written(name)["rows"][0]["mugraph"]).encode()


@pytest.mark.parametrize("name", NAMES)
def test_a_certificate_is_replayed(name: str) -> None:
    found = check(sealed(written(name)), b"f", graph_file(name))
    assert len(found) == len(written(name)["rows"][0]["equations"]) > 0
    assert all_agree(written(name))


@pytest.mark.parametrize("name", NAMES)
def test_a_change_is_refused(name: str) -> None:
    accepted = []
    for change, data in tampered(written(name)):
        try:
            check(data, b"f", graph_file(name))
        except Refused:
            continue
        if not all_agree(json.loads(data)):
            accepted.append(change)
    assert accepted == []


@pytest.mark.parametrize("name", FALSE)
def test_a_falsehood_is_refused(name: str) -> None:
    with pytest.raises(Refused):
        check(sealed(FALSE[name](Forge())))


def test_hostile_texts_are_refused_soon() -> None:
    for what, text in hostile(written("attention")):
        start = time.process_time()
        with pytest.raises(Refused):
            check(text)
        assert time.process_time() - start < 10, what


def test_a_hand_made_proof_is_replayed() -> None:
    f = Forge()
    x, y = f.input("x", "i", "j"), f.input("y", "i", "j")
    one = f.row("exp", f.row("add", x, y))
    other = f.row("mul", f.row("exp", x), f.row("exp", y))
    (equation,) = check(sealed(f.certificate(one, other, step("exponential of a sum", one, a=x, b=y))))
    assert (equation.shows, equation.steps) == ("out", 1)


def pair(build: Any, booleans: tuple[str, ...] = ()) -> dict[str, Any]:
    """The certificate of two terms, which must have values at the same points."""
    t = Terms({"i": 3, "j": 4})
    names = ("x", "y", "b")
    read = [t.input(n, (), boolean=n in booleans) for n in names]
    first, second = build(t, *read)
    inputs = [DTensor(n, "bool" if n in booleans else "fp32", ()) for n in names]
    statement = Statement(t, [Pair("output-0", first, second)], inputs, t.sizes, both=True)
    return certificate(Side("function", "a", b""), Side("function", "b", b""), [statement])


PAIRS = {
    "sigmoid": lambda t, x, y, b: (t.fn("sigmoid", x), t.inv(t.add(t.const(1), t.exp(t.neg(x))))),
    "fractions": lambda t, x, y, b: (
        t.inv(t.add(t.const(1), t.exp(x))),
        t.mul(t.exp(t.neg(x)), t.inv(t.add(t.const(1), t.exp(t.neg(x))))),
    ),
    "minimum": lambda t, x, y, b: (t.fn("minimum", x, y), t.sub(t.add(x, y), t.fn("maximum", y, x))),
    "relu": lambda t, x, y, b: (t.fn("maximum", x, t.const(0)), t.mul(t.const("1/2"), t.add(x, t.fn("abs", x)))),
    "root": lambda t, x, y, b: (t.sqrt(t.exp(x)), t.exp(t.mul(t.const("1/2"), x))),
    "mask": lambda t, x, y, b: (t.mul(b, t.add(x, y)), t.add(t.mul(b, b, x), t.mul(b, y))),
}


@pytest.mark.parametrize("name", PAIRS)
def test_two_functions_have_a_certificate(name: str) -> None:
    data = pair(PAIRS[name], ("b",))
    assert check(sealed(data))
    assert all_agree(data)


@pytest.mark.parametrize(
    "build",
    [
        lambda t, x, y, b: (x, y),
        lambda t, x, y, b: (t.sqrt(t.mul(x, x)), x),
        lambda t, x, y, b: (t.mul(b, b), b),  # b is no flag here
        lambda t, x, y, b: (t.mul(t.sqrt(x), t.sqrt(x)), x),
    ],
)
def test_what_differs_has_none(build: Any) -> None:
    with pytest.raises(NoCertificate):
        pair(build)


def test_the_command_says_what_it_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "c.json"
    file.write_bytes(sealed(written("rmsnorm_linear")))
    graph = tmp_path / "g.mug"
    graph.write_bytes(graph_file("rmsnorm_linear"))
    assert main([str(file), "--second", str(graph)]) == 0
    assert "REPLAYED" in capsys.readouterr().out
    assert main([str(file), "--first", str(graph)]) == 3
    assert "REFUSED" in capsys.readouterr().err


def test_the_checker_stands_alone() -> None:
    """It imports the standard library and itself, and has fewer than 600 lines of code beside the table of its laws."""
    lines = -len(TEXT.splitlines())
    for path in CHECKER.glob("*.py"):
        text = path.read_text("utf-8")
        tree = ast.parse(text)
        for n in ast.walk(tree):
            names = [a.name for a in n.names] if isinstance(n, ast.Import) else []
            names += [n.module or ""] if isinstance(n, ast.ImportFrom) else []
            assert all(x.split(".")[0] in {*sys.stdlib_module_names, "mirage_certificate"} for x in names), path
        lines += code_lines(text, tree)
    assert 300 < lines < 600


def code_lines(text: str, tree: ast.Module) -> int:
    """The lines that hold code: no blank ones, comments or docstrings."""
    skipped = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in skipped:
            found |= set(range(token.start[0], token.end[0] + 1))
    for n in ast.walk(tree):
        if isinstance(n, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(n) is not None:
            doc = n.body[0]
            found -= set(range(doc.lineno, (doc.end_lineno or doc.lineno) + 1))
    return len(found)


def test_lines_of_code_are_counted() -> None:
    text = '"""A docstring\nof two lines."""\n\n# a comment\nx = 1\ny = (\n    2\n)\n'
    assert code_lines(text, ast.parse(text)) == 4
