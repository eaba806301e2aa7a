"""What random modules are made of: a few lines each, over a hidden tensor `h` of shape (batch, tokens, D)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fragment:
    """`made`: lines of `__init__`; `run`: lines of `forward`, which may change `h` (not its shape or dtype), read the input `x`, the mask
    `m` (batch, tokens) or None, the ids `ids` (batch, tokens), and put tensors into the dict `extra`. `$` stands for a name of its own.
    `pure`: fits under `torch.func` and several threads: no state, no break, nothing random."""

    name: str
    run: str
    made: str = ""
    pure: bool = True


PRODUCTS = (
    Fragment("linear_gelu", "h = F.gelu(self.$(h))", "self.$ = nn.Linear(D, D)"),
    Fragment(
        "gated", "h = h + F.silu(self.$a(h)) * self.$b(h)", "self.$a = nn.Linear(D, D)\nself.$b = nn.Linear(D, D)"
    ),
    Fragment(
        "tied",
        "h = self.$b(torch.tanh(self.$a(h))) + h",
        "self.$a = nn.Linear(D, D, bias=False)\nself.$b = nn.Linear(D, D)\nself.$b.weight = self.$a.weight",
    ),
    Fragment(
        "einsum", 'h = torch.einsum("btd,de->bte", h, self.$) * 0.5', "self.$ = nn.Parameter(torch.randn(D, D) / 2)"
    ),
    Fragment(
        "attention",
        "q, k, v = self.$(h).chunk(3, -1)\nh = h + torch.softmax(q @ k.mT * D**-0.5, -1) @ v",
        "self.$ = nn.Linear(D, 3 * D)",
    ),
    Fragment(
        "fused_attention",
        "q, k, v = (t.unflatten(-1, (2, D // 2)).transpose(1, 2) for t in self.$(h).split(D, -1))\n"
        "h = h + F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)",
        "self.$ = nn.Linear(D, 3 * D)",
    ),
    Fragment(
        "layers",
        "for layer in self.$:\n    h = h + F.silu(layer(h))",
        "self.$ = nn.ModuleList(nn.Linear(D, D) for _ in range(3))",
    ),
    Fragment(
        "sequential",
        "h = self.$(h)",
        "self.$ = nn.Sequential(nn.LayerNorm(D), nn.Linear(D, 2 * D), nn.GELU(), nn.Linear(2 * D, D))",
    ),
    Fragment("shared_layer", "h = self.$(torch.relu(self.$(h))) + h", "self.$ = nn.Linear(D, D)"),
    Fragment("outer", "h = h + (h.mT @ h).softmax(-1).sum(1, keepdim=True) * 0.1"),
    Fragment(
        "expert_loop",
        "h = torch.stack([torch.tanh(h @ w) for w in self.$.unbind(0)]).mean(0)",
        "self.$ = nn.Parameter(torch.randn(3, D, D) / 2)",
    ),
)

POINTWISE = (
    Fragment("rms_norm", "h = F.rms_norm(h, (D,), self.$, 1e-6)", "self.$ = nn.Parameter(torch.linspace(0.5, 1.5, D))"),
    Fragment(
        "rms_by_hand",
        "h = h * torch.rsqrt(h.square().mean(-1, keepdim=True) + 1e-6) * self.$",
        "self.$ = nn.Parameter(torch.linspace(1.5, 0.5, D))",
    ),
    Fragment("layer_norm", "h = self.$(h) + h", "self.$ = nn.LayerNorm(D)"),
    Fragment("softmax", "h = torch.softmax(h, -1) * D + 0.1 * h"),
    Fragment("log_softmax", "h = h - 0.1 * F.log_softmax(h, 1)"),
    Fragment("square_relu", "h = torch.relu(h).square() - 0.3 * h"),
    Fragment("where", "h = torch.where(h > 0.25, h * 1.5, torch.sin(h))"),
    Fragment("clamp", "h = h.clamp(-2, 2) * torch.sigmoid(h)"),
    Fragment("normalize", "h = F.normalize(h, dim=-1) + 0.5 * h"),
    Fragment("leaky", "h = F.leaky_relu(h, 0.1) + F.softplus(h)"),
    Fragment("moments", "v, u = torch.var_mean(h, -1, keepdim=True)\nh = (h - u) / (v + 1).sqrt()"),
    Fragment("maximum", "h = torch.maximum(h, x) - torch.minimum(h, x) * 0.5"),
    Fragment("amax", "h = h / (h.abs().amax((1, 2), keepdim=True) + 1)"),
    Fragment("cumsum", "h = h + h.cumsum(1) * 0.1"),
    Fragment("double", "h = (h.double().exp() / 3).clamp(max=5).to(h.dtype)"),
    Fragment("round_trip", "h = h.to(torch.bfloat16).to(x.dtype) * 0.75"),
    Fragment(
        "buffer_table",
        "h = h + self.$[: h.shape[1]]",
        'self.register_buffer("$", torch.linspace(-1, 1, 16)[:, None].repeat(1, D), persistent=False)',
    ),
)

SHAPES = (
    Fragment("rotary", "a, b = h.chunk(2, -1)\nh = torch.cat([-b, a], -1) * 0.5 + h"),
    Fragment("stack", "h = torch.stack([h, h * 2, torch.sin(h)], 0).sum(0) * 0.4"),
    Fragment("split", "a, b = h.split([1, D - 1], -1)\nh = torch.cat([b * 2, a.exp()], -1)"),
    Fragment("expand", "h = h + h[:, :1].expand(-1, h.shape[1], -1) * 0.5"),
    Fragment("roll_flip", "h = torch.roll(h, 1, 1) + h.flip(-1) * 0.5"),
    Fragment("turned", "h = (h.transpose(1, 2).contiguous() * 2).transpose(1, 2) - h"),
    Fragment("einops_like", "h = h.reshape(h.shape[0], h.shape[1], 2, -1).transpose(2, 3).flatten(2) + h"),
    Fragment("pad", "h = F.pad(h, (0, 0, 1, 0))[:, :-1] * 0.5 + h"),
    Fragment("repeat", "h = h + torch.tanh(h[..., : D // 2]).repeat_interleave(2, -1)"),
    Fragment("triangle", "h = h + torch.ones(h.shape[1], h.shape[1], dtype=h.dtype).tril() @ h * 0.1"),
    Fragment("mask", "if m is not None:\n    h = h.masked_fill(m[..., None], 0.0)\nelse:\n    h = h * 1.25"),
    Fragment("select", "h = torch.where((ids % 3 == 0)[..., None], h, h * 0.5 - 1)"),
    Fragment("embedding", "h = h + self.$(ids)", "self.$ = nn.Embedding(16, D)"),
    Fragment("one_hot", "h = h + F.one_hot(ids % D, D).to(h.dtype)"),
    Fragment("gather", "h = h + h.gather(-1, (ids % D)[..., None]) * 0.5"),
)

WRITES = (
    Fragment("slice_scaled", "h = h.clone()\nh[..., : D // 2] *= 2"),
    Fragment("column_set", "h = h * 1.5\nh[..., 0] = 0.5"),
    Fragment("row_set", "h = h + 1\nh[:, 0] = x[:, 0] * 2"),
    Fragment("flat_view", "h = torch.sin(h)\nh.view(-1)[::2].add_(1)"),
    Fragment("relu_", "h = (h * 1.1).relu_().sub_(0.25)"),
    Fragment("masked_write", "h = h + 0.5\nh[h > 1] = 1.0"),
    Fragment("index_add", "h = (h * 1).index_add_(-1, torch.tensor([0, 2]), torch.cos(x[..., :2]))"),
    Fragment(
        "filled",
        "o = torch.empty_like(h)\no[..., ::2] = h[..., ::2].exp().clamp(max=3)\no[..., 1::2] = -h[..., 1::2]\nh = o",
    ),
    Fragment("view_kept", "o = h * 2\np = o[..., 1:3]\no += 1\nextra['$'] = p\nh = o * 0.5"),
)

STATE = (
    Fragment(
        "running_mean",
        "self.$.mul_(0.9).add_(h.detach().sum((0, 1)), alpha=0.01)\nh = h - self.$",
        'self.register_buffer("$", torch.zeros(D))',
        pure=False,
    ),
    Fragment(
        "counter",
        "self.$ += 1\nh = h * (1 + self.$ * 0.1)",
        'self.register_buffer("$", torch.zeros((), dtype=torch.int64))',
        pure=False,
    ),
    Fragment("calls", "self.$ += 1\nh = h + self.$ % 2", "self.$ = 0", pure=False),
    Fragment(
        "cache",
        "self.$[self.at$] = h.detach().mean((0, 1))\nself.at$ = (self.at$ + 1) % 4\nh = h + self.$.mean(0)",
        'self.register_buffer("$", torch.zeros(4, D), persistent=False)\nself.at$ = 0',
        pure=False,
    ),
    Fragment(
        "cache_by_tensor",
        "self.$.index_copy_(0, ids.flatten()[:1], h.detach()[:1, :1, :].flatten(0, 1) * 2)\nh = h + self.$.sum(0)",
        'self.register_buffer("$", torch.zeros(16, D))',
        pure=False,
    ),
    Fragment(
        "reassigned",
        "self.$ = self.$ * 0.5 + h.detach().amax((0, 1))\nh = h - self.$ * 0.1",
        'self.register_buffer("$", torch.zeros(D))',
        pure=False,
    ),
    Fragment("kept", "extra['$'] = self.$\nself.$ = torch.tanh(h.detach()) * 2", "self.$ = None", pure=False),
    Fragment("batch_norm", "h = h + self.$(h.flatten(0, 1)).view(h.shape)", "self.$ = nn.BatchNorm1d(D)", pure=False),
    Fragment("training", "if self.training:\n    h = h * 1.5\nelse:\n    h = h - 0.5"),
    Fragment("no_dropout", "h = F.dropout(h, 0.0, self.training) * 2", pure=False),
    Fragment("eval_dropout", "h = F.dropout(h, 0.5, False) + 1"),
)

FLOW = (
    Fragment("prints", 'h = torch.tanh(h) * 1.5\nprint("here", h.shape)', pure=False),
    Fragment("item", "if h.sum().item() > 0.1:\n    h = h * 2\nelse:\n    h = h - 1", pure=False),
    Fragment("scale_item", "h = h / (1 + h.detach().abs().max().item())", pure=False),
    Fragment("branch", "if h.mean() > 0.02:\n    h = torch.exp(-h * h)\nelse:\n    h = F.silu(h) * 2", pure=False),
    Fragment("graph_break", "h = h * h - 0.5\ntorch._dynamo.graph_break()\nh = torch.cos(h) + x", pure=False),
    Fragment("no_grad", "with torch.no_grad():\n    r = h.std() + 1\nh = h / r"),
    Fragment("detached", "h = h * torch.sigmoid(h.detach())"),
    Fragment(
        "autocast",
        'with torch.autocast("cpu", dtype=torch.bfloat16):\n    r = self.$(h)\nh = h + r.to(h.dtype)',
        "self.$ = nn.Linear(D, D)",
        pure=False,
    ),
    Fragment("raises", 'if h.shape[0] == 3:\n    raise ValueError("three")\nh = h * 0.9'),
    Fragment("hooked", "h = self.$(h)", "self.$ = nn.Linear(D, D)\nself.$.register_forward_hook(doubled)", pure=False),
    Fragment("kept_value", "extra['$'] = h\nh = F.gelu(h)"),
    Fragment("kept_view", "extra['$'] = h[:, -1:]\nh = h * h.mean()"),
    Fragment("kept_input", "extra['$'] = x\nh = h + x"),
    Fragment("kept_none", "extra['$'] = None if m is None else m.sum()"),
    Fragment("kept_numbers", "extra['$'] = [h.shape[0], h.dtype is x.dtype, (h > 0).sum(-1)]"),
    Fragment("list_comprehension", "h = sum([h * i for i in range(1, 4)]) / 6"),
)

KINDS = (PRODUCTS, POINTWISE, SHAPES, WRITES, STATE, FLOW)
