"""A sample of the strangers' modules gives what eager gives, and ways and kernels that are wrong on purpose are found."""

import json
import os
from pathlib import Path

import pytest
import torch
from forked_python import ForkedPython
from torch.utils._pytree import tree_map

from strangers.modules import generator
from strangers.modules.nasty import NASTY
from strangers.modules.ways import WAYS, Kernels, Way, as_written, compared, expected
from strangers.modules.wrong import WRONG

ROOT = Path(__file__).resolve().parents[3]


def run(forked_python: ForkedPython, *asked: str) -> tuple[int, list[dict[str, object]]]:
    """The exit code and the rows of the benchmark."""
    env = os.environ | {"OMP_NUM_THREADS": "1"}
    done = forked_python.run(ROOT / "benchmarks" / "models.py", "--json", *asked, env=env, seconds=280)
    return done.returncode, json.loads(done.stdout)


def test_a_sample_gives_what_eager_gives(forked_python: ForkedPython) -> None:
    code, rows = run(forked_python, "--modules", "40", "--every", "26", "--way", "rest_eager_kernels")
    assert code == 0, [r for r in rows if r["own"]]
    assert sum(bool(r["kernels"]) for r in rows) >= len(rows) / 2


def test_the_decorator_gives_what_eager_gives(forked_python: ForkedPython) -> None:
    code, rows = run(
        forked_python, "--modules", "0", "--match", "nasty_views/WritesItsInput", "--way", "decorated_kernels"
    )
    assert code == 0 and len(rows) == 1 and rows[0]["kernels"], [r for r in rows if r["own"]]


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_way_is_found(what: str) -> None:
    runner, module, said = WRONG[what]
    wanted = expected(NASTY[module])
    assert not compared(NASTY[module], Way("eager", as_written, ""), wanted)
    found = compared(NASTY[module], Way("wrong", runner, ""), wanted)
    assert said in {x.what for x in found}


@pytest.mark.parametrize("module", list(NASTY)[::4])
def test_float64_is_the_same_module(module: str) -> None:
    """Where it is not, eager's distance from it would allow everything."""
    wanted = expected(NASTY[module])
    assert wanted.wide[-1].values.keys() == wanted.eager[-1].values.keys()
    close = 4096 * max(wanted.coarsest, 2**-23)
    for a, b in zip(wanted.eager, wanted.wide, strict=True):
        assert a.error == b.error
        for name, x in a.values.items():
            torch.testing.assert_close(b.values[name].to(x.dtype), x, rtol=close, atol=close, equal_nan=True)


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    """No daemon, and the regions of other tests stay as they are."""
    from mirage.dynamo import region_kernels, swapped_graph
    from mirage.runtime import daemon_thread

    monkeypatch.setenv("MIRAGE_HOME", str(tmp_path))
    monkeypatch.setattr(swapped_graph, "LOOK_S", 0.0)
    monkeypatch.setattr(daemon_thread, "_background", daemon_thread.Background())
    monkeypatch.setattr(region_kernels, "_known", {})
    yield
    torch._dynamo.reset()


def off_by_a_little(function):
    return lambda *inputs: tree_map(lambda x: x * 1.001, function(*inputs))


def of_the_first_inputs(function):
    kept = []
    return lambda *inputs: function(*(kept if kept else kept.append(inputs) or kept)[0])


@pytest.mark.parametrize("spoiled", [off_by_a_little, of_the_first_inputs])
def test_a_wrong_kernel_is_found(spoiled, fresh, monkeypatch) -> None:
    kind = NASTY["nasty_state/CopiedAndPickled"]
    wanted, counted = expected(kind), Kernels.counted
    assert not compared(kind, WAYS["rest_eager_kernels"], wanted)
    assert Kernels.runs
    monkeypatch.setattr(Kernels, "counted", lambda function: counted(spoiled(function)))
    assert {x.what for x in compared(kind, WAYS["rest_eager_kernels"], wanted)} == {"value"}


def test_a_seed_gives_one_text() -> None:
    texts = [generator.drawn(seed).text() for seed in range(100)]
    assert texts == [generator.drawn(seed).text() for seed in range(100)]
    assert len(set(texts)) == 100
    assert len(NASTY) >= 40


def test_a_module_is_shrunk_to_what_is_wrong() -> None:
    plan = next(p for p in map(generator.drawn, range(1000)) if "softmax" in {f.name for _, f in p.parts})
    small = generator.shrunk(plan, lambda p: "softmax" in {f.name for _, f in p.parts})
    assert [f.name for _, f in small.parts] == ["softmax"] and len(small.done) == 1 and small.form == "tensor"
    assert generator.shrunk(small, lambda p: False) == small
