"""Every solver of z3 in the sources is bounded by counted work: a limit of the clock would make a verdict depend on the machine's load."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

CORE = Path(__file__).resolve().parents[2] / "core"


def called(node: ast.AST) -> str:
    return node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""


def unbounded(text: str) -> list[int]:
    """The lines at which a solver is made in a function that sets no `rlimit`."""
    found = []
    for function in (n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef)):
        inside = list(ast.walk(function))
        made = [
            n.lineno
            for n in inside
            if isinstance(n, ast.Call) and called(n) in ("Solver", "SolverFor", "Optimize", "Tactic")
        ]
        limits = {
            n.args[0].value
            for n in inside
            if isinstance(n, ast.Call) and called(n) == "set" and isinstance(n.args[0], ast.Constant)
        }
        found += made if "rlimit" not in limits else []
    return found


def test_every_solver_counts_its_work() -> None:
    solvers = [p for p in CORE.rglob("*.py") if "z3" in p.read_text() and ".Solver" in p.read_text()]
    assert len(solvers) >= 2
    for path in solvers:
        assert unbounded(path.read_text()) == [], path


@pytest.mark.parametrize(
    "limit,lines",
    [('s.set("rlimit", 9)', []), ('s.set("timeout", 9)', [2]), ('s.set("random_seed", 9)', [2]), ("", [2])],
)
def test_a_clock_alone_is_no_bound(limit: str, lines: list[int]) -> None:
    assert (
        unbounded(f"def f(z3):\n    s = z3.SolverFor('QF_NRA')\n    {limit or 'pass'}\n    return s.check()\n") == lines
    )
