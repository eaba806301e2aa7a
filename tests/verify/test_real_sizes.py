"""Triton text without a µGraph: right modules are accepted at their real sizes, and each edit that makes one wrong is not."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from forked_python import ForkedPython
from written_modules import ADD, ATTENTION, LAYER_NORM, LOOKUP, MATMUL, Written

from mirage.cli import verify_subjects
from mirage.cli.verify import judged
from mirage.isolate.runner import Worker
from mirage.results.verdict import Verdict

WRITTEN = {"add": ADD, "matmul": MATMUL, "attention": ATTENTION, "layer_norm": LAYER_NORM, "lookup": LOOKUP}
Ask = Callable[[str, str], Verdict]  # (the name of a case, a module) -> the verdict


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory, worker: Worker) -> Ask:
    folder = tmp_path_factory.mktemp("written")
    lefts = {}
    for name, written in WRITTEN.items():
        (folder / f"{name}.py").write_text(written.function, "utf-8")
        lefts[name] = verify_subjects.load(str(folder / f"{name}.py"), worker)

    def verdict(name: str, module: str) -> Verdict:
        path = folder / "module.py"
        path.write_text(module, "utf-8")
        return judged(lefts[name], verify_subjects.load(str(path), worker), worker)

    return verdict


def edited(written: Written, old: str, new: str) -> str:
    assert old in written.module, old
    return written.module.replace(old, new)


@pytest.mark.parametrize("name", WRITTEN)
def test_right_modules_are_accepted(ask: Ask, name: str) -> None:
    found = ask(name, WRITTEN[name].module)
    assert found.word == "TESTED", found.evidence
    assert "at the real sizes" in found.evidence[0].summary


def test_it_says_which_indices_it_was_judged_on(ask: Ask) -> None:
    assert any("`ids` is from -300 to 299" in note for note in ask("lookup", LOOKUP.module).notes)


ADDED, MADE = "def add(x: torch.Tensor, y: torch.Tensor):", "    output = torch.empty_like(x)"
# (case, what stands there, what stands there instead, the verdict, what it says)
EDITS = [
    ("lookup", "row + rows, row", "row + rows - 1, row", "REJECTED", ""),
    ("lookup", "tl.where(row < 0, row + rows, row)", "tl.where(row < 0, 0, row)", "REJECTED", "values differ"),
    ("lookup", "tl.where(row < 0, row + rows, row)", "row", "REJECTED", "of table"),
    (
        "lookup",
        "tl.where(row < 0, row + rows, row)",
        "tl.where(row < 0, row + rows, row) % 299",
        "REJECTED",
        "values differ",
    ),
    ("add", "offsets < n_elements", "offsets < n_elements // 2", "REJECTED", "values differ"),
    ("add", "offsets < n_elements", "offsets <= n_elements", "REJECTED", "reads element 98432 of x"),
    ("add", "x + y\n", "x + y * 1.00001\n", "REJECTED", "without rounding"),
    ("add", "(triton.cdiv(n_elements, meta['BLOCK_SIZE']), )", "(50,)", "REJECTED", "values differ"),
    ("add", "y_ptr + offsets,", "y_ptr + offsets % 4096,", "REJECTED", "values differ"),
    ("add", "output = x + y", "output = (x.to(tl.float16) + y.to(tl.float16)).to(tl.float32)", "REJECTED", "error"),
    ("add", "    return output", "    return x + y", "UNDECIDED", "not what a kernel wrote"),
    (
        "add",
        "pid = tl.program_id(axis=0)",
        "pid = tl.multiple_of(tl.program_id(axis=0), 2)",
        "UNDECIDED",
        "a multiple of 2",
    ),
    ("add", "    mask = offsets", "    tl.assume(pid > 3)\n    mask = offsets", "UNDECIDED", "a hint that is not true"),
    ("add", "output = torch.empty_like(x)", "output = x", "REJECTED", "an input, is written"),
    ("add", "DEVICE =", "import os\nDEVICE =", "UNDECIDED", "line 5: imports os"),
    ("add", "    n_elements =", "    n_elements = int(x.sum()) * 0 +", "UNDECIDED", "reads the values of a tensor"),
    ("add", "    n_elements =", "    global LAST\n    n_elements =", "UNDECIDED", "outside the function"),
    ("add", "DEVICE =", "SEEN = []\nDEVICE =", "TESTED", ""),
    ("add", ADDED, f"torch.numel = torch.sum\n\n{ADDED}", "UNDECIDED", "set when the module is imported"),
    ("add", ADDED, f"tl.load = tl.store\n\n{ADDED}", "UNDECIDED", "set when the module is imported"),
    ("add", "    return output\n", "    return [output]\n", "REJECTED", "it gives a list, and the function a Tensor"),
    ("add", "    return output\n", "    return (output,)\n", "REJECTED", "it gives a tuple, and the function a Tensor"),
    ("add", ADDED, f"FEW, MORE = 1, 2\n\n{ADDED}", "TESTED", ""),
    ("add", ADDED, f"SEEN = {{}}\nSEEN[0] = 1\n\n{ADDED}", "UNDECIDED", "bound twice"),
    ("add", ADDED, f"SEEN = {{}}\n\n{ADDED[:-2]}, seen=SEEN):\n    seen[0] = 1", "UNDECIDED", "changes `SEEN`"),
    ("add", ADDED, f"SEEN = [[1]]\n\n{ADDED}\n    rows = SEEN[0]\n    rows += [2]", "UNDECIDED", "changes `SEEN`"),
    ("add", ADDED, f"SEEN = [[1]]\n\n{ADDED}\n    rows = [*SEEN, 2]\n    rows += [3]", "TESTED", ""),
    ("add", MADE, f"    if not torch.is_grad_enabled():\n        y = x\n{MADE}", "REJECTED", "without gradients"),
    ("add", MADE, f"    if torch.is_inference_mode_enabled():\n        y = x\n{MADE}", "UNDECIDED", "inference_mode"),
    (
        "add",
        MADE,
        f"    if isinstance(x, torch.nn.Parameter):\n        y = x\n{MADE}",
        "UNDECIDED",
        "torch.nn.Parameter",
    ),
    ("add", MADE, f"    if x.untyped_storage().nbytes() > 4e6:\n        y = x\n{MADE}", "UNDECIDED", "untyped_storage"),
    ("add", "x.device ==", "getattr(x, 'device', None) ==", "TESTED", ""),
    ("add", "x.device ==", "getattr(x, '_version', 0) < 7 and x.device ==", "UNDECIDED", "x._version"),
    ("add", "x.device ==", "getattr(x, 'da' + 'ta_ptr') and x.device ==", "UNDECIDED", "uses getattr"),
    ("add", "    n_elements =", "    add_kernel.n = 1\n    n_elements =", "UNDECIDED", "stays after the call"),
    ("add", "def add(", "def sum_of(", "UNDECIDED", "has no function add"),
    (
        "add",
        "    output = x + y",
        "    output = x + y\n    if tl.sum(x - x) > 1:\n        output = y",
        "UNDECIDED",
        "both ways",
    ),
    ("add", "tl.arange(0, BLOCK_SIZE)", "tl.arange(0, BLOCK_SIZE - 24)", "REJECTED", "power of two"),
    ("matmul", "other=0.0)", "other=1.0)", "REJECTED", "values differ"),
    ("matmul", "tl.cdiv(K, BLOCK_SIZE_K)):", "K // BLOCK_SIZE_K):", "REJECTED", "values differ"),
    ("matmul", "b.stride(0), b.stride(1)", "b.stride(1), b.stride(0)", "REJECTED", "of b, which has"),
    ("matmul", "c.stride(0), c.stride(1)", "c.stride(1), c.stride(0)", "REJECTED", "writes element"),
    ("matmul", "% group_size_m)", "% GROUP_SIZE_M)", "REJECTED", ""),
    ("matmul", "'BLOCK_SIZE_M': 32", "'BLOCK_SIZE_M': 48", "REJECTED", "power of two"),
    ("matmul", "tl.dot(a, b, accumulator)", "accumulator + tl.dot(a, b).to(tl.float16)", "UNDECIDED", "fewer digits"),
    ("matmul", "accumulator = tl.dot(a, b, accumulator)", "accumulator -= -tl.dot(a, b)", "TESTED", ""),
    (
        "matmul",
        "accumulator = tl.dot(a, b, accumulator)",
        "accumulator -= -tl.dot(a, b).to(tl.float16)",
        "UNDECIDED",
        "fewer digits",
    ),
    ("matmul", "dtype=tl.float32)", "dtype=tl.float16)", "REJECTED", "Triton refuses"),
    ("matmul", "0.01 * x", "0.010001 * x", "REJECTED", "values differ"),
    ("attention", ">= (start_n", "> (start_n", "REJECTED", "values differ"),
    ("attention", "1.44269504", "1.44269", "REJECTED", "values differ"),
    ("attention", "tl.maximum(m_i, tl.max(qk, 1))", "tl.max(qk, 1)", "REJECTED", ""),
    ("attention", "= acc * alpha[:, None]", "= acc", "REJECTED", "values differ"),
    (
        "attention",
        "exp2(qk - m_new[:, None])",
        "exp2((qk - m_new[:, None]).to(tl.float16).to(tl.float32))",
        "UNDECIDED",
        "fewer digits",
    ),
    ("attention", "exp2(qk - m_new[:, None])", "exp2(tl.minimum(qk - m_new[:, None], 0.0))", "TESTED", ""),
    ("attention", "-1.0e6", "-100.0", "REJECTED", "values differ"),
    ("attention", "(1,), padding_option", "(), padding_option", "TESTED", ""),
    ("layer_norm", "1e-5", "1.001e-5", "REJECTED", "values differ"),
    ("layer_norm", "x - mean, 0.)", "x - mean, x - mean)", "REJECTED", "values differ"),
    ("layer_norm", "rstd * w", "rstd.to(tl.bfloat16) * w", "REJECTED", "error"),
    ("layer_norm", "_ln[(M,)]", "_ln[(M, 2)]", "REJECTED", "write one element"),
]


@pytest.mark.parametrize(("name", "old", "new", "word", "says"), EDITS)
def test_an_edit_is_seen(ask: Ask, name: str, old: str, new: str, word: str, says: str) -> None:
    found = ask(name, edited(WRITTEN[name], old, new))
    assert found.word == word, found.evidence
    assert says in found.evidence[0].summary


def test_it_says_what_it_assumes_of_strides(ask: Ask) -> None:
    """The wrapper asks for a contiguous matrix; a sum of tensors of one dim has nothing to assume."""
    assert any("contiguous" in x for x in ask("matmul", MATMUL.module).notes)
    assert not any("contiguous" in x for x in ask("add", ADD.module).notes)


GRADIENTS = [("y = y + x.detach() * 0", False), ("y = x", True)]


@pytest.mark.parametrize(("does", "assumed"), GRADIENTS)
def test_it_says_what_it_assumes_of_gradients(ask: Ask, does: str, assumed: bool) -> None:
    """A module that asks for gradients is called with and without them; where it gives something else, the verdict says so."""
    asking = f"    if x.requires_grad:\n        {does}\n{MADE}"
    found = ask("add", edited(ADD, MADE, asking))
    assert found.word == "TESTED", found.evidence
    assert any("gradient" in x for x in found.notes) == assumed, found.notes


def test_it_says_that_numbers_stand_for_none(ask: Ask) -> None:
    """NaN where the function has NaN needs no word; a number there does."""
    assert not any("numbers where" in x for x in ask("layer_norm", LAYER_NORM.module).notes)
    found = ask("layer_norm", edited(LAYER_NORM, "    return y\n", "    return y.nan_to_num()\n"))
    assert found.word == "TESTED", found.evidence
    assert any("numbers where the function gives NaN" in x for x in found.notes), found.notes


def test_hints_that_are_true_are_taken(ask: Ask) -> None:
    hinted = edited(ADD, "block_start = pid * BLOCK_SIZE", "block_start = tl.multiple_of(pid * BLOCK_SIZE, 16)")
    assert ask("add", hinted).accepted


def test_a_rejection_shows_an_element(ask: Ask) -> None:
    found = ask("add", edited(ADD, "x + y\n", "x - y\n")).evidence[0].counterexample
    assert found is not None and found.output == 0 and len(found.index) == 1
    assert abs(float(found.expected) - float(found.actual)) > 1e-3


def test_the_evaluation_agrees_with_the_interpreter(forked_python: ForkedPython) -> None:
    """Bit by bit, on the cases and on a kernel with many functions of the language."""
    root = Path(__file__).parents[1]
    script = root / "verify" / "beside_interpreter.py"
    done = forked_python.run(script, cwd=root, env={**os.environ, "PYTHONPATH": str(root)})
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found) == 8 and all(x == 0 for x in found.values()), found
