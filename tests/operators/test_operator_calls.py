"""Each entry says how PyTorch writes its operator: a program run by these calls gives what its function gives."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from program.numeric import HEAD, draw, eager
from program.random_programs import random_programs
from workloads.traced import trace

from mirage.ir.dtypes import TORCH_NAMES
from mirage.ir.program import Operation, Program
from mirage.operators.table import OPERATORS

MORE = {
    "F.scaled_dot_product_attention(x, x, x, is_causal=True)": (2, 5, 7), "F.log_softmax(x, 0)": (5, 7),
    "torch.cat([x, x * 2], 1)[:, 3:9].permute(1, 0)": (5, 7), "x.repeat_interleave(2, 1).repeat(1, 3)": (5, 7),
    "torch.einsum('ij,kj->ik', x, x).tril()": (5, 7), "x.var(0) + x.std(0, correction=0) + x.norm(dim=0)": (5, 7),
    "x.expand(3, 5, 7).sum((0, 2)).amin()": (5, 7), "x.masked_fill((x > 0) & ~(x > 1), 0.5).logsumexp(-1)": (5, 7),
    "F.group_norm(F.glu(x), 3, x[0, :6], None)": (5, 12), "torch.floor(x) + torch.ceil(x)": (5, 7),
    "torch.sign(x) * F.logsigmoid(x)": (5, 7), "x.diagonal(1) + torch.eye(4)": (4, 5),
    "F.mse_loss(x, x.abs()) + F.huber_loss(x, x * x, delta=0.5, reduction='none')": (5, 7),
    "F.smooth_l1_loss(x, x * x, reduction='sum', beta=0.3) + F.kl_div(x, x.abs())": (5, 7),
    "F.binary_cross_entropy_with_logits(x, x.abs(), pos_weight=x[0], reduction='sum')": (5, 7),
    "x.gather(1, torch.arange(2, 7)[:, None]) + F.one_hot(torch.arange(5), 7)": (5, 7),
    "F.cross_entropy(x, torch.arange(5), label_smoothing=0.1) + F.nll_loss(x, torch.arange(5), ignore_index=2)": (5, 7),
    "F.rms_norm(x, (7,))": (5, 7), "F.leaky_relu(F.softplus(x) - 1) + 2 ** x": (5, 7), "torch.lerp(x, x * x, 0.25)": (5, 7),
    "x.reshape(7, 5).transpose(0, 1) + x.new_full((), 2.0)": (5, 7), "x + torch.arange(7).to(x.dtype)": (5, 7),
}  # fmt: skip


def call(node: Operation, names: list[str]) -> str:
    attrs = dict(node.attrs)
    if "dtype" in attrs:
        attrs["torch_dtype"] = f"torch.{TORCH_NAMES[attrs['dtype']]}"
    return OPERATORS[node.op].call.format(*names, all=", ".join(names), rest=", ".join(names[1:]), **attrs)


def run(program: Program, inputs: dict[str, np.ndarray]) -> np.ndarray:
    env = {"torch": torch, "F": F, "inf": float("inf")}
    names = [i.name for i in program.inputs]
    env.update({n: torch.tensor(inputs[n], dtype=torch.float64) for n in names})
    for i, node in enumerate(program.nodes):
        text = call(node, [names[a] for a in node.args])
        names.append(f"t{i}")
        # A bare number stays one: PyTorch's own promotion is what the program was traced with.
        env[names[-1]] = eval(re.sub(r"^\(?(-?[\d.e+-]+)\)?$", r"torch.tensor(\1)", text), env)  # type: ignore[arg-type]
    return np.asarray(env[names[program.outputs[0]]])


@pytest.mark.parametrize("text", MORE)
def test_calls(text: str) -> None:
    source, given = f"{HEAD}def f(x):\n    return {text}\n", [("x", MORE[text], "fp64")]
    inputs = draw(given)
    got = run(trace(source, "f", given), inputs)
    assert np.allclose(got, eager(source, "f", given, inputs)[0], rtol=1e-6, atol=1e-7)


def test_calls_of_random_programs() -> None:
    seen = set()
    for p in random_programs(120):
        given = [(n, s, "fp64") for n, s, _ in p.inputs]
        inputs = draw(given)
        program = trace(p.text, p.function, given)
        seen |= {n.op for n in program.nodes}
        want = eager(p.text, p.function, given, inputs)[0]
        assert np.allclose(run(program, inputs), want, rtol=1e-5, atol=1e-6), p.text
    assert {"matmul", "linear", "softmax", "layer_norm", "rms_norm", "where", "slice"} <= seen


def test_another_call_is_noticed() -> None:
    source, given = f"{HEAD}def f(x):\n    return x.sum(0)\n", [("x", (5, 5), "fp64")]
    inputs = draw(given)
    other = trace(source.replace("sum(0)", "sum(1)"), "f", given)
    assert not np.allclose(run(other, inputs), eager(source, "f", given, inputs)[0])
