"""Numbers that multiply and divide one value: in the order that keeps it away from the ends of the floats."""

from __future__ import annotations

import pytest
from workloads.terms import tensor
from workloads.traced import trace

from mirage.codegen.emit import emit_module
from mirage.devices.table import DEVICES
from mirage.meaning.terms import Terms
from mirage.pipeline.search_problems import problems
from mirage.profile.roofline import estimate
from mirage.search.engine import Bounds, Search
from mirage.search.number_order import number_steps
from mirage.verify.judge import Case, judge

TEXT = "import torch\n\n\ndef f(m, v):\n    return 3e-4 * (m / (1 - 0.9**10)) / (v.abs() + 1.5)\n"
INPUTS = [("m", (32, 48), "fp32"), ("v", (32, 48), "fp32")]


@pytest.mark.parametrize("factors,divisors,order", [
    (["0.0003"], ["0.65"], ["0.65", "0.0003"]),  # what shrinks the value comes last
    (["3000.0"], ["0.65"], ["0.65", "3000.0"]),  # and what makes it large
    (["1e-20"], ["1e-21"], ["1e-20", "1e-21"]),
    (["1e20", "1e-20"], ["2.5"], ["2.5", "1e20", "1e-20"]),
    (["0.0003", "0.1"], [], []),  # of one kind alone
    ([], ["0.65"], []),
])  # fmt: skip
def test_the_order_of_numbers(factors: list[str], divisors: list[str], order: list[str]) -> None:
    t = Terms({"m": 4})
    x = tensor(t, "X", "m")
    steps = number_steps(t, [*map(t.opaque, factors), x], [*map(t.opaque, divisors), t.exp(x)])
    assert steps == [t.opaque(n) for n in order]
    assert number_steps(t, [t.opaque(n) for n in factors], [t.opaque(n) for n in divisors]) == []  # nothing but numbers


def test_a_value_of_few_digits_is_divided_before_it_is_made_smaller(run) -> None:
    program = trace(TEXT, "f", INPUTS)
    (found,) = problems(program)
    search = Search(found, lambda g: estimate(g, DEVICES["sm_90"]), bounds=Bounds(keep=4, tilings=1))
    list(search.run())
    graph = search.best[0].mugraph
    module = emit_module(program, graph, TEXT, function="f", header={})
    (divided,) = (line for line in module.splitlines() if "/ 0.6513215599" in line)
    (shrunk,) = (line for line in module.splitlines() if "* 0.0003" in line)
    assert module.index(divided) < module.index(shrunk)
    assert judge(Case(found.t, found.outputs, graph, module, program, TEXT, "f"), run).accepted
    other = module.replace("* 0.0003", "* 0.0004")
    assert other != module
    assert not judge(Case(found.t, found.outputs, graph, other, program, TEXT, "f"), run).accepted
