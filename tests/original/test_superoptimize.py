"""`superoptimize`: distinct verified graphs within the given grids, written, run and judged."""

from __future__ import annotations

import pytest
import torch

import mirage as mi
from mirage.errors import BadSearchParameter, GraphMistake
from mirage.ir.narrowing import Narrowing
from mirage.mugraph import maps
from mirage.mugraph.grammar import CustomKernel, Loop
from mirage.mugraph.structure import canonical
from mirage.search.instantiate import keeps

GRIDS = [(2, 4, 1), (2, 4, 2)]


@pytest.fixture(scope="module")
def graph():
    g = mi.new_graph()
    Q = g.new_input(dims=(2, 64, 16), dtype=mi.float16)
    K = g.new_input(dims=(2, 16, 128), dtype=mi.float16)
    V = g.new_input(dims=(2, 128, 16), dtype=mi.float16)
    E = g.exp(g.matmul(Q, K))
    g.matmul(g.div(E, g.reduction(E, 2)), V)
    return g


@pytest.fixture(scope="module")
def found(graph):
    return mi.superoptimize(graph, griddims=GRIDS, config="attention", max_num_new_graphs=4)


def test_the_graphs_are_distinct_and_within_the_grids(found, capsys):
    assert len(found) == 4 and len({canonical(g.found.mugraph) for g in found}) == 4
    for g in found:
        for k in g.found.mugraph.kernels:
            assert isinstance(k, CustomKernel)
            grid = tuple(n for n in maps.grid(g.found.mugraph, k) if n > 1)
            assert grid in {(2, 4), (2, 4, 2)}


RUN = """
import os, sys
os.environ["TRITON_INTERPRET"] = "1"
import importlib.util, torch
from mirage.codegen.interpreter import float_interpreter
torch.manual_seed(0)
q, k, v = (torch.randn(*s).half() * 0.3 for s in ((2, 64, 16), (2, 16, 128), (2, 128, 16)))
want = torch.softmax(q.double() @ k.double(), -1) @ v.double()
for path in sys.argv[1:]:
    spec = importlib.util.spec_from_file_location("generated", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with float_interpreter():
        got = module._run(q, k, v).double()
    assert (got - want).abs().max() < 4e-3 * want.abs().max(), path
print("equal", len(sys.argv) - 1)
"""


def test_every_written_file_runs_and_equals_the_program(found, tmp_path, forked_python):
    paths = [tmp_path / f"generated_program_{i}.py" for i in range(len(found))]
    for g, path in zip(found, paths, strict=True):
        g.generate_triton_program(str(path))
    done = forked_python.run("-c", RUN, *paths)
    assert done.stdout == f"equal {len(paths)}\n", done.stderr
    broken = paths[0].read_text().replace("tl.exp(", "tl.exp2(")
    paths[0].write_text(broken)
    done = forked_python.run("-c", RUN, paths[0])
    assert done.returncode == 1 and "AssertionError" in done.stderr


def test_a_found_graph_is_judged_called_drawn_and_kept(found, graph, tmp_path):
    verdict = found[0].found.verify()
    assert verdict["word"] in ("TESTED", "PROVED"), verdict
    q, k, v = (torch.randn(*t.shape).half() * 0.3 for t in graph.inputs)
    (got,) = found[0](inputs=[q, k, v])
    assert torch.allclose(got, graph(inputs=[q, k, v])[0], atol=1e-2)
    found[0].visualize(str(tmp_path / "picture"))
    assert (tmp_path / "picture.svg").read_text().startswith("<svg")
    found[0].to_json(str(tmp_path / "graph.json"))
    assert "kernels" in (tmp_path / "graph.json").read_text()


def test_what_has_no_meaning_says_so_once(graph, capsys):
    for _ in range(2):
        mi.superoptimize(graph, griddims=[(2, 4, 1)], backend="cuda", max_num_new_graphs=1)
    said = capsys.readouterr()
    assert said.err.count("backend= has no meaning here") == 1
    assert said.out.count("1 µGraphs found and verified") == 2


def test_the_first_demos_name_for_it(graph):
    (found,) = mi.optimize(graph, griddims=GRIDS, max_num_new_graphs=1)
    assert found.found is not None
    with pytest.raises(TypeError, match="no_such"):
        mi.optimize(no_such=1)
    with pytest.raises(TypeError, match="no_such"):
        mi.optimize(graph, no_such=1)


def test_nonsense_is_refused(graph):
    with pytest.raises(BadSearchParameter):
        mi.superoptimize(graph, griddims=[(0, 1, 1)])


DEFAULTS = {  # those that the original documents, for attention with 16 heads
    "griddims": [(16, 1, 1), (16, 2, 1), (16, 4, 1)],
    "blockdims": [(128, 1, 1)],
    "imaps": [(0, -1, -1), (0, 1, -1), (0, 2, -1), (0, -1, 1)],
    "omaps": [(0, -1, -1), (0, 1, -1), (0, 2, -1), (0, 2, 1)],
    "fmaps": [-1, 1, 2],
    "franges": [1, 4, 8, 16],
}


def heads(n):
    g = mi.new_graph()
    Q, K, V = (g.new_input(dims=s) for s in ((n, 64, 16), (n, 16, 256), (n, 256, 16)))
    E = g.exp(g.matmul(Q, K))
    g.matmul(g.div(E, g.reduction(E, 2)), V)
    return g


def test_the_defaults_that_the_original_documents_hold_where_nothing_is_given(capsys):
    new = mi.superoptimize(heads(16), max_num_new_graphs=8)
    assert new and "nothing is within" not in capsys.readouterr().err
    for found in (x.found.mugraph for x in new):
        for k in found.kernels:
            assert isinstance(k, CustomKernel) and k.warps == 4
            grid = (*(n for n in maps.grid(found, k) if n > 1), 1, 1)[:3]
            assert grid in DEFAULTS["griddims"]
            ranges = {maps.loop_range(found, k, s) for s in k.block.body if isinstance(s, Loop)}
            assert ranges <= set(DEFAULTS["franges"])
            assert keeps(Narrowing.of(**DEFAULTS), k, dict(found.axes))
    given = mi.superoptimize(heads(16), **DEFAULTS, max_num_new_graphs=8)
    assert [x.found.mugraph for x in given] == [x.found.mugraph for x in new]


def test_what_is_given_takes_a_defaults_place_and_none_leaves_it_free():
    other = mi.superoptimize(heads(16), griddims=[(16, 2, 1)], max_num_new_graphs=4)
    free = mi.superoptimize(heads(16), **dict.fromkeys(DEFAULTS), max_num_new_graphs=4)
    within = Narrowing.of(**DEFAULTS | {"griddims": [(16, 2, 1)]})
    assert other and all(keeps(within, k, dict(m.axes)) for m in (x.found.mugraph for x in other) for k in m.kernels)
    assert not all(keeps(within, k, dict(m.axes)) for m in (x.found.mugraph for x in free) for k in m.kernels)
    best = heads(16).superoptimize(max_num_new_graphs=4)  # in the method's versions what is left out was free
    assert best.found.mugraph == free[0].found.mugraph


def test_where_the_defaults_have_nothing_the_search_is_done_without_them(capsys):
    assert mi.superoptimize(heads(3), max_num_new_graphs=1)  # no grid of 16 fits three heads
    said = capsys.readouterr().err
    assert said.count("searched with griddims free") == 1 and "imaps" not in said
    g = mi.new_graph()
    X, W = g.new_input(dims=(8, 96)), g.new_input(dims=(96, 48))
    g.matmul(X, W)
    assert mi.superoptimize(g, griddims=[(3, 1, 1)], max_num_new_graphs=1)
    assert "blockdims" in capsys.readouterr().err
    assert not mi.superoptimize(g, **DEFAULTS, max_num_new_graphs=1)  # given, they hold


def test_a_checkpoint_is_of_the_search_that_found_something(tmp_path):
    file = tmp_path / "search.ckpt"
    first = mi.superoptimize(heads(3), previous_checkpoint=str(file), max_num_new_graphs=2)
    kept = file.read_bytes()
    again = mi.superoptimize(heads(3), previous_checkpoint=file, max_num_new_graphs=2)
    assert first and [x.found.mugraph for x in again] == [x.found.mugraph for x in first]
    assert file.read_bytes() == kept


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_num_new_graphs": 0}, {"max_num_new_graphs": "5"}, {"search_time_limit_sec": "5"},
        {"search_time_limit_sec": float("nan")}, {"previous_checkpoint": 5},
    ],
)  # fmt: skip
def test_numbers_that_are_none_have_a_code(graph, wrong):
    with pytest.raises(GraphMistake) as caught:
        mi.superoptimize(graph, **wrong)
    assert caught.value.path == __file__
    with pytest.raises(GraphMistake):
        mi.superoptimize(None)
