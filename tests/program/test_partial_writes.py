"""Writes to a part of a tensor of the function's own: what PyTorch gives, through every view, and never to an input."""

from __future__ import annotations

import random

import pytest
from program.numeric import HEAD, difference
from workloads.traced import trace

from mirage.errors import InPlaceEdit, MirageError, UnsupportedOperands

X = ("x", (6, 8), "fp32")
W = ("w", (6, 4), "fp32")


def text(body: str) -> str:
    return f"{HEAD}\n\ndef f(x, w):\n" + "".join(f"    {line}\n" for line in body.split("\n"))


BODIES = {
    "halves by turns": "out = torch.empty_like(x)\nout[..., 0::2] = w * 2\nout[..., 1::2] = -w\nreturn out",
    "every fourth": "out = torch.zeros_like(x)\nout[:, 1::4] = w[:, :2]\nreturn out",
    "rows by turns": "out = x.clone()\nout[1::2] = 0\nreturn out",
    "a column": "y = x * 2\ny[:, 3] = 0\nreturn y",
    "the last one": "y = x * 2\ny[:, -1] += w[:, 0]\nreturn y",
    "one element": "m = torch.zeros(x.shape[-1])\nm[3] = 1.0\nreturn x * m",
    "a run": "y = x + 1\ny[:, 2:6] = w\nreturn y.sum(-1)",
    "a run by negative ends": "y = x + 1\ny[:, -6:-2] *= w\nreturn y",
    "all of it": "y = x + 1\ny[:] = w.sum()\nreturn y",
    "memory filled by pieces": "y = torch.empty(6, 8, dtype=x.dtype)\ny[:, :3] = x[:, 5:]\ny[:, 3:] = 1\nreturn y",
    "memory filled row by row": "y = x.new_empty(2, 8)\nfor i in range(2):\n    y[i] = x[i] * i\nreturn y",
    "a run of a run": "y = x + 1\ny[1:5][1:3, ::2] = 5.0\nreturn y",
    "through a transposed view": "y = x + 1\ny.T[2] = w[:, 0]\nreturn y",
    "through a reshape": "y = x + 1\ny.view(6, 2, 4)[:, 1] = w\nreturn y",
    "through chunks": "y = x + 1\na, b = y.chunk(2, -1)\na.mul_(b)\nreturn y, b",
    "a view shows what comes later": "y = x + 1\nz = y[:, :4]\ny.mul_(2)\nreturn z + w",
    "an older copy does not": "y = x + 1\nz = y[:, :4].clone()\ny[:, :4] = w\nreturn z, y",
    "what was read before stays": "y = x + 1\nz = y[:, :4] * 1\ny[:, :4] = 0\nreturn z + y[:, :4]",
    "twice": "y = x + 1\ny[:, :4] = w\ny[:, 2:6] = y[:, :4] + w\nreturn y",
    "its own rows moved": "y = x + 1\ny[1:] = y[:-1].clone()\nreturn y",
    "beside a product of several": "y = torch.einsum('ij,ik->jk', x, w)\ny[:, 1] = 0\nreturn y",
    "a fill": "y = x + 1\ny[:, 1].fill_(2.0)\ny[2:4].zero_()\nreturn y",
    "a product into a part": "y = torch.zeros(6, 12, dtype=x.dtype)\ny[:, :6] = x @ x.T\ny[:, 6:] = torch.softmax(w @ w.T, -1)\nreturn y",
}


@pytest.mark.parametrize("name", BODIES)
def test_it_is_what_pytorch_gives(name: str) -> None:
    assert difference(text(BODIES[name]), "f", [X, W]) < 1e-12


def test_random_writes_are_what_pytorch_gives() -> None:
    """Where reshapes and slices have no common axes the function is refused, as without the writes."""
    right = refused = 0
    for seed in range(60):
        draw = random.Random(seed)
        lines = ["y = x + 1"]
        for _ in range(draw.randint(1, 4)):
            a, b = sorted(draw.sample(range(9), 2))
            r = draw.randint(0, 5)
            places = [f"y[:, {a}:{b}]", f"y[{r}]", f"y[{r}:, {a}:{b}]", "y[:, 1::2]", f"y.T[{a % 8}]", "y[::3]"]
            edits = [" *= 3", " = w.sum()", f" += {draw.randint(1, 9)}", ".relu_()"]
            lines.append(draw.choice(places) + draw.choice(edits))
        body = "\n".join([*lines, "return y, y[:, :4] * w"])
        try:
            right += difference(text(body), "f", [X, W], seed) < 1e-12
        except MirageError as error:
            assert error.code == "MIR208", body
            refused += 1
    assert right + refused == 60 and right >= 30


@pytest.mark.parametrize(
    "body",
    [
        "x[:, 0] = 1\nreturn x * 2",
        "y = x + 1\ny[:, 0] = 1\nx.mul_(2)\nreturn y",
        "y = x + 1\ny[:, 0] = 1\nx[2:4] = 0\nreturn y",
        "y = x + 1\ny[:, 0] = 1\nz = x.view(-1)\nz[3] = 0\nreturn y",
        "y = w.expand(6, 4)\nz = x + 1\nz[:, 0] = 1\ny.add_(1)\nreturn z",
        "y = torch.stack([x, x])[0]\ny = y + 1\ny[0] = 2\nF.relu(w, inplace=True)\nreturn y",
    ],
)
def test_an_input_is_never_written_to(body: str) -> None:
    """Also behind a write that is allowed, which is recorded in another way."""
    with pytest.raises(InPlaceEdit, match=r"`[xw]` is changed in place"):
        trace(text(body), "f", [X, W])


@pytest.mark.parametrize(
    "body",
    [
        "y = x + 1\ny[:, 1:].copy_(y[:, :-1])\nreturn y",
        "y = x + 1\ny[1:] = y[:-1]\nreturn y",
        "y = x + 1\ny[:, :4] = y[:, 2:6]\nreturn y",
        "y = x + 1\ny.view(-1)[2:].copy_(y.view(-1)[:-2])\nreturn y",
        "y = (x + 1)[:6, :6]\ny.copy_(y.T)\nreturn y",
    ],
)
def test_a_copy_over_itself_is_refused(body: str) -> None:
    """What PyTorch gives there depends on the order in which it copies."""
    with pytest.raises(UnsupportedOperands, match=r"copied to places that it is read from"):
        trace(text(body), "f", [X, W])


@pytest.mark.parametrize(
    "body",
    [
        "y = x + 1\ny[1:] = y[:-1].clone()\nreturn y",
        "y = x + 1\ny[:, 4:] = y[:, :4]\nreturn y",
        "y = x + 1\ny[:, 0::2] = y[:, 1::2]\nreturn y",
        "y = x + 1\ny[3:].copy_(y[:3])\nreturn y",
        "y = x + 1\ny[:] = y\nreturn y",
        "y = x + 1\ny[0] = y[1]\nreturn y",
    ],
)
def test_a_copy_beside_itself_is_what_pytorch_gives(body: str) -> None:
    assert difference(text(body), "f", [X, W]) < 1e-12


def test_what_a_mask_selects_stays_pytorchs_call() -> None:
    program = trace(text("y = x + 1\ny[x > 0] = 0.0\nreturn y"), "f", [X, W])
    assert any(n.op.startswith("aten.") for n in program.nodes)


def test_indices_that_strides_leave_are_no_run() -> None:
    """A step that does not divide the dim is PyTorch's own."""
    program = trace(text("y = x + 1\ny[:, 0::3] = 0.0\nreturn y"), "f", [X, W])
    assert [n.op for n in program.nodes if n.op.startswith("aten.")] == ["aten.slice_scatter.default"]
    with pytest.raises(MirageError):
        trace(text("y = x + 1\ny[:, 9] = 0.0\nreturn y"), "f", [X, W])


@pytest.mark.parametrize(
    "body",
    [
        "y = torch.empty_like(x)\ny[:, :7] = x[:, 1:]\nreturn y",
        "y = torch.empty_like(x)\ny[:, 0::2] = w\nreturn y",
        "y = torch.empty_like(x)\nz = y[:, :4] * 1\ny[:, :4] = w\ny[:, 4:] = z\nreturn y",
        "y = torch.empty_like(x)\ny[:3, :4] = 0\ny[3:, 4:] = 1\nreturn y",
    ],
)
def test_memory_that_is_read_before_it_is_written_has_no_value(body: str) -> None:
    """It is no zero: a function that gives zeros there gives something else."""
    program = trace(text(body), "f", [X, W])
    assert [n.op for n in program.nodes if n.op.startswith("aten.")] == ["aten.empty_like.default"]
