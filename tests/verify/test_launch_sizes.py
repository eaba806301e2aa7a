"""Sizes of the float opinion's launch: axes that cannot change count among a dim's tiles, and sizes that the function names are real."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from workloads.own_calls import FEW
from workloads.traced import trace

from mirage.codegen.emit import emit_module
from mirage.devices.table import DEVICES
from mirage.mugraph.grammar import MuGraph
from mirage.mugraph.parse import parse
from mirage.pipeline.search_problems import problem
from mirage.profile.roofline import estimate
from mirage.program.lower import lower
from mirage.results.details import FloatDetails
from mirage.search.engine import Search
from mirage.verify.floats.launch_sizes import launch_sizes
from mirage.verify.judge import Case, at_named_sizes, floats

Run = Callable[[str, dict[str, Any]], dict[str, Any]]


def merged(rows: int, columns: int, tile: int) -> MuGraph:
    """The columns cannot change: a longer tensor is read at an offset. Rows and columns are one dim of blocks."""
    return parse(f"""mugraph cut
axes m={rows} n={columns}
input X fp16 [m, n] sizes [_, {columns + 1}]
output out fp16 [m, n]
kernel main warps 4 stages 1:
  block cluster 1:
    dim m_n (m*n) grid tile {tile}
    x[m_n] = load X[m, n+1]
    y[m_n] = mul(x, x)
    store out[m, n] = y
""")


@pytest.mark.parametrize(
    ("rows", "columns", "tile", "launched"),
    [
        (64, 197, 32, 2),  # 394 elements: twelve tiles and a tail
        (64, 24, 16, 3),  # two rows would leave no tail
        (64, 32, 16, 2),  # no number of rows does
        (64, 7, 32, 11),  # two tiles take more rows than two
        (3, 7, 32, 3),
        (1, 197, 32, 1),
    ],
)
def test_an_axis_that_cannot_change_counts_among_the_tiles(rows, columns, tile, launched):
    assert launch_sizes(merged(rows, columns, tile)) == {"m": launched, "n": columns}


@pytest.mark.parametrize(
    ("rows", "columns", "launched"), [(64, 96, (64, 10)), (8, 96, (8, 75)), (500, 96, (199, 3)), (8, 16, (8, 16))]
)
def test_minor_axes_make_up_for_a_short_major_one(rows, columns, launched):
    graph = parse(f"""mugraph free
axes m={rows} n={columns}
input X fp16 [m, n]
output out fp16 [m, n]
kernel main warps 4 stages 1:
  block cluster 1:
    dim m_n (m*n) grid tile 256
    x[m_n] = load X[m, n]
    y[m_n] = mul(x, x)
    store out[m, n] = y
""")
    assert tuple(launch_sizes(graph).values()) == launched


def test_an_axis_that_another_kernel_holds_whole_counts_too():
    both = parse("""mugraph both
axes m=64 n=100
input X fp16 [m, n]
output out0 fp16 [m, n]
output out1 fp16 [m]
kernel first warps 4 stages 1:
  block cluster 1:
    dim m_n (m*n) grid tile 32
    x[m_n] = load X[m, n]
    y[m_n] = mul(x, x)
    store out0[m, n] = y
kernel second warps 4 stages 1:
  block cluster 1:
    dim m (m) grid tile 1
    dim n (n) resident tile 128
    x[m, n] = load X[m, n]
    s[m] = sum(x; dim=n)
    store out1[m] = s
""")
    assert launch_sizes(both) == {"m": 2, "n": 100}


def test_axes_that_are_asked_for_are_real():
    assert launch_sizes(merged(64, 197, 32), {"m", "k"}) == {"m": 64, "n": 197}


HEAD = "import torch\n\n\ndef f(x, y):\n    d = x - y\n    return "
INPUTS = (("x", (40000, 6), "fp32"), ("y", (40000, 6), "fp32"))


@cache
def case(body: str, written: str = "", meant: str = "", inputs: tuple[Any, ...] = INPUTS) -> Case:
    """The best answer for a function, with `written` in place of what is `meant` in its text."""
    program = trace(HEAD + body + "\n", "f", inputs)
    found = problem(program, lower(program))
    search = Search(found, lambda g: estimate(g, DEVICES["sm_90"]), bounds=FEW)
    list(search.run())
    graph = search.best[0].mugraph
    module = emit_module(program, graph, HEAD + body + "\n", function="f", header={})
    assert meant in module
    kernels, mark, original = module.partition("# mirage:begin original")
    changed = kernels.replace(meant, written) if meant else kernels
    assert not meant or changed != kernels
    return Case(found.t, found.outputs, graph, changed + mark + original, program, HEAD + body + "\n", "f")


BY_ROWS = "(d * d).sum() / x.shape[0]"


def test_a_function_that_divides_by_a_size_is_compared_at_that_size(run: Run) -> None:
    one = case(BY_ROWS)
    sizes = at_named_sizes(one)
    assert sizes is not None and 40000 in sizes.values() and sizes != launch_sizes(one.mugraph)
    (found,) = floats(one, run)
    assert found.word == "TESTED", found.summary


@pytest.mark.parametrize("size", [39900, 40100, 20000, 9557])
def test_another_size_in_its_place_is_refused(size: int, run: Run) -> None:
    (found,) = floats(case(BY_ROWS, repr(1 / size), repr(1 / 40000)), run)
    assert found.word == "REJECTED"


def test_a_function_that_names_no_size_has_no_other_launch() -> None:
    assert at_named_sizes(case("(d * d).mean()")) is None
    assert at_named_sizes(case("(d * d).sum() * 0.3")) is None


def test_a_wrong_kernel_of_a_function_that_names_no_size_is_refused_at_once(run: Run) -> None:
    (found,) = floats(case("(d * d).sum() * 0.3", "0.31", "0.3"), run)
    assert found.word == "REJECTED"


TABLE = "torch.cat((d[:, None] * torch.arange(80), d[:, None] + torch.arange(80)), dim=-1)"  # 160 columns at any size
STEPS = (("x", (40000,), "fp32"), ("y", (40000,), "fp32"))  # too many for all sizes to be real


def test_a_function_that_gives_a_shape_of_its_own_is_compared_at_that_shape(run: Run) -> None:
    (found,) = floats(case(TABLE, inputs=STEPS), run)
    assert found.word == "TESTED", found.summary
    assert isinstance(found.details, FloatDetails) and 160 in found.details.sizes.values()


def test_a_kernel_that_has_another_table_is_refused_there(run: Run) -> None:
    right = case(TABLE, inputs=STEPS)
    (line,) = [x for x in right.module.splitlines() if " < 80" in x][:1]
    (found,) = floats(case(TABLE, line.replace(" < 80", " < 79"), line, STEPS), run)
    assert found.word == "REJECTED"
