"""What an emitted module looks like, and what is refused."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from emission_cases import EXTRA, original_of, program_of
from workloads import hand

from mirage.codegen.emit import PARTS, emit_module, split_parts
from mirage.errors import EmissionRefused
from mirage.mugraph.grammar import Compute, Store
from mirage.mugraph.parse import parse

CASES = {**hand.small(), **{n: f() for n, f in EXTRA.items()}}


def emit(case, source=None, **more):
    text = original_of(case) if source is None else source
    return emit_module(
        program_of(case.mugraph), case.mugraph, text, function=case.name, header={"mugraph": "x"}, **more
    )


@pytest.mark.parametrize("name", ["rmsnorm_linear", "attention_tail", "grouped_rows"])
def test_golden(name, golden):
    golden(f"emitted_{name}.py.txt", emit(CASES[name]))


@pytest.mark.parametrize("name", CASES)
def test_parts_are_marked_in_order_and_only_torch_and_triton_are_imported(name):
    text = emit(CASES[name])
    marks = [x for x in text.splitlines() if x.startswith("# mirage:")]
    assert marks == [f"# mirage:{side} {part}" for part in PARTS for side in ("begin", "end")]
    assert list(split_parts(text)) == list(PARTS)
    roots = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            roots |= {a.name.partition(".")[0] for a in node.names}
        elif isinstance(node, ast.ImportFrom):
            roots.add(str(node.module).partition(".")[0])
    assert roots <= {"torch", "triton", "__future__"}


@pytest.mark.parametrize("name", CASES)
def test_the_text_is_formatted_and_clean(name):
    ruff = shutil.which("ruff") or str(Path(sys.executable).parent / "ruff")
    text = emit(CASES[name])
    options = ["--line-length", "120", "--isolated"]
    done = subprocess.run([ruff, "format", "--diff", *options, "-"], input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    # E741: a tensor's own name may be O or l.
    lint = [ruff, "check", "--select", "F,E", "--ignore", "E741", *options, "-"]
    done = subprocess.run(lint, input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_emission_is_deterministic():
    assert emit(hand.attention_tail()) == emit(hand.attention_tail())
    assert emit(hand.attention_tail()) != emit(hand.attention_tail(tt=32))


def test_what_reads_well():
    text = emit(CASES["grouped_rows"])
    assert "y - bias[:, None]" in text  # not y + -bias
    assert "i_r[:, None] * K" in text  # rows are contiguous: their axes are not taken apart
    assert "i_r % H" in text  # the bias needs one of them
    assert "y = tl.dot(x, w, y)" in text
    text = emit(CASES["attention_tail"])
    assert "o = tl.dot(p.to(v.dtype), v, o * rescale[:, None])" in text
    assert "m_old = m" in text and "l_old" not in text
    assert 'sem="acq_rel"' in text
    assert "num_ctas=2" in emit(CASES["cluster_linear"])
    assert "num_ctas" not in text
    assert "Y = X @ W" in emit(CASES["library_then_kernel"])


def test_dots_say_how_float32_is_multiplied():
    case = hand.gated_mlp()
    plain = emit(case)
    tensors = tuple(replace(t, dtype="fp32") for t in case.mugraph.tensors)
    full = emit(replace(case, mugraph=replace(case.mugraph, tensors=tensors)))
    assert 'input_precision="ieee"' in full and "input_precision" not in plain


def test_warps_are_not_spread_over_what_is_reduced():
    """Outside loops the dim that is summed stands behind another one; in a loop, and where there is no other, tiles stay as
    they lie in memory."""
    text = emit(CASES["attention_tail"])
    tail = text[text.index("# The last block") :]
    assert "i_s[None, :, None] * (H * Q * E)" in tail and "i_q[:, None, None]" in tail
    assert "tl.permute(" in tail  # the rest of the text has the dims in the graph's order
    rows = emit(CASES["row_sums"])
    assert "tl.permute(" not in rows and "tl.trans(" not in rows


def test_offsets_of_large_tensors_have_64_bits():
    assert "int64" not in emit(hand.gated_mlp())
    assert "tl.int64" in emit(hand.gated_mlp(k=70000, n=70000))


def test_a_store_from_the_first_block_only():
    case = CASES["rmsnorm_linear"]
    block = case.mugraph.kernels[0].block
    stores = tuple(replace(s, first=("n",)) if isinstance(s, Store) else s for s in block.body)
    kernel = replace(case.mugraph.kernels[0], block=replace(block, body=stores))
    text = emit(replace(case, mugraph=replace(case.mugraph, kernels=(kernel,))))
    assert "if pid_n == 0:\n        tl.store(" in text
    assert "if pid_n" not in emit(case)


def test_names_that_would_clash_are_made_apart():
    case = hand.rmsnorm_linear()

    def swap(text: str) -> str:
        return text.replace("X", "tl") if text == "X" else text

    body = case.mugraph.kernels[0].block.body
    loop = replace(body[0], body=tuple(
        replace(s, tensor=swap(s.tensor), out="range" if s.out == "x" else s.out) if hasattr(s, "tensor")
        else replace(s, args=tuple("range" if a == "x" else a for a in s.args)) if isinstance(s, Compute) else s
        for s in body[0].body
    ))  # fmt: skip
    kernel = replace(case.mugraph.kernels[0], block=replace(case.mugraph.kernels[0].block, body=(loop, *body[1:])))
    tensors = tuple(replace(t, name=swap(t.name)) for t in case.mugraph.tensors)
    graph = replace(case.mugraph, tensors=tensors, kernels=(kernel,))
    text = emit_module(
        program_of(graph), graph, "def rmsnorm_linear(tl, G, W):\n    return tl\n", function="rmsnorm_linear", header={}
    )
    ast.parse(text)
    assert "range_2 = tl.load(" in text and "_run(tl_2, G, W" in text


# ---- the original, the signature, the docstring
SOURCE = '''
import math
from jaxtyping import Float16
from torch import Tensor
import torch

EPS = 2 * 1e-6


def helper(x):
    return math.sqrt(2.0) * x


def rmsnorm_linear(X: Float16[Tensor, "19 75"], G, W, *, eps: float = EPS) -> Tensor:
    """Norm, then
    a product."""
    text = """kept  
    as it is"""
    return helper(X) @ W
'''


def test_the_original_is_kept_with_what_it_needs():
    text = emit(hand.rmsnorm_linear(), SOURCE)
    parts = split_parts(text)
    assert "def _original_rmsnorm_linear(" in parts["original"]
    assert "EPS = 2 * 1e-6" in parts["original"] and 'text = """kept  \n    as it is"""' in parts["original"]
    assert "import math" in parts["imports"] and "jaxtyping" not in text.replace('Float16[Tensor, "19 75"]', "")
    launcher = parts["launcher"]
    assert 'def rmsnorm_linear(X: Float16[Tensor, "19 75"], G, W, *, eps: float = 2 * 1e-06) -> Tensor:' in launcher
    assert 'Norm, then\n    a product."""' in launcher
    assert "if eps == 2 * 1e-06 and _fits(X, G, W):" in launcher
    assert "return _original_rmsnorm_linear(X, G, W, eps=eps)" in launcher
    assert '"""Another."""' in emit(hand.rmsnorm_linear(), SOURCE, docstring="Another.")


@pytest.mark.parametrize(
    "source, says",
    [
        ("def other(X, G, W):\n    return X\n", "no top-level function"),
        ("def rmsnorm_linear(X, G, W):\n  return (\n", "does not parse"),
        ("def rmsnorm_linear(X, G, W, *rest):\n    return X\n", "*args"),
        ("def rmsnorm_linear(X, G):\n    return X\n", "no parameter 'W'"),
        ("def rmsnorm_linear(X, G, W, n):\n    return X\n", "no default"),
        ("def rmsnorm_linear(X, G, W, n=make()):\n    return X\n", "refers to 'make'"),
    ],
)
def test_an_original_that_does_not_fit_is_refused(source, says):
    with pytest.raises(EmissionRefused, match=says.replace("*", r"\*")):
        emit(hand.rmsnorm_linear(), source)


def test_a_long_signature_is_broken_into_lines():
    long = ", ".join(f"option_{i}: int = {i}" for i in range(9))
    text = emit(hand.rmsnorm_linear(), f"def rmsnorm_linear(X, G, W, *, {long}):\n    return X\n")
    assert "def rmsnorm_linear(\n    X,\n    G,\n    W,\n    *,\n    option_0: int = 0,\n" in text
    ast.parse(text)


def test_a_program_that_differs_from_the_graph_is_refused():
    case = hand.rmsnorm_linear()
    program = program_of(hand.rmsnorm_linear(m=20).mugraph)
    with pytest.raises(EmissionRefused, match="differs"):
        emit_module(program, case.mugraph, original_of(case), function=case.name, header={})


def test_float64_and_unknown_operators_are_refused():
    case = hand.gated_mlp()
    tensors = tuple(replace(t, dtype="fp64") for t in case.mugraph.tensors)
    with pytest.raises(EmissionRefused, match="float64"):
        emit(replace(case, mugraph=replace(case.mugraph, tensors=tensors)))
    block = case.mugraph.kernels[0].block
    body = tuple(replace(s, op="nonsense") if getattr(s, "op", "") == "sigmoid" else s for s in block.body)
    kernel = replace(case.mugraph.kernels[0], block=replace(block, body=body))
    with pytest.raises(EmissionRefused, match="nonsense"):
        emit(replace(case, mugraph=replace(case.mugraph, kernels=(kernel,))))


def two_passes(second: str) -> str:
    """Rows that one loop sums and `second` reads again, or not."""
    text = emit_of(
        f"""mugraph rows
axes m=64 n=4096
input X fp32 [m, n]
input Y fp32 [m, n]
output O fp32 [m, n]
kernel main warps 4 stages 3:
  block cluster 1:
    dim m (m) grid tile 1
    dim n (n) loop tile 1024
    for n:
      x[m, n] = load X[m, n]
      t[m] = sum(x; dim=n)
      acc[m] += t
    for n:
      y[m, n] = load {second}[m, n]
      o[m, n] = mul(y, acc)
      store O[m, n] = o
"""
    )
    first, _, rest = text.partition("acc_wide +=")
    return f"{first.count('evict_first')}, {rest.count('evict_first')}"


def emit_of(text: str) -> str:
    graph = parse(text)
    return emit_module(
        program_of(graph), graph, "def rows(X, Y):\n    return X", function=graph.name, header={"mugraph": "x"}
    )


def test_what_is_read_again_stays_in_the_cache():
    assert two_passes("X") == "0, 1"
    assert two_passes("Y") == "1, 1"
