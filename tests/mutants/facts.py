"""Statements that must hold of the verifier, each with its twin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mutants.bases import module_of
from mutants.equal_pairs import read
from workloads.hand import Case, at, case, dim, load, op, plus, small, tensor
from workloads.hand_targets import mean, targets
from workloads.hand_targets import read as input_of

from mirage.meaning.terms import Terms
from mirage.mugraph.grammar import BlockGraph, CustomKernel, Loop, MuGraph, Statement, Store
from mirage.verify.emitted_module import EmittedModule
from mirage.verify.field.algebra_opinion import field_opinion
from mirage.verify.field.schedule_opinion import schedule_opinion
from mirage.verify.floats.opinion import float_opinion
from mirage.verify.floats.regimes import REGIMES
from mirage.verify.output_terms import Output

RunTask = Callable[[str, dict[str, Any]], dict[str, Any]]
# name, left, right, are they equal?
EXPRESSIONS: tuple[tuple[str, str, str, bool], ...] = (
    (
        "silu(x) exp(x) for gelu(x)",
        "a * sigmoid(a) * exp(a)",
        "0.5 * a * (1 + erf(a * lit(0.7071067811865476)))",
        False,
    ),
    ("relu(x) for x", "max(a, 0)", "a", False),
    ("sqrt(a) sqrt(b) for sqrt(ab)", "sqrt(a) * sqrt(b)", "sqrt(a * b)", True),
)


def holds(left: str, right: str, equal: bool) -> bool:
    t = Terms()
    return (field_opinion(t, read(t, left), read(t, right)).word == "TESTED") == equal


def source_of(c: Case) -> str:
    """The user's function without its decorator."""
    return "\n".join(x for x in c.source.splitlines() if not x.startswith("@mirage") and x != "import mirage")


def regime(part: str) -> Any:
    return next(r for r in REGIMES if part in r.name)


# Attention without a shift: the running maximum is 0 as soon as a key was seen. Equal in exact arithmetic.
NAIVE = (
    "m = tl.maximum(m, m_part)",
    'm = tl.maximum(tl.minimum(m, 0.0), tl.where(m_part == float("-inf"), m_part, 0.0))',
)


def large_scores(run_task: RunTask, shifted: bool = True) -> bool:
    """Is attention in fp16 finite and right where its scores reach 60000? Without the shift it must not be."""
    c = small()["attention_split"]
    t, outputs = targets(c.mugraph)
    module = module_of(c.mugraph)
    if not shifted:
        assert NAIVE[0] in module
        module = module.replace(*NAIVE)
    names = [i.name for i in c.mugraph.inputs]
    e = float_opinion(
        EmittedModule(t, outputs, c.mugraph, module, names, source_of(c), c.name),
        run_task,
        regimes=[regime("scores of 60000")],
    )
    return e.word == "TESTED"


def variance(powers: bool, m: int = 9, k: int = 512) -> tuple[Case, Terms, list[Output]]:
    """The variance of each row as E[x^2] - E[x]^2, or of the centred row in a second pass."""
    body: tuple[Statement | Loop, ...]
    if powers:
        body = (
            Loop("k", (
                load("x", "X", "m k"), op("x2", "mul", "x x", "m k"), op("s_part", "sum", "x", "m", dim="k"),
                op("q_part", "sum", "x2", "m", dim="k"), plus("s", "s_part", "m"), plus("q", "q_part", "m"),
            )),
            op("count", "size", axis="k"), op("mu", "div", "s count", "m"), op("mq", "div", "q count", "m"),
            op("mu2", "mul", "mu mu", "m"), op("o", "sub", "mq mu2", "m"),
        )  # fmt: skip
    else:
        body = (
            Loop("k", (load("x", "X", "m k"), op("s_part", "sum", "x", "m", dim="k"), plus("s", "s_part", "m"))),
            op("count", "size", axis="k"), op("mu", "div", "s count", "m"),
            Loop("k", (
                load("y", "X", "m k"), op("c", "sub", "y mu", "m k"), op("in_k", "mask", "", "k", dim="k"),
                op("c2", "mul", "c c in_k", "m k"), op("q_part", "sum", "c2", "m", dim="k"), plus("q", "q_part", "m"),
            )),
            op("o", "div", "q count", "m"),
        )  # fmt: skip
    block = BlockGraph((dim("m", 4, "grid"), dim("k", 64, "loop")), (*body, Store("O", "o", at("m"))))
    graph = MuGraph(
        "variance", (("m", m), ("k", k)), (tensor("X", "m k"), tensor("O", "m", "output", "fp32")),
        (CustomKernel("rows", block),),
    )  # fmt: skip
    t = Terms(dict(graph.axes))
    x = input_of(t, "X", "mk")
    d = t.sub(x, mean(t, "k", x))
    c = case(graph, lambda X: X.var(-1), "return X.float().var(-1, unbiased=False)")
    return c, t, [Output("O", mean(t, "k", t.mul(d, d)), (("m",),))]


def variance_passes(run_task: RunTask, powers: bool) -> bool:
    """Does the float opinion accept the kernel where the mean is 1000 deviations? In exact arithmetic both are right."""
    c, t, outputs = variance(powers)
    if schedule_opinion(t, outputs, c.mugraph).word != "TESTED":
        raise AssertionError("both forms are equal in exact arithmetic")
    e = float_opinion(
        EmittedModule(t, outputs, c.mugraph, module_of(c.mugraph), ["X"], source_of(c), c.name),
        run_task,
        regimes=[regime("mean 1000")],
    )
    return e.word == "TESTED"
