"""Pools and convolutions that are written out mean what PyTorch computes, in every form; other windows are another function."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from mirage.ir.opaque_calls import is_call
from mirage.ir.program import Program
from mirage.ir.tensor_spec import TensorSpec
from mirage.program.trace import trace
from mirage.verify.semantics.call_meanings import written_out
from mirage.verify.semantics.program_values import run
from mirage.verify.semantics.window_meanings import WINDOW_MEANINGS, Windows
from mirage.verify.two_programs import compare

HEAD = "import torch\nimport torch.nn.functional as F\n\n\n"
SHAPES = {
    "x": (2, 4, 13), "q": (2, 4, 12), "z": (2, 2, 7, 6), "c": (1, 2, 5, 4, 6),
    "w": (6, 4, 3), "v": (6, 2, 3), "u": (3, 2, 2, 3), "s": (2, 2, 2, 1, 3), "b": (6,), "g": (4,), "h": (4,),
}  # fmt: skip
POOLS = (
    "F.avg_pool1d(q, 3)", "F.avg_pool1d(x, 3)", "F.avg_pool1d(x, 3, 2)", "F.avg_pool1d(x, 3, 1, 1)",
    "F.avg_pool1d(x, 4, 3, 2, ceil_mode=True)",
    "F.avg_pool1d(x, 4, 3, 2, count_include_pad=False)", "F.avg_pool1d(x, 2, 5, 1, True, False)", "F.avg_pool1d(x[0], 2)",
    "F.avg_pool2d(z, 2)", "F.avg_pool2d(z, (3, 2), (2, 1), (1, 0))", "F.avg_pool2d(z, 3, 2, 1, True, False)",
    "F.avg_pool2d(z, 3, 2, 1, True)", "F.avg_pool2d(z, 2, divisor_override=3)", "F.avg_pool3d(c, 2)",
    "F.avg_pool3d(c, 3, 2, 1, True, False)",
    "F.max_pool1d(q, 3)", "F.max_pool1d(x, 3, 2, 1)", "F.max_pool1d(x, 2, 3, ceil_mode=True)", "F.max_pool1d(x, 3, 1, 1, 2)",
    "F.max_pool1d(x, 4, 5, 2, 2, ceil_mode=True)", "F.max_pool1d(x, 3, return_indices=True)[0]",
    "F.max_pool2d(z, 2)", "F.max_pool2d(z, (2, 3), (1, 2), (1, 1), (2, 1), True)", "F.max_pool2d(z, 2, return_indices=True)[0]",
    "F.max_pool3d(c, 2, 2, 1)", "F.max_pool3d(c, 2, return_indices=True)[0]",
    "F.adaptive_avg_pool1d(q, 4)", "F.adaptive_avg_pool1d(x, 5)", "F.adaptive_avg_pool2d(z, 1)", "F.adaptive_avg_pool2d(z, (3, None))",
    "F.adaptive_avg_pool3d(c, (2, 3, 4))", "F.adaptive_max_pool1d(x, 4)", "F.adaptive_max_pool2d(z, (3, 4))", "F.adaptive_max_pool3d(c, 2)",
    "F.lp_pool1d(q, 2, 3)",
)  # fmt: skip
CONVOLUTIONS = (
    "F.conv1d(x, w)", "F.conv1d(x, w, b)", "F.conv1d(x, w, b, 2, 1, 3)", "F.conv1d(x, v, b, groups=2)", "F.conv1d(x[0], w)",
    "F.conv1d(x, w, padding='same')", "F.conv1d(x, w[..., :2], padding='same', dilation=3)", "F.conv1d(x, w, b, padding='valid')",
    "F.conv2d(z, u)", "F.conv2d(z, u, b[:3], (2, 1), (1, 2), (2, 1))", "F.conv2d(z, u[:2, :1], groups=2, padding='same')",
    "F.conv3d(c, s)", "F.conv3d(c, s, b[:2], 2, 1)", "F.conv3d(c, s, padding='same')",
    "F.instance_norm(x)", "F.instance_norm(x, weight=g, bias=h, eps=0.1)", "F.instance_norm(z, weight=g[:2])",
)  # fmt: skip
# (the function, an equal one, another one)
COMPARED = (
    ("F.avg_pool1d(q, 3)", "q.view(2, 4, 4, 3).mean(-1)", "q.view(2, 4, 4, 3).sum(-1) / 4"),
    ("F.avg_pool1d(q, 3)", "(q[..., ::3] + q[..., 1::3] + q[..., 2::3]) / 3", "(q[..., ::3] + q[..., 1::3] + q[..., 2::3]) / 2"),
    ("F.avg_pool1d(x, 3, 1)", "(x[..., :-2] + x[..., 1:-1] + x[..., 2:]) / 3", "F.avg_pool1d(x, 3, 1, 1)[..., :-2]"),
    ("F.avg_pool1d(x, 3, 1, 1)", "F.pad(x, (1, 1)).unfold(2, 3, 1).mean(-1)", "F.avg_pool1d(x, 3, 1, 1, count_include_pad=False)"),
    (
        "F.avg_pool2d(z, (1, 3))", "F.avg_pool1d(z.flatten(0, 1), 3).view(2, 2, 7, 2)",
        "F.avg_pool1d(z.flip(1).flatten(0, 1), 3).view(2, 2, 7, 2)",
    ),
    ("F.max_pool1d(q, 3)", "q.view(2, 4, 4, 3).amax(-1)", "q.view(2, 4, 4, 3).amin(-1)"),
    ("F.max_pool1d(q, 2)", "torch.maximum(q[..., ::2], q[..., 1::2])", "torch.maximum(q[..., ::2], q[..., ::2])"),
    ("F.max_pool1d(x, 2, 1, 1)[..., 1:-1]", "torch.maximum(x[..., :-1], x[..., 1:])", "F.pad(x, (1, 1)).unfold(2, 2, 1).amax(-1)[..., 2:]"),
    ("F.max_pool1d(x.relu(), 3, 2, 1)", "F.max_pool1d(x, 3, 2, 1).relu()", "F.max_pool1d(x, 3, 2, 1)"),
    ("F.max_pool1d(x, 3, 1, 1)", "-F.max_pool1d(-(x + 0), 3, 1, 1) + F.max_pool1d(x, 3, 1, 1) + F.max_pool1d(-x, 3, 1, 1)",
     "F.max_pool1d(F.pad(x, (1, 1)), 3, 1)"),  # zeros are not what a maximum is padded with
    ("F.adaptive_avg_pool1d(q, 4)", "F.avg_pool1d(q, 3)", "F.adaptive_avg_pool1d(q, 5)[..., :4]"),
    ("F.adaptive_avg_pool2d(z, 1)", "z.mean((2, 3), keepdim=True)", "z.sum((2, 3), keepdim=True)"),
    ("F.conv1d(q, w[..., :1])", "torch.einsum('oc,bcl->bol', w[..., 0], q)", "torch.einsum('oc,bcl->bol', w[..., 1], q)"),
    (
        "F.conv1d(x, w, b)", "sum(torch.einsum('oc,bcl->bol', w[..., k], x[..., k:k + 11]) for k in range(3)) + b[:, None]",
        "sum(torch.einsum('oc,bcl->bol', w[..., 2 - k], x[..., k:k + 11]) for k in range(3)) + b[:, None]",
    ),
    ("F.conv1d(x, v, groups=2)", "torch.cat([F.conv1d(x[:, :2], v[:3]), F.conv1d(x[:, 2:], v[3:])], 1)",
     "torch.cat([F.conv1d(x[:, 2:], v[:3]), F.conv1d(x[:, :2], v[3:])], 1)"),
    ("F.conv1d(x, w, padding=1)", "F.conv1d(F.pad(x, (1, 1)), w)", "F.conv1d(F.pad(x, (2, 0)), w)"),
    ("F.instance_norm(q)", "F.group_norm(q, 4)", "F.group_norm(q, 2)"),
    ("F.instance_norm(q, eps=0.01)", "(q - q.mean(2, keepdim=True)) / (q.var(2, correction=0, keepdim=True) + 0.01).sqrt()",
     "(q - q.mean(2, keepdim=True)) / (q.var(2, keepdim=True) + 0.01).sqrt()"),
)  # fmt: skip


def program(text: str, dtype: str = "fp32") -> Program:
    words = set("".join(c if c.isalnum() else " " for c in text).split())
    given = [TensorSpec(n, SHAPES[n], dtype) for n in SHAPES if n in words]
    return trace(f"{HEAD}def f({', '.join(i.name for i in given)}):\n    return {text}\n", "f", given)


@pytest.mark.parametrize("text", (*POOLS, *CONVOLUTIONS))
def test_values_are_those_of_pytorch(text: str) -> None:
    p = program(text, "fp64")
    written = written_out(p)
    assert not any(is_call(n.op) for n in written.nodes)
    rng = np.random.default_rng(3)
    given = [rng.standard_normal(i.shape) for i in p.inputs]
    given[0].flat[7] = np.nan  # as far as it goes in PyTorch
    names = {i.name: torch.from_numpy(v) for i, v in zip(p.inputs, given, strict=True)}
    want = eval(text, {"torch": torch, "F": torch.nn.functional, **names}).numpy()
    (have,), _ = run(written, given)
    np.testing.assert_allclose(have, want, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("ceil", [False, True])
def test_the_windows_are_as_many_as_those_of_pytorch(ceil: bool) -> None:
    for size, length, stride, padding, apart in np.ndindex(9, 4, 4, 3, 3):
        sizes = int(size + 1), int(length + 1), int(stride + 1), (int(padding),) * 2, int(apart + 1)
        found = Windows.of(*sizes, ceil)
        x = torch.ones(1, 1, sizes[0])
        try:
            want = torch.nn.functional.max_pool1d(x, *sizes[1:3], padding, sizes[4], ceil).shape[-1]
        except RuntimeError:
            continue  # no window fits, or there is more padding than PyTorch takes
        assert found is not None and found.count == want
        assert found.held(True) is not None and len(found.held(False)) == want


def test_each_meaning_is_tried_and_another_form_stays_a_call() -> None:
    tried = {n.op for text in (*POOLS, *CONVOLUTIONS) for n in program(text).nodes if is_call(n.op)}
    assert tried == set(WINDOW_MEANINGS)
    for text in (
        "F.avg_pool1d(x.repeat(1, 1, 9), 65, 1)",
        "F.max_pool1d(x, 3, return_indices=True)[1] * 2",
        "F.conv_transpose1d(x, w.permute(1, 0, 2))",
        "F.adaptive_avg_pool1d(x.repeat(1, 1, 7), 66)",
    ):
        assert any(is_call(n.op) for n in written_out(program(text)).nodes)


@pytest.mark.parametrize("function,equal,other", COMPARED)
def test_equal_ones_are_accepted_and_others_are_not(function: str, equal: str, other: str) -> None:
    assert compare(program(function), program(equal)).accepted
    assert compare(program(function), program(other)).word == "REJECTED"
