"""Each operator family: the lowered terms give PyTorch's float64 values, on prime sizes."""

from __future__ import annotations

import pytest
from program.numeric import HEAD, difference, expression

X, W, B = ("x", (5, 7)), ("w", (7, 11)), ("b", (11,))
SAME, ROW, MASK = ("y", (5, 7)), ("r", (7,)), ("m", (5, 7), "bool")
CUBE, HEADS = ("x", (2, 5, 6)), ("x", (3, 5, 14))
Q, K, V = ("q", (2, 6, 5, 7)), ("k", (2, 3, 11, 7)), ("v", (2, 3, 11, 13))
V6, K6 = ("v", (2, 6, 11, 13)), ("k", (2, 6, 11, 7))

CONTRACTION = {
    "x @ w": (X, W), "F.linear(x, w.T, b)": (X, W, B), "torch.addmm(b, x, w, beta=0.5, alpha=2.0)": (X, W, B),
    "x @ x.T": (X,), "(x @ x.T) @ x": (X,), "(x @ x.T).softmax(-1) @ x": (X,), "x[0] @ x[1]": (X,), "x @ x[0]": (X,),
    "torch.einsum('ij,jk->ki', x, w)": (X, W), "torch.einsum('...i,...i->...', x, y)": (X, SAME),
    "torch.einsum('ij,jk,k->i', x, w, b)": (X, W, B), "torch.outer(r, b)": (ROW, B), "torch.einsum('ij->j', x)": (X,),
    "torch.bmm(x, x.transpose(1, 2))": (CUBE,), "x @ x.mT": (CUBE,), "q @ k.repeat_interleave(2, 1).mT": (Q, K),
    "torch.mm(x, w)": (X, W), "torch.mv(x, r)": (X, ROW), "torch.dot(r, r)": (ROW,), "torch.tensordot(x, w, 1)": (X, W),
    "F.linear(x, w.T) @ w.T @ w": (X, W), "x @ torch.ones(7, 3, dtype=x.dtype)": (X,), "torch.einsum('ii->i', x @ x.T)": (X,),
    "torch.einsum('bij,jk->bik', x, w)": (("x", (2, 5, 7)), W), "torch.matmul(x, w)": (("x", (3, 1, 5, 7)), ("w", (2, 7, 3))),
}  # fmt: skip
REDUCTION = {
    "x.sum()": (X,), "x.sum(0)": (X,), "x.sum(-1, keepdim=True) * x": (X,), "x.mean((0, 1))": (X,), "x.mean(0)": (X,),
    "x.amax(-1)": (X,), "x.max(-1).values": (X,), "x.amin(0)": (X,), "x.max()": (X,), "x.var(-1)": (X,), "x.min(1)[0]": (X,),
    "x.var(0, unbiased=False)": (X,), "x.std(-1, keepdim=True)": (X,), "x.norm(dim=-1)": (X,), "x.norm(p=1, dim=0)": (X,),
    "torch.logsumexp(x, -1)": (X,), "torch.logsumexp(x, (0, 1), keepdim=True)": (X,), "torch.var_mean(x, -1)": (X,),
    "torch.linalg.vector_norm(x, float('inf'), -1)": (X,), "x.sum((0, 2))": (CUBE,), "x.sum(-1).sum(-1)": (CUBE,),
    "x.mean(-1, keepdim=True).expand(5, 7) @ w": (X, W), "torch.ones_like(x).sum(0)": (X,), "x.norm()": (X,),
    "m.sum(-1) + x.sum(-1)": (MASK, X),
}  # fmt: skip
POINTWISE = {
    f"{e}": (X,) for e in (
        "x + 1", "1 - x", "x * 2", "x / 3", "2 / x", "-x", "x ** 2", "x ** 3", "x.abs() ** 0.5", "x.abs() ** -1.5",
        "x.abs().pow(0.3)", "2 ** x", "x ** -2", "x.exp()", "x.abs().log()", "x.abs().sqrt()", "x.square().rsqrt()",
        "x.reciprocal()", "x.abs()", "x.sin() + x.cos()", "torch.erf(x)", "x.sigmoid()", "x.tanh()", "x.relu()",
        "F.relu6(4 * x)", "F.silu(x)", "F.gelu(x)", "F.gelu(x, approximate='tanh')", "x.clamp(-0.5, 0.5)",
        "x.clamp(min=0)", "torch.clamp_max(x, 0.1)", "F.softplus(x)", "F.leaky_relu(x)", "F.hardtanh(x)", "x.float()",
        "torch.where(x > 0, x, 0.0)", "x.masked_fill(x < 0, float('-inf'))", "(x > 0).to(x.dtype) * x", "x.exp2()",
        "torch.where((x > 0) & ~(x > 1), x, -x)", "torch.where((x <= -1) | (x >= 1), 1.0, x)", "x.square() - x.mul(x)",
        "torch.where(x == x, x, 0)", "torch.where(x != 0, 1.0, x)", "math.pi * x", "F.dropout(x, 0.5, training=False)",
        "x / math.sqrt(7)", "torch.rsub(x, 2.0, alpha=3)", "x.sub(1, alpha=2)", "x.abs().log().masked_fill(x > 9, 0)",
        "torch.floor(3 * x)", "torch.ceil(3 * x)", "torch.round(3 * x)", "torch.round((4 * x).round() / 2)",
        "torch.sign(x)", "F.logsigmoid(5 * x)",
        "torch.log(x)", "torch.sqrt(x)", "x.clone().contiguous()", "x * torch.tensor(0.3)", "x + torch.full((7,), 0.25)",
    )
}  # fmt: skip
POINTWISE |= {
    "x + y": (X, SAME), "x * r": (X, ROW), "torch.maximum(x, y)": (X, SAME), "torch.minimum(x, r)": (X, ROW),
    "torch.lerp(x, y, 0.3)": (X, SAME), "torch.lerp(x, y, r)": (X, SAME, ROW), "x.add(y, alpha=0.5)": (X, SAME),
    "torch.addcmul(x, y, r, value=0.5)": (X, SAME, ROW), "torch.where(m, x, y)": (MASK, X, SAME),
    "x.masked_fill(m, 0.0)": (X, MASK), "x * m": (X, MASK), "torch.addcdiv(x, y, x)": (X, SAME),
}  # fmt: skip
SHAPE = {
    "x.reshape(7, 5)": (("x", (35, 1)),), "x.view(2, 5, 3, 2).transpose(1, 2)": (CUBE,), "x.flatten()": (CUBE,),
    "x.T": (X,), "x.permute(2, 0, 1)": (CUBE,), "x.movedim(0, 1)": (CUBE,), "x.swapaxes(0, 2)": (CUBE,),
    "x[None].squeeze(0)": (X,), "x.unflatten(-1, (2, 3)).flatten(0, 2)": (CUBE,), "x.expand(3, 5, 7)": (X,),
    "x.repeat_interleave(3, dim=1)": (X,), "x.repeat(2, 3)": (X,), "x.tile(2)": (X,), "x.repeat_interleave(2)": (X,),
    "torch.cat([x, y], 1)": (X, SAME), "torch.cat([x, 2 * y, x @ x.T @ y], 0)": (X, SAME), "torch.stack([x, y], 1)": (X, SAME),
    "x[1:3]": (X,), "x[:, -3:]": (X,), "x[2]": (X,), "x[..., 4] * 2": (X,), "(x @ w)[1:4, 2:9]": (X, W), "x.narrow(1, 2, 3)": (X,),
    "x[:, 2:5].softmax(-1)": (X,), "x.chunk(2, -1)[0] * x.chunk(2, -1)[1]": (CUBE,), "x.split([2, 3], 0)[1]": (X,),
    "x.unbind(0)[1] * x.unbind(0)[2]": (X,), "x.exp()[1:].sum(0)": (X,), "x[:, ::2]": (("x", (5, 8)),), "x[..., 1::2]": (CUBE,),
    "x.view(3, 5, 2, 7)[:, :, 1].transpose(0, 1)": (HEADS,), "x.view(3, 5, 2, 7).sum(2)": (HEADS,),
    "torch.cat([-x[..., 3:], x[..., :3]], -1) * x": (CUBE,), "torch.cat([x, y], 1)[:, 4:10]": (X, SAME),
    "torch.cat([x, y], 1) @ torch.cat([w, w], 0)": (X, SAME, W), "torch.cat([x, y], 0).softmax(0)": (X, SAME),
    "x.tril()": (X,), "x.triu(1)": (X,), "x * torch.tril(torch.ones(5, 7))": (X,), "x + torch.arange(7)": (X,),
    "x.masked_fill(torch.arange(7)[None] > torch.arange(5)[:, None], float('-inf')).exp()": (X,),
    "x * torch.linspace(-1, 2, 7)": (X,), "x + torch.linspace(5, 1, 5)[:, None]": (X,), "x * torch.linspace(3, 9, 1)": (X,),
    "x.tensor_split(3, -1)[1]": (X,), "torch.cat(x.tensor_split((2, -2), 1)[::-1], 1)": (X,),
    "x + torch.zeros(7, dtype=torch.long)": (X,), "x * torch.ones_like(x, dtype=torch.int32)": (X,),
    "x + torch.full((7,), -1.7, dtype=torch.long)": (X,), "x * x.new_full((5, 1), 2.9, dtype=torch.int64)": (X,),
    "torch.zeros(5, 7) + x": (X,), "x + torch.arange(1, 14, 2, dtype=torch.float64)": (X,),
    "x.view(2, 5, 2, 3)[:, 1:4, 0].reshape(2, 9)": (CUBE,), "x.view(2, 5, 3, 2)[..., 1] * 2": (CUBE,),
    "torch.stack([-x.view(2, 5, 3, 2)[..., 1], x.view(2, 5, 3, 2)[..., 0]], -1).view(2, 5, 6) * x": (CUBE,),
    "x.view(2, 5, 2, 3)[..., 1:].sum(0).flatten(1)": (CUBE,), "x.view(2, 5, 3, 2)[:, 1, :, 0].amax(0)": (CUBE,),
    "torch.broadcast_tensors(x, r)[1] * x": (X, ROW), "torch.broadcast_tensors(r, x, b[:1])[0] @ w": (X, ROW, B, W),
}  # fmt: skip
COMPOSITE = {
    "torch.softmax(x, -1)": (X,), "x.softmax(0)": (X,), "x.log_softmax(-1)": (X,), "F.rms_norm(x, (7,))": (X,),
    "F.rms_norm(x, (7,), r, 1e-3)": (X, ROW), "F.layer_norm(x, (7,), r, r)": (X, ROW), "F.layer_norm(x, (5, 7))": (X,),
    "F.layer_norm(x, (7,), None, r)": (X, ROW), "F.normalize(x, dim=-1)": (X,), "F.normalize(x, dim=0) @ w": (X, W),
    "F.softmin(x, -1)": (X,), "F.layer_norm(x, (7,), r)": (X, ROW),
    "F.scaled_dot_product_attention(q, k, v, enable_gqa=True)": (Q, K, V),
    "F.scaled_dot_product_attention(q, k, v, is_causal=True)": (Q, K6, V6),
    "F.scaled_dot_product_attention(q, k, v, attn_mask=m)": (Q, K6, V6, ("m", (5, 11), "bool")),
    "F.scaled_dot_product_attention(q, k, v, attn_mask=m, scale=0.3)": (Q, K6, V6, ("m", (2, 1, 5, 11))),
    "F.scaled_dot_product_attention(q, k, v, attn_mask=m, enable_gqa=True)": (Q, K, V, ("m", (5, 11), "bool")),
    "F.batch_norm(x, r, r.abs(), r, r, eps=1e-3)": (X, ROW), "F.batch_norm(x, r, r.abs())": (("x", (3, 7, 5)), ROW),
    "F.batch_norm(x, r, r.abs(), None, r, training=False).relu()": (("x", (2, 7, 3, 2)), ROW),
    "F.rms_norm(x, (7,), r, 1e-6) @ w": (X, ROW, W), "F.linear(F.layer_norm(x, (7,), r, r), w.T, b)": (X, ROW, W, B),
}  # fmt: skip
LABEL, LABELS = ("n", (5,), "int64"), ("n", (2, 6), "int64")
SELECTION = {
    "x.gather(1, n[:, None])": (X, LABEL), "torch.gather(x, 0, n[None, :]).squeeze(0)": (X, ("n", (7,), "int64")),
    "(x.logsumexp(-1) - x.gather(-1, n.unsqueeze(1)).squeeze(1)).mean()": (X, LABEL),
    "torch.where(F.one_hot(n, 7).bool(), x, 1.0)": (X, LABEL), "F.one_hot(n, 7).to(x.dtype).mean(0) * x": (X, LABEL),
    "x.masked_fill(torch.eye(5, 7, dtype=torch.bool), 0.5)": (X,), "2 * torch.eye(7, dtype=x.dtype) @ w": (X, W),
    "torch.diagonal(x @ x.T)": (X,), "torch.diagonal(x, 2)": (X,), "torch.diagonal(x, -3)": (X,), "x.diagonal(1, 2, 1)": (CUBE,),
    "x.diagonal(0, 0, 2) * 2": (CUBE,), "(x - 1).diagonal(-2).sum()": (X,),
}  # fmt: skip
LOSSES = {
    "F.mse_loss(x, y)": (X, SAME), "F.mse_loss(x, y, reduction='sum')": (X, SAME), "F.mse_loss(x, r, reduction='none')": (X, ROW),
    "F.huber_loss(x, y)": (X, SAME), "F.huber_loss(x, y, delta=0.3, reduction='none')": (X, SAME),
    "F.smooth_l1_loss(x, y, beta=0.7)": (X, SAME), "F.smooth_l1_loss(x, y, reduction='sum')": (X, SAME),
    "F.kl_div(x.log_softmax(-1), y.softmax(-1), reduction='batchmean')": (X, SAME), "F.kl_div(x, y.relu(), reduction='none')": (X, SAME),
    "F.kl_div(x, y, log_target=True)": (X, SAME), "F.binary_cross_entropy_with_logits(x, y.sigmoid())": (X, SAME),
    "F.binary_cross_entropy_with_logits(3 * x, m.to(x.dtype), pos_weight=r.abs(), reduction='none')": (X, MASK, ROW),
    "F.cross_entropy(x, n)": (X, LABEL), "F.cross_entropy(x, n, label_smoothing=0.1)": (X, LABEL),
    "F.cross_entropy(x, n, ignore_index=2)": (X, LABEL),
    "F.cross_entropy(x, n, ignore_index=1, label_smoothing=0.2, reduction='sum')": (X, LABEL),
    "F.cross_entropy(x, n, reduction='none')": (X, LABEL), "F.nll_loss(x, n, ignore_index=3, reduction='none') @ x": (X, LABEL),
    "F.cross_entropy(x, n, ignore_index=1, label_smoothing=0.2, reduction='none').mean()": (CUBE, LABELS),
    "F.cross_entropy(x * 1, n)": (CUBE, LABELS), "F.nll_loss(x.log_softmax(-1), n)": (X, LABEL),
    "F.nll_loss(x, n, ignore_index=3, reduction='sum')": (X, LABEL), "F.cross_entropy(x @ x.T, torch.arange(5))": (X,),
}  # fmt: skip
COMPOSITE |= {
    "F.glu(x, 1)": (("x", (5, 8)),), "F.glu(x)": (CUBE,), "F.glu(x @ w.T, 0)": (("x", (6, 11)), W),
    "F.group_norm(x, 3)": (("x", (2, 6, 5)),), "F.group_norm(x, 2, r, r, 1e-3)": (("x", (2, 6, 3, 5)), ("r", (6,))),
    "F.silu(F.group_norm(x + 1, 3, None, r))": (("x", (2, 6, 5)), ("r", (6,))), "F.group_norm(x, 7, r)": (X, ROW),
}  # fmt: skip
CASES = [
    pytest.param(text, given, id=f"{family}: {text}")
    for family, cases in (("contraction", CONTRACTION), ("reduction", REDUCTION), ("pointwise", POINTWISE),
                          ("shape", SHAPE), ("composite", COMPOSITE), ("selection", SELECTION), ("loss", LOSSES))
    for text, given in cases.items()
]  # fmt: skip


@pytest.mark.parametrize(("text", "given"), CASES)
def test_family(text: str, given: tuple[tuple[str, tuple[int, ...]], ...]) -> None:
    tolerance = 3e-7 if "float()" in text or "0.3)" in text or "arange" in text else 1e-11
    assert expression(text, *given) < tolerance


def test_another_meaning_is_told_apart() -> None:
    """The comparison itself rejects: the same program read with two operands exchanged differs."""
    text = f"{HEAD}def f(x, y):\n    return x - 2 * y\n"
    assert difference(text, "f", [("x", (5, 7), "fp64"), ("y", (5, 7), "fp64")]) < 1e-12
    from program.numeric import draw, eager, values
    from workloads.traced import trace

    given = [("x", (5, 7), "fp64"), ("y", (5, 7), "fp64")]
    inputs = draw(given)
    program = trace(text.replace("x - 2 * y", "y - 2 * x"), "f", given)
    assert abs(values(program, inputs)[0] - eager(text, "f", given, inputs)[0]).max() > 0.1
