"""Decoder-only transformers as their authors published them (Llama 3.2, Qwen3), random weights and a cache written in place."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import nn


@dataclass(frozen=True)
class Shape:
    """The sizes of a model. `normed_heads`: queries and keys go through an RMS norm of each head (Qwen3). `stretch`: by how much Llama 3
    stretches its long rotary wavelengths (1: not)."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head: int
    ffn: int
    vocabulary: int
    theta: float
    eps: float
    normed_heads: bool = False
    stretch: float = 1.0

    def with_layers(self, layers: int) -> Shape:
        return replace(self, layers=layers)


MODELS = {
    "llama_1b": Shape(16, 2048, 32, 8, 64, 8192, 128256, 5e5, 1e-5, stretch=32.0),
    "qwen3_1.7b": Shape(28, 2048, 16, 8, 128, 6144, 151936, 1e6, 1e-6, normed_heads=True),
}
TINY = {
    "llama_1b": Shape(2, 64, 4, 2, 16, 128, 96, 5e5, 1e-5, stretch=32.0),
    "qwen3_1.7b": Shape(2, 64, 4, 2, 32, 96, 112, 1e6, 1e-6, normed_heads=True),
}


def frequencies(shape: Shape) -> torch.Tensor:
    """The rotary frequencies (head / 2), with Llama 3's stretching: those of wavelengths beyond 8192 are divided by it, those below
    2048 are kept, those between are mixed."""
    found = shape.theta ** -(torch.arange(0, shape.head, 2, dtype=torch.float64) / shape.head)
    if shape.stretch != 1.0:
        turns = 8192 * found / (2 * math.pi)  # of the original context
        kept = ((turns - 1.0) / (4.0 - 1.0)).clamp(0.0, 1.0)
        found = found * kept + found / shape.stretch * (1.0 - kept)
    return found


class RMSNorm(nn.Module):
    """In float32, as both models' authors compute it."""

    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(size)), eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = x if x.dtype == torch.float64 else x.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.eps)
        return self.weight * wide.to(x.dtype)


class Cache:
    """Keys and values of every layer, (batch, kv_heads, length, head) each, at addresses that stay."""

    def __init__(self, shape: Shape, batch: int, length: int, dtype: torch.dtype, device: str) -> None:
        size = (batch, shape.kv_heads, length, shape.head)
        self.keys = [torch.zeros(size, dtype=dtype, device=device) for _ in range(shape.layers)]
        self.values = [torch.zeros(size, dtype=dtype, device=device) for _ in range(shape.layers)]
        for x in (*self.keys, *self.values):
            torch._dynamo.mark_static_address(x)

    def update(
        self, k: torch.Tensor, v: torch.Tensor, layer: int, at: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write at the positions `at`, and give all."""
        keys, values = self.keys[layer], self.values[layer]
        keys.index_copy_(2, at, k)
        values.index_copy_(2, at, v)
        return keys, values


def rotate_half(x: torch.Tensor) -> torch.Tensor:
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), dim=-1)


def repeat_kv(x: torch.Tensor, times: int) -> torch.Tensor:
    batch, heads, length, size = x.shape
    return x[:, :, None].expand(batch, heads, times, length, size).reshape(batch, heads * times, length, size)


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor, way: str) -> torch.Tensor:
    """Grouped attention (batch, heads, rows, head) by PyTorch's own operator (`sdpa`: heads repeated; `gqa`: not) or `written` out."""
    times = q.shape[1] // k.shape[1]
    if way == "gqa":
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=times > 1)
    k, v = repeat_kv(k, times), repeat_kv(v, times)
    if way == "sdpa":
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    scores = scores.masked_fill(~mask, -math.inf)
    wide = torch.softmax(scores, dim=-1, dtype=torch.float64 if q.dtype == torch.float64 else torch.float32)
    return wide.to(q.dtype) @ v


class Attention(nn.Module):
    def __init__(self, shape: Shape, layer: int, way: str) -> None:
        super().__init__()
        self.shape, self.layer, self.way = shape, layer, way
        self.q_proj = nn.Linear(shape.hidden, shape.heads * shape.head, bias=False)
        self.k_proj = nn.Linear(shape.hidden, shape.kv_heads * shape.head, bias=False)
        self.v_proj = nn.Linear(shape.hidden, shape.kv_heads * shape.head, bias=False)
        self.o_proj = nn.Linear(shape.heads * shape.head, shape.hidden, bias=False)
        if shape.normed_heads:
            self.q_norm, self.k_norm = RMSNorm(shape.head, shape.eps), RMSNorm(shape.head, shape.eps)

    def forward(self, x, cos, sin, mask, cache: Cache, at):  # type: ignore[no-untyped-def]
        batch, rows, _ = x.shape
        q = self.q_proj(x).view(batch, rows, -1, self.shape.head)
        k = self.k_proj(x).view(batch, rows, -1, self.shape.head)
        v = self.v_proj(x).view(batch, rows, -1, self.shape.head).transpose(1, 2)
        if self.shape.normed_heads:
            q, k = self.q_norm(q), self.k_norm(k)
        q, k = q.transpose(1, 2), k.transpose(1, 2)
        q = q * cos + rotate_half(q) * sin
        k = k * cos + rotate_half(k) * sin
        keys, values = cache.update(k, v, self.layer, at)
        made = attention(q, keys, values, mask, self.way)
        return self.o_proj(made.transpose(1, 2).reshape(batch, rows, -1))


class MLP(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(shape.hidden, shape.ffn, bias=False)
        self.up_proj = nn.Linear(shape.hidden, shape.ffn, bias=False)
        self.down_proj = nn.Linear(shape.ffn, shape.hidden, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        made: torch.Tensor = self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))
        return made


class Layer(nn.Module):
    def __init__(self, shape: Shape, layer: int, way: str) -> None:
        super().__init__()
        self.self_attn, self.mlp = Attention(shape, layer, way), MLP(shape)
        self.input_layernorm = RMSNorm(shape.hidden, shape.eps)
        self.post_attention_layernorm = RMSNorm(shape.hidden, shape.eps)

    def forward(self, x, cos, sin, mask, cache: Cache, at):  # type: ignore[no-untyped-def]
        x = x + self.self_attn(self.input_layernorm(x), cos, sin, mask, cache, at)
        return x + self.mlp(self.post_attention_layernorm(x))


class Decoder(nn.Module):
    """Tokens (batch, rows) and their positions (rows) to the logits of the last (batch, vocabulary). The embedding is the last product's
    weight, as in both models."""

    def __init__(self, shape: Shape, way: str = "sdpa") -> None:
        super().__init__()
        self.shape = shape
        self.embed_tokens = nn.Embedding(shape.vocabulary, shape.hidden)
        self.layers = nn.ModuleList(Layer(shape, i, way) for i in range(shape.layers))
        self.norm = RMSNorm(shape.hidden, shape.eps)
        self.register_buffer("frequencies", frequencies(shape), persistent=False)

    def forward(self, tokens: torch.Tensor, at: torch.Tensor, cache: Cache) -> torch.Tensor:
        x = self.embed_tokens(tokens)
        angles = at[:, None].to(self.frequencies.dtype) * self.frequencies
        angles = torch.cat((angles, angles), dim=-1)
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        mask = torch.arange(cache.keys[0].shape[2], device=x.device) <= at[:, None]
        for layer in self.layers:
            x = layer(x, cos, sin, mask, cache, at)
        return F.linear(self.norm(x[:, -1]), self.embed_tokens.weight)


def made(shape: Shape, dtype: torch.dtype, device: str, way: str = "sdpa", seed: int = 0) -> Decoder:
    """A model with weights of the usual deviation, 0.02, drawn on the device; the same ones for a seed and a device."""
    with torch.device(device):
        model = Decoder(shape, way)
    generator = torch.Generator(device).manual_seed(seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if not name.endswith("norm.weight"):
                p.normal_(0.0, 0.02, generator=generator)
    model.frequencies = model.frequencies if dtype == torch.float64 else model.frequencies.float()
    for p in model.parameters():
        p.data = p.data.to(dtype)
    return model.eval()
