"""What may be loaded into a user's process: everything that the emitters write, and nothing that does more than to compute."""

from __future__ import annotations

import pytest
from codegen.emission_cases import EXTRA, original_of, program_of
from workloads import hand

from mirage.codegen.baseline_module import emit_baselines
from mirage.codegen.emit import emit_module
from mirage.errors import ModuleRefused
from mirage.mugraph.grammar import LibraryKernel
from mirage.results.baselines import BASELINES
from mirage.verify.structure.loadable import check_loadable, loading_fault

CASES = {**hand.small(), **{n: f() for n, f in EXTRA.items()}}
MODULE = emit_module(
    program_of(CASES["attention_tail"].mugraph),
    CASES["attention_tail"].mugraph,
    original_of(CASES["attention_tail"]),
    function="attention_tail",
    header={},
)


@pytest.mark.parametrize("name", CASES)
def test_what_the_emitter_writes_may_be_loaded(name: str) -> None:
    case = CASES[name]
    text = emit_module(program_of(case.mugraph), case.mugraph, original_of(case), function=case.name, header={})
    check_loadable(text)
    assert any(isinstance(k, LibraryKernel) for k in case.mugraph.kernels) or "@triton.jit" in text


@pytest.mark.parametrize("baseline", [n for n, row in BASELINES.items() if row.answer != "keep"])
def test_modules_of_pytorchs_own_answers_may_be_loaded(baseline: str) -> None:
    case = CASES["rmsnorm_linear"]
    text = emit_baselines([(program_of(case.mugraph), baseline)], original_of(case), function=case.name, header={})
    check_loadable(text)
    for old, new in (("return _", "import os\n    return _"), ("return _", "print(1)\n    return _")):
        assert text.count(old) and loading_fault(text.replace(old, new, 1)) is not None


# (what stands in the module, what stands there instead)
ATTACKS = {
    "effect at import": ("import torch\n", "import torch\nprint(1)\n"),
    "call at import": ("SIZES = {", "X = torch.ones(1)\nSIZES = {"),
    "another import": ("import torch\n", "import torch\nimport os\n"),
    "a module through torch": ("import torch\n", "from torch import os\n"),
    "a folder's own torch": ("import torch\n", "from .torch import nn\nimport torch\n"),
    "a submodule of triton": ("import torch\n", "import triton.runtime.cache\nimport torch\n"),
    "torch under another name": ("pid = tl", "t = torch\n    pid = tl"),
    "torch handed on": ("SIZES = {", "T = torch\nSIZES = {"),
    "torch's own os": ("pid = tl", "torch.os.system('true')\n    pid = tl"),
    "a file through torch": ("pid = tl", "torch.load('x')\n    pid = tl"),
    "a decorator": ("@triton.jit", "@torch.compile"),
    "a decorator with a call": ("@triton.jit", "@triton.jit(print(1))"),
    "a default with a call": ("sizes=SIZES", "sizes=print(1)"),
    "a dunder": ("pid = tl", "().__class__\n    pid = tl"),
    "exec": ("pid = tl", "exec('1')\n    pid = tl"),
    "getattr": ("pid = tl", "getattr(tl, 'x')\n    pid = tl"),
    "a lambda": ("pid = tl.program_id(0)", "pid = (lambda: 1)()"),
    "a comprehension": ("pid = tl.program_id(0)", "pid = [i for i in (1,)][0]"),
    "raise": ("pid = tl", "raise ValueError\n    pid = tl"),
    "an f-string": ("pid = tl.program_id(0)", "pid = f'{tl}'"),
    "an operator with an effect": ("pid = tl", "torch.ops.aten.from_file.default('x')\n    pid = tl"),
    "an operator in place": ("pid = tl", "torch.ops.aten.add_.Tensor(1, 1)\n    pid = tl"),
    "another namespace of operators": ("pid = tl", "torch.ops.mine.f.default()\n    pid = tl"),
    "inline assembly": ("pid = tl", "tl.inline_asm_elementwise('x')\n    pid = tl"),
    "a method that no operator has": ("pid = tl", "Q_ptr.data_ptr()\n    pid = tl"),
    "a class": ("SIZES = {", "class A:\n    pass\n\n\nSIZES = {"),
    "with": ("pid = tl", "with tl:\n        pass\n    pid = tl"),
    "an encoding": ("# mirage:begin header", "# coding: utf-7\n# mirage:begin header"),
    "no Python": ("def _run", "def def _run"),
    "os in the original": ("def _original_attention_tail(", "def helper():\n    torch.os.system('x')\n\n\ndef _original_attention_tail("),
    "os through a variable in the original": (
        "def _original_attention_tail(", "def helper(x):\n    x.os.system('x')\n\n\ndef _original_attention_tail("),
}  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_does_more_is_refused(attack: str) -> None:
    old, new = ATTACKS[attack]
    assert old in MODULE and loading_fault(MODULE) is None
    changed = MODULE.replace(old, new, 1)
    assert loading_fault(changed) is not None
    with pytest.raises(ModuleRefused):
        check_loadable(changed)


def test_a_module_of_any_length_or_depth_is_answered() -> None:
    assert loading_fault("x = 1\n" * (1 << 20)) is not None
    assert loading_fault("x = " + "(" * 5000 + ")" * 5000) is not None
    assert loading_fault("x = " + "-" * 100_000 + "1") is not None
    assert loading_fault("x = 1\0") is not None


def test_the_names_of_each_operator_are_known() -> None:
    from mirage.operators.table import OPERATORS
    from mirage.verify.structure.loadable import known

    paths, _ = known(len(OPERATORS))
    assert {"torch", "torch.softmax", "torch.nn.functional.rms_norm", "triton.language.load"} <= paths
    assert not {"torch.load", "torch.os", "triton.language.inline_asm_elementwise", "torch.hub"} & paths
