"""A module's text is read: what it may contain, and whether the emitter would write it so."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from changed_modules import CASES, EDITS, FREE, RMS, TAIL, changed, emitted, with_warps
from workloads.hand_modules import program_of, source_of

from mirage.codegen.emit import emit_module
from mirage.codegen.size_table import focused, inputs_of
from mirage.ir.opaque_calls import has_effect
from mirage.results.verdict import Evidence
from mirage.verify.structure.module_rules import RULES, first_fault
from mirage.verify.structure.opinion import structure_opinion, syntax_opinion


def opinion(name: str, module: str, row: int = 0) -> Evidence:
    case = CASES[name][row]
    read = syntax_opinion(module)
    if read.word == "REJECTED":
        return read
    return structure_opinion(module, program_of(case.mugraph), case.mugraph, source_of(case), case.name, read)


@pytest.mark.parametrize("name", CASES)
def test_what_was_emitted_is_accepted(name: str) -> None:
    for row in range(len(CASES[name])):
        found = opinion(name, emitted(name), row)
        assert (found.word, found.link, found.opinion) == ("PROVED", "text", "structure"), found.summary
        assert found.summary == "as emitted from its µGraph (this version)"


@pytest.mark.parametrize("what,name,old,new", EDITS, ids=[f"{i} {e[0]}" for i, e in enumerate(EDITS)])
def test_a_text_changed_by_hand_is_rejected(what: str, name: str, old: str, new: str) -> None:
    module = changed(name, old, new)
    for row in range(len(CASES[name])):
        found = opinion(name, module, row)
        assert found.word == "REJECTED", what
        line = re.search(r"line (\d+)", found.summary)
        assert line is not None and 0 < int(line[1]) <= module.count("\n"), found.summary


def test_there_are_edits_enough_of_each_class() -> None:
    classes = Counter(e[0] for e in EDITS)
    assert len(EDITS) >= 40 and len(classes) >= 15 and len({e[1] for e in EDITS}) >= 6
    assert len({(e[1], e[3]) for e in EDITS}) == len(EDITS)


@pytest.mark.parametrize("what,name,old,new", FREE, ids=[f"{i} {e[0]}" for i, e in enumerate(FREE)])
def test_comments_layout_and_docstrings_are_free(what: str, name: str, old: str, new: str) -> None:
    found = opinion(name, changed(name, old, new))
    assert found.word == "PROVED", found.summary


def test_parts_have_their_marks_where_they_belong() -> None:
    """Rows are read by changing names within the launcher's part, so it must be all of the launcher."""
    mark = "# mirage:begin launcher\n"
    for name in (RMS, "three sizes"):
        text = emitted(name)
        for other in (
            text.replace(mark, "").replace("def _fits(", f"{mark}def _fits("),
            text.replace(mark, mark + mark),
            text.replace(mark, ""),
            text.replace("# verdict: none\n", f"# verdict: none\n{mark}"),
        ):
            assert opinion(name, other).word == "REJECTED"


def test_the_first_line_that_differs_is_shown() -> None:
    module = changed(RMS, "in_m = (i_m < M) |", "in_m = (i_m < 64) |")
    number = module[: module.index("i_m < 64")].count("\n") + 1
    said = opinion(RMS, module).summary
    assert said.startswith(
        f"line {number}: the module has `in_m = (i_m < 64) | (M % BLOCK_M == 0)`, "
        "the emitter writes `in_m = (i_m < M) | (M % BLOCK_M == 0)`; edited by hand"
    )
    assert "mirage optimize" in said


def test_another_mugraph_than_the_judged_one_is_no_evidence() -> None:
    (case,) = CASES[RMS]
    other = with_warps(case, 8)
    read = syntax_opinion(emitted(RMS))
    found = structure_opinion(emitted(RMS), program_of(case.mugraph), other.mugraph, source_of(case), case.name, read)
    assert found.word == "REJECTED" and "another µGraph" in found.summary


def test_another_function_than_the_original_is_rejected() -> None:
    (case,) = CASES[RMS]
    read, source = syntax_opinion(emitted(RMS)), source_of(case)
    for text, word in (
        (source, "PROVED"),
        (source.replace("    return (", "    # the product\n    return ("), "PROVED"),
        (source.replace("1e-6", "1e-5"), "REJECTED"),
        (source + "\n\ndef more(x):\n    return x\n", "REJECTED"),
    ):
        found = structure_opinion(emitted(RMS), program_of(case.mugraph), case.mugraph, text, case.name, read)
        assert found.word == word, (text, found.summary)


def test_a_row_is_read_whatever_row_has_the_plain_names() -> None:
    name = "three sizes"
    for row, case in enumerate(CASES[name]):
        text = focused(emitted(name), inputs_of(program_of(case.mugraph)))
        assert opinion(name, text, row).word == "PROVED"


SOURCE = """import math

import torch
import torch.nn.functional as F

EPS = 1e-6
SCALE = math.sqrt(2.0) / 2


def scaled(x, eps):
    '''A helper.'''
    return torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) * SCALE * 2 / math.sqrt(2.0) + eps)


def rmsnorm_linear(X, G, W, *, eps: float = EPS, how=None):
    rows = [F.relu(X[i]) for i in range(0)]
    return (X * scaled(X, eps).to(X.dtype) * G) @ W if not rows else rows[0]
"""


@pytest.mark.parametrize("doc", [None, "Of rows.", 'Quotes \\"\\"\\" and \\\\ in it.\n\n    More.\n    '])
@pytest.mark.parametrize("returns_tuple", [False, True])
@pytest.mark.parametrize("kernel", [{}, {"operands": "wide"}, {"warps": 8, "stages": 1}], ids=str)
def test_every_option_of_emission_stands_in_the_text(doc: str | None, returns_tuple: bool, kernel: Any) -> None:
    (case,) = CASES[RMS]
    (custom,) = case.mugraph.kernels
    graph = replace(case.mugraph, kernels=(replace(custom, **kernel),))
    program = replace(program_of(graph), returns_tuple=returns_tuple)
    module = emit_module(program, graph, SOURCE, function=case.name, header={}, docstring=doc)
    read = syntax_opinion(module)
    assert read.word == "TESTED", read.summary
    for text, function in ((SOURCE, case.name), ("", "")):
        assert structure_opinion(module, program, graph, text, function, read).word == "PROVED"
    if not kernel:
        other = replace(program, returns_tuple=not returns_tuple)
        assert structure_opinion(module, other, graph, SOURCE, case.name, read).word == "REJECTED"
    for old, new in (
        ("SCALE = math.sqrt(2.0)", "SCALE = math.sqrt(3.0)"),
        ("A helper", "Another"),
        ("range(0)", "range(1)"),
    ):
        assert module.count(old) == 1
        found = structure_opinion(module.replace(old, new), program, graph, SOURCE, case.name, read)
        assert (found.word == "REJECTED") == (old != "A helper"), found.summary


def test_a_module_without_a_mugraph_is_read_by_the_rules_alone() -> None:
    text = emitted(RMS)
    alone = text[: text.index("# mirage:begin mugraph")]
    found = opinion(RMS, alone)
    assert found.word == "TESTED" and "rules" in found.summary
    assert opinion(RMS, alone.replace("    return O\n", "    print(O)\n    return O\n")).word == "REJECTED"


# (rule, module, what stands there, what is written instead): each breaks that rule, and none before it
BREAKS: tuple[tuple[str, str, str, str], ...] = (
    ("encoding", RMS, "# mirage:begin header\n", "# coding: utf-7\n# mirage:begin header\n"),
    ("statements", RMS, "SIZES = {", "torch.manual_seed(0)\nSIZES = {"),
    ("statements", RMS, "SIZES = {", "class Late:\n    n = 1\n\n\nSIZES = {"),
    ("statements", RMS, "SIZES = {", "if torch.cuda.is_available():\n    tl = None\nSIZES = {"),
    ("statements", RMS, "SIZES = {", "A = B = 1\nSIZES = {"),
    ("statements", RMS, "SIZES = {", "torch.add = torch.sub\nSIZES = {"),
    ("statements", RMS, "    return O\n", "    return O)\n"),
    ("imports", RMS, "import torch\n", "import os\nimport torch\n"),
    ("imports", RMS, "import torch\n", "from torch import *\nimport torch\n"),
    ("imports", RMS, "import torch\n", "import torch\nimport torch.utils.cpp_extension\n"),
    ("imports", RMS, "    return O\n", "    import math\n    return O\n"),
    ("constants", RMS, "SIZES = {", "START = torch.zeros(1)\nSIZES = {"),
    ("constants", RMS, "SIZES = {", "LATE = [x for x in range(3)]\nSIZES = {"),
    ("bound once", RMS, "SIZES = {", "range = max\nSIZES = {"),
    ("bound once", RMS, "    return O\n\n\n_EXPECTED", "    return O\n\n\ndef _run(X, G, W):\n    return X @ W\n\n\n_EXPECTED"),
    ("bound once", RMS, "    grid = (", "    torch = None\n    grid = ("),
    ("decorators", RMS, "def _fits(", "@torch.no_grad()\ndef _fits("),
    ("decorators", RMS, "@triton.jit", "@triton.autotune([], [])\n@triton.jit"),
    ("defaults", RMS, "sizes=SIZES, tiles=TILES", "sizes=SIZES, tiles={}"),
    ("counters", TAIL, "_ZEROED[key] = spare[:count]", "_ZEROED[key] = spare[1:]"),
    ("counters", TAIL, "spare = _ZEROED.pop(device, None)", "spare = _ZEROED.get(device)"),
    ("refuses", RMS, "    if not fits:\n        _refuse_others((_run, sizes, tiles), X, G, W)\n", ""),
    ("refuses", RMS, "    if not fits:\n", "    if not fits and sizes is not SIZES:\n"),
    ("refuses", RMS, "tiles=TILES, *, fits=False)", "tiles=TILES, *, fits=True)"),
    ("refuses", RMS, "tiles=TILES, *, fits=False)", "tiles=TILES, fits=False)"),
    ("refuses", RMS, "_refuse_others((_run, sizes, tiles), X, G, W)", "_refuse_others((_run, SIZES, TILES), X, G, W)"),
    ("refuses", RMS, "_refuse_others((_run, sizes, tiles), X, G, W)", "_refuse_others((_run, sizes, tiles), X, G)"),
    ("refuses", RMS, "_EXPECTED or made != (_run, SIZES, TILES)", "_EXPECTED and made != (_run, SIZES, TILES)"),
    ("refuses", RMS, "if t.is_contiguous() else None", "if t.numel() else None"),
    ("state", RMS, "    grid = (", "    global calls\n    grid = ("),
    ("state", RMS, "    grid = (", "    X.data = W\n    grid = ("),
    ("state", RMS, "    grid = (", '    SIZES["m"] = 3\n    grid = ('),
    ("state", RMS, "    grid = (", "    X.zero_()\n    grid = ("),
    ("state", RMS, "    grid = (", "    TILES.clear()\n    grid = ("),
    ("names", RMS, "    grid = (", "    print(X)\n    grid = ("),
    ("names", RMS, "    grid = (", '    n = getattr(X, "shape")\n    grid = ('),
    ("names", RMS, "    grid = (", '    n = open("state").read()\n    grid = ('),
    ("names", RMS, "    grid = (", "    n = len(__file__)\n    grid = ("),
    ("names", RMS, "    grid = (", "    n = id(X)\n    grid = ("),
    ("names", RMS, "    grid = (", "    n = np.zeros(3)\n    grid = ("),
    ("names", RMS, "    variance = ", "    eval('0')\n    variance = "),
    ("attributes", RMS, "    grid = (", "    n = torch.os.getpid()\n    grid = ("),
    ("attributes", RMS, "    grid = (", "    n = X.data_ptr() % 256\n    grid = ("),
    ("attributes", RMS, "    grid = (", "    n = torch.rand(1)\n    grid = ("),
    ("attributes", RMS, "    grid = (", "    n = torch.cuda.get_device_name()\n    grid = ("),
    ("attributes", RMS, "    grid = (", "    n = X.__class__\n    grid = ("),
    ("attributes", RMS, "    grid = (", "    n = torch.ops.aten.__ilshift__.Scalar(X, 1)\n    grid = ("),
    ("attributes", RMS, "    grid = (", "    n = X.__lshift__(1)\n    grid = ("),
    ("attributes", RMS, "    variance = ", "    torch.load('x')\n    variance = "),
    ("plain", RMS, "    grid = (", "    f = lambda x: x\n    grid = ("),
    ("plain", RMS, "    grid = (", "    try:\n        X @ W\n    except RuntimeError:\n        pass\n    grid = ("),
    ("plain", RMS, "    grid = (", "    with torch.no_grad():\n        pass\n    grid = ("),
    ("plain", RMS, "    grid = (", "    del W\n    grid = ("),
    ("public", RMS, "    if _fits(X, G, W):", "    if X.shape[0] < 100:"),
    ("public", RMS, "    if _fits(X, G, W):", "    X = X * 1\n    if _fits(X, G, W):"),
    ("public", RMS, "    return _original_rmsnorm_linear(X, G, W)", "    return _original_rmsnorm_linear(X, G, G)"),
    ("public", RMS, "def rmsnorm_linear(", "def another("),
    ("asked", RMS, "if _fits(X, G, W):", "if True or _fits(X, G, W):"),
    ("asked", RMS, "if _fits(X, G, W):", "if _fits(X, W, G):"),
    ("asked", RMS, "return _run(X, G, W, fits=True)", "return _run(X, G, G, fits=True)"),
    ("asked", RMS, "return _run(X, G, W, fits=True)", "return _run(X, G, W, fits=X.shape)"),
    ("asked", RMS, "return _run(X, G, W, fits=True)", "return _run(X, G, W, SIZES, fits=True)"),
    ("asked", RMS, "here and tuple(given) == _EXPECTED", "here and len(given) == len(_EXPECTED)"),
    ("asked", RMS, "not t.is_contiguous() or ", ""),
    ("asked", RMS, "    variance = ", "    _run(X, G, W, fits=True)\n    variance = "),
    ("asked", RMS, "    grid = (", '    n = _run(X, G, W, **{"fits": True})\n    grid = ('),
    ("launched", RMS, "@triton.jit", "@triton.jit\ndef _idle(X_ptr):\n    tl.store(X_ptr, 0)\n\n\n@triton.jit"),
)  # fmt: skip


@pytest.mark.parametrize("rule,name,old,new", BREAKS, ids=[f"{i} {b[0]}" for i, b in enumerate(BREAKS)])
def test_each_rule_is_broken_by_an_example(rule: str, name: str, old: str, new: str) -> None:
    module = changed(name, old, new)
    found = first_fault(module)
    assert found is not None
    broken, fault = found
    assert broken == rule, (broken, fault)
    assert 0 < fault.line <= module.count("\n")


def test_every_rule_has_an_example() -> None:
    assert {b[0] for b in BREAKS} == {r.name for r in RULES}
    assert all(first_fault(emitted(name)) is None for name in CASES)


@pytest.mark.parametrize("op", ["__lshift__", "__rshift__"])
def test_shifts_are_operators_by_their_names(op: str) -> None:
    assert first_fault(changed(RMS, "    grid = (", f"    n = torch.ops.aten.{op}.Scalar(X, 1)\n    grid = (")) is None


@pytest.mark.parametrize(
    ("op", "effect"),
    [("aten.__lshift__.Scalar", False), ("aten.__ilshift__.Scalar", True), ("aten.__iand__.Tensor", True)],
)
def test_an_operator_in_place_has_an_effect_by_either_spelling(op: str, effect: bool) -> None:
    assert has_effect(op) is effect
