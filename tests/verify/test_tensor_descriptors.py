"""Tensor descriptors in text that a person wrote: accepted where right, refused where their parts are not what a device takes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from handwritten.case import case

from mirage.cli import verify_subjects
from mirage.cli.verify import judged
from mirage.isolate.runner import Worker
from mirage.results.verdict import Verdict

HOST, DEVICE = "matmul_descriptor", "layer_scale_descriptor"
Ask = Callable[[str, str], Verdict]


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory, worker: Worker) -> Ask:
    folder = tmp_path_factory.mktemp("descriptors")

    def verdict(name: str, module: str) -> Verdict:
        function, path = folder / f"{name}.py", folder / "module.py"
        function.write_text(case(name).function, "utf-8")
        path.write_text(module, "utf-8")
        return judged(verify_subjects.load(str(function), worker), verify_subjects.load(str(path), worker), worker)

    return verdict


@pytest.mark.parametrize("name", [HOST, DEVICE])
def test_right_ones_are_accepted_and_their_faults_are_not(ask: Ask, name: str) -> None:
    assert ask(name, case(name).module).word == "TESTED"
    for fault in case(name).faults:
        assert ask(name, case(name).wrong(fault)).word == "REJECTED", fault.name


X = "tl.make_tensor_descriptor(x_ptr, shape=[rows, cols], strides=[cols, 1], block_shape=[BM, BN])"
EDITS = [
    (DEVICE, X, X.replace("x_ptr", "x_ptr + 1"), "REJECTED", "multiples of 16 bytes"),
    (DEVICE, X, X.replace("[cols, 1]", "[cols - 1, 1]"), "REJECTED", "multiples of 16 bytes"),
    (DEVICE, X, X.replace("[cols, 1]", "[1, cols]"), "REJECTED", "last dim has gaps"),
    (DEVICE, X, X.replace("[BM, BN]", "[BM]"), "REJECTED", "unlike lengths"),
    (DEVICE, X, X.replace("shape=[rows, cols]", "shape=[rows + 1, cols]"), "REJECTED", "which has 14000"),
    (DEVICE, "[row, col], value)", "[row, col], value + 0 * col)", "TESTED", ""),
    (DEVICE, "x_desc.load([row, col])", "x_desc.load([row])", "REJECTED", "at 1 offsets"),
    (DEVICE, "    triton.set_allocator(memory)\n", "", "UNDECIDED", "calls no triton.set_allocator"),
    (DEVICE, "torch.empty(size,", "torch.empty(64,", "UNDECIDED", "does not give the memory"),
    (HOST, "from_tensor(a, [BM, BK])", "from_tensor(a[:, 1:], [BM, BK])", "REJECTED", "16-byte aligned"),
    (HOST, "from_tensor(a, [BM, BK])", "from_tensor(a.t(), [BM, BK])", "REJECTED", "the call raises"),
    (HOST, "from_tensor(a, [BM, BK])", 'from_tensor(a, [BM, BK], padding="nan")', "REJECTED", ""),
    (HOST, "from_tensor(c, [BM, BN])", "from_tensor(c, [BM, BN // 2])", "REJECTED", "which Triton refuses"),
]  # fmt: skip


@pytest.mark.parametrize("name,old,new,word,said", EDITS, ids=[f"{e[0]}: {e[2][-40:]}" for e in EDITS])
def test_what_a_device_does_not_take_is_refused(ask: Ask, name: str, old: str, new: str, word: str, said: str) -> None:
    module = case(name).module
    assert module.count(old) == 1
    found = ask(name, module.replace(old, new))
    assert found.word == word and said in found.evidence[0].summary, found.evidence[0].summary
