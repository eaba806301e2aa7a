"""The functions of the zoo: what their files say, the values of their inputs, and a run of a sample of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))

from zoo import ZooError, ZooFunction, every_function, inputs, read
from zoo.check import fault, small
from zoo.values import KINDS, draw

FUNCTIONS = tuple(every_function())
FEWEST = 200
FAMILIES = {
    "diffusion",
    "language",
    "losses",
    "mixture_of_experts",
    "optimizers",
    "quantization",
    "recommendation",
    "sampling",
    "speech",
    "state_space",
    "vision",
}
TEXT = '''"""Twice."""
import mirage
FEW_ROWS = True
INPUTS = {"x": ("positive", 2.0)}
@mirage.optimize(inputs=[[((1, 8), "fp16")], [((512, 8), "fp16")]])
def twice(x):
    return x * 2
'''


def written(tmp_path: Path, text: str) -> ZooFunction:
    path = tmp_path / "language" / "twice.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return read(path)


def test_there_are_enough_and_each_family_has_some() -> None:
    names = [f.name for f in FUNCTIONS]
    assert len(names) >= FEWEST and len(set(names)) == len(names)
    assert {f.family for f in FUNCTIONS} == FAMILIES


@pytest.mark.parametrize("fn", FUNCTIONS, ids=lambda f: f.name)
def test_a_file_keeps_the_rules(fn: ZooFunction) -> None:
    assert fn.title.endswith(".") and fn.function_name == fn.name
    imports = [line for line in fn.path.read_text("utf-8").splitlines() if line.startswith(("import ", "from "))]
    assert set(imports) <= {"import math", "import torch", "import torch.nn.functional as F", "import mirage"}
    assert max(i.bytes for row in fn.rows for i in row) <= 8 * 2**30
    if fn.few_rows:  # the activations of a decoding step are small, and the step has no more of them than a prefill
        sizes = [torch.Size(row[0].shape).numel() for row in fn.rows]
        assert sizes[0] <= 2**22 and sizes[0] == min(sizes)


def test_some_have_few_rows_some_have_many_and_some_are_large() -> None:
    assert 0.2 < sum(f.few_rows for f in FUNCTIONS) / len(FUNCTIONS) < 0.8
    assert sum(max(i.bytes for i in f.rows[0]) >= 2**30 for f in FUNCTIONS) >= 3


@pytest.mark.parametrize("fn", FUNCTIONS[::12], ids=lambda f: f.name)
def test_a_sample_runs(fn: ZooFunction) -> None:
    assert fault(fn) is None


@pytest.mark.parametrize(
    ("wrong", "said"),
    [("x @ x", "RuntimeError"), ("x / 0", "not finite"), ("x * (2 if x.dtype == __import__('torch').half else 3)", "from float64"),
     ("x.sum() if x.dtype.itemsize > 2 else x", "in float64"), ("x.nothing", "AttributeError")],
)  # fmt: skip
def test_a_function_that_does_not_run_is_seen(tmp_path: Path, wrong: str, said: str) -> None:
    assert fault(written(tmp_path, TEXT)) is None
    elsewhere = tmp_path / "wrong"  # a file of the same length at the same time would be taken for the one before
    assert said in str(fault(written(elsewhere, TEXT.replace("x * 2", wrong))))


def test_what_a_file_says_is_read(tmp_path: Path) -> None:
    fn = written(tmp_path, TEXT)
    assert (fn.name, fn.family, fn.title, fn.few_rows, fn.parameters) == ("twice", "language", "Twice.", True, ("x",))
    assert [row[0].shape for row in fn.rows] == [(1, 8), (512, 8)] and fn.rows[1][0].bytes == 8192
    assert small(fn).rows == fn.rows[:1]
    first, again, other = (inputs(fn, 0, seed=s)[0] for s in (0, 0, 1))
    assert torch.equal(first, again) and not torch.equal(first, other) and first.min() >= 1.0


@pytest.mark.parametrize(
    ("was", "becomes"),
    [("(1, 8)", "(0, 8)"), ('"fp16"', '"fp15"'), ("def twice(x)", "def twice(x, y)"), ('"""Twice."""', ""),
     ('{"x"', '{"y"'), ('"positive", 2.0', '"positiv"'), ('"positive", 2.0', '"int", 3'), ("@mirage.optimize", "@other"),
     ("(512, 8)", "(2 ** 9, 8)")],
)  # fmt: skip
def test_a_file_that_breaks_a_rule_is_refused(tmp_path: Path, was: str, becomes: str) -> None:
    with pytest.raises(ValueError):
        written(tmp_path, TEXT.replace(was, becomes))


def test_a_refusal_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(ZooError, match=r"twice\.py"):
        written(tmp_path, TEXT.replace("fp16", "half"))


ASKED = {"weight": (1,), "int": (2, 5), "normal": (3.0,), "causal": (2,), "mask": (0.25,), "positive": (4.0,)}
HOLDS = {
    "normal": lambda t: 1.0 < t.std() < 6.0,
    "weight": lambda t: 0.1 < t.std() < 0.7,
    "uniform": lambda t: t.min() >= 0 and t.max() <= 1,
    "positive": lambda t: t.min() >= 2 and t.max() <= 6,
    "int": lambda t: set(t.unique().tolist()) == {2, 3, 4},
    "probability": lambda t: torch.allclose(t.sum(-1), torch.ones(6)) and t.min() > 0,
    "log_probability": lambda t: torch.allclose(t.exp().sum(-1), torch.ones(6)),
    "descending": lambda t: bool((t.diff(dim=-1) <= 0).all()),
    "unit": lambda t: torch.allclose(t.norm(dim=-1), torch.ones(6)),
    "causal": lambda t: (t == 0).sum() == 12 and (t == 0).sum(-1).max() == 2 and t[0, 2] == 0 and t[0, 3] < 0,
    "mask": lambda t: set(t.unique().tolist()) == {0, 1} and bool((t[:, 0] == 1).all()),
    "cos": lambda t: bool((t[0] == 1).all()) and torch.equal(t[:, :4], t[:, 4:]),
    "sin": lambda t: bool((t[0] == 0).all()) and abs(float(t[1, 0]) - 0.8414710) < 1e-6,
    "arange": lambda t: torch.equal(t[3], torch.arange(8.0)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_of_values_is_what_it_says(kind: str) -> None:
    dtype = "int64" if kind == "int" else "fp32"
    made = draw((kind, *ASKED.get(kind, ())), (6, 8), dtype, torch.Generator().manual_seed(3))
    assert made.shape == (6, 8) and HOLDS[kind](made)
    assert not HOLDS[kind](torch.arange(48.0).reshape(6, 8) - 60)


def test_integers_of_which_nothing_is_said_are_refused() -> None:
    with pytest.raises(ValueError, match="no kind of values"):
        draw(None, (4,), "int64", torch.Generator())
