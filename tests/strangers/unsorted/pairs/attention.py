"""Pairs of a hostile reviewer."""
import math

import torch
import torch.nn.functional as F

import mirage


@mirage.optimize(inputs=[((64, 64), 'fp32')])
def sm_dim_a(x):
    return x.softmax(-1)


@mirage.optimize(inputs=[((64, 64), 'fp32')])
def sm_dim_b(x):
    return x.softmax(0)


@mirage.optimize(inputs=[((16, 16, 16), 'fp32')])
def sm_batch_dim_a(x):
    return F.softmax(x, dim=1)


@mirage.optimize(inputs=[((16, 16, 16), 'fp32')])
def sm_batch_dim_b(x):
    return F.softmax(x, dim=2)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def sm_default_temp_a(x):
    return F.softmax(x / 0.7, -1)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def sm_default_temp_b(x):
    return F.softmax(x * 0.7, -1)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def lsm_vs_log_a(x):
    return F.log_softmax(x, -1)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def lsm_vs_log_b(x):
    return torch.log(F.softmax(x, -1) + 1e-4)


@mirage.optimize(inputs=[((4, 4096), 'fp32')])
def sm_drop_last_a(x):
    return x.softmax(-1)


@mirage.optimize(inputs=[((4, 4096), 'fp32')])
def sm_drop_last_b(x):
    return torch.cat([x[:, :4095].softmax(-1), torch.zeros_like(x[:, :1])], -1)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def sm_max_first_a(x):
    return x.softmax(-1)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def sm_max_first_b(x):
    return torch.exp(x - x[:, :1]) / torch.exp(x - x.amax(-1, keepdim=True)).sum(-1, keepdim=True)


@mirage.optimize(inputs=[((64, 64), 'fp32')])
def causal_off1_a(x):
    return x.masked_fill(torch.ones(64, 64, dtype=torch.bool).triu(1), float('-inf')).softmax(-1)


@mirage.optimize(inputs=[((64, 64), 'fp32')])
def causal_off1_b(x):
    return x.masked_fill(torch.ones(64, 64, dtype=torch.bool).triu(2), float('-inf')).softmax(-1)


@mirage.optimize(inputs=[((64, 64), 'fp32')])
def window_off1_a(x):
    i = torch.arange(64)
    d = i[:, None] - i[None]
    return torch.where((d >= 0) & (d < 8), x, -1e9).softmax(-1)


@mirage.optimize(inputs=[((64, 64), 'fp32')])
def window_off1_b(x):
    i = torch.arange(64)
    d = i[:, None] - i[None]
    return torch.where((d >= 0) & (d <= 8), x, -1e9).softmax(-1)


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 64), 'bool')])
def mask_big_not_inf_a(x, y):
    return x.masked_fill(y, float('-inf')).softmax(-1)


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 64), 'bool')])
def mask_big_not_inf_b(x, y):
    return x.masked_fill(y, -3.0).softmax(-1)


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 64), 'bool')])
def mask_inverted_a(x, y):
    return x.masked_fill(y, -1e9).softmax(-1)


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 64), 'bool')])
def mask_inverted_b(x, y):
    return x.masked_fill(~y, -1e9).softmax(-1)


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 64), 'bool')])
def mask_mult_a(x, y):
    return x.masked_fill(~y, float('-inf')).softmax(-1)


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 64), 'bool')])
def mask_mult_b(x, y):
    return x.softmax(-1) * y


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 64), 'fp32')])
def scale_after_mask_a(x, y):
    return (x * 0.125 + y).softmax(-1)


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 64), 'fp32')])
def scale_after_mask_b(x, y):
    return ((x + y) * 0.125).softmax(-1)


@mirage.optimize(inputs=[((4, 4096), 'fp32')])
def sm_one_col_4000_a(x):
    return x.softmax(-1)


@mirage.optimize(inputs=[((4, 4096), 'fp32')])
def sm_one_col_4000_b(x):
    return (x + (torch.arange(4096) == 4000) * 0.5).softmax(-1)


@mirage.optimize(inputs=[((4, 4096), 'fp32')])
def lse_mean_a(x):
    return x.logsumexp(-1)


@mirage.optimize(inputs=[((4, 4096), 'fp32')])
def lse_mean_b(x):
    return x.exp().mean(-1).log()


@mirage.optimize(inputs=[((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32')])
def attn_scale_d_a(x, y, z):
    return F.scaled_dot_product_attention(x, y, z)


@mirage.optimize(inputs=[((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32')])
def attn_scale_d_b(x, y, z):
    return ((x @ y.mT) / 32 ** 0.25).softmax(-1) @ z


@mirage.optimize(inputs=[((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32')])
def attn_scale_default_a(x, y, z):
    return F.scaled_dot_product_attention(x, y, z)


@mirage.optimize(inputs=[((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32')])
def attn_scale_default_b(x, y, z):
    return F.scaled_dot_product_attention(x, y, z, scale=0.1767)


@mirage.optimize(inputs=[((4, 32, 32), 'fp32'), ((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32')])
def attn_causal_lower_right_a(x, y, z):
    return F.scaled_dot_product_attention(x, y, z, is_causal=True)


@mirage.optimize(inputs=[((4, 32, 32), 'fp32'), ((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32')])
def attn_causal_lower_right_b(x, y, z):
    i = torch.arange(32)[:, None] + 16
    j = torch.arange(48)[None]
    return F.scaled_dot_product_attention(x, y, z, attn_mask=i >= j)


@mirage.optimize(inputs=[((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32')])
def attn_kv_swap_a(x, y, z):
    return F.scaled_dot_product_attention(x, y, z)


@mirage.optimize(inputs=[((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32')])
def attn_kv_swap_b(x, y, z):
    return F.scaled_dot_product_attention(x, z, y)


@mirage.optimize(inputs=[((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32')])
def attn_softmax_q_a(x, y, z):
    return ((x @ y.mT) * 0.2).softmax(-1) @ z


@mirage.optimize(inputs=[((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32')])
def attn_softmax_q_b(x, y, z):
    return ((x @ y.mT) * 0.2).softmax(-2) @ z


@mirage.optimize(inputs=[((1, 8, 16, 32), 'fp32'), ((1, 2, 24, 32), 'fp32'), ((1, 2, 24, 32), 'fp32')])
def gqa_repeat_a(x, y, z):
    return F.scaled_dot_product_attention(x, y.repeat_interleave(4, 1), z.repeat_interleave(4, 1))


@mirage.optimize(inputs=[((1, 8, 16, 32), 'fp32'), ((1, 2, 24, 32), 'fp32'), ((1, 2, 24, 32), 'fp32')])
def gqa_repeat_b(x, y, z):
    return F.scaled_dot_product_attention(x, y.repeat(1, 4, 1, 1), z.repeat(1, 4, 1, 1))


@mirage.optimize(inputs=[((1, 4, 16, 32), 'fp32'), ((1, 2, 24, 32), 'fp32'), ((1, 2, 24, 32), 'fp32')])
def gqa_v_only_a(x, y, z):
    return F.scaled_dot_product_attention(x, y, z, enable_gqa=True)


@mirage.optimize(inputs=[((1, 4, 16, 32), 'fp32'), ((1, 2, 24, 32), 'fp32'), ((1, 2, 24, 32), 'fp32')])
def gqa_v_only_b(x, y, z):
    return F.scaled_dot_product_attention(x, y.repeat_interleave(2, 1), z.repeat(1, 2, 1, 1))


@mirage.optimize(inputs=[((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32')])
def one_head_scale_a(x, y, z):
    return F.scaled_dot_product_attention(x, y, z)


@mirage.optimize(inputs=[((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32')])
def one_head_scale_b(x, y, z):
    s = (x @ y.mT) * 32 ** -0.5
    s = s * torch.where(torch.arange(4) == 3, 1.05, 1.0)[:, None, None]
    return s.softmax(-1) @ z


@mirage.optimize(inputs=[((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32')])
def sink_a(x, y, z):
    return ((x @ y.mT) * 0.2).softmax(-1) @ z


@mirage.optimize(inputs=[((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32')])
def sink_b(x, y, z):
    s = ((x @ y.mT) * 0.2).exp()
    return (s / (1 + s.sum(-1, keepdim=True))) @ z


@mirage.optimize(inputs=[((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32')])
def alibi_sign_a(x, y, z):
    i = torch.arange(48)
    return ((x @ y.mT) * 0.2 - 0.1 * (i[:, None] - i[None]).abs()).softmax(-1) @ z


@mirage.optimize(inputs=[((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32')])
def alibi_sign_b(x, y, z):
    i = torch.arange(48)
    return ((x @ y.mT) * 0.2 - 0.1 * (i[:, None] - i[None])).softmax(-1) @ z


@mirage.optimize(inputs=[((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32')])
def softcap_a(x, y, z):
    s = (x @ y.mT) * 0.2
    return (30 * torch.tanh(s / 30)).softmax(-1) @ z


@mirage.optimize(inputs=[((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32')])
def softcap_b(x, y, z):
    s = (x @ y.mT) * 0.2
    return (20 * torch.tanh(s / 20)).softmax(-1) @ z


@mirage.optimize(inputs=[((4, 16, 32), 'fp32'), ((16, 32), 'fp32'), ((16, 32), 'fp32')])
def rope_halves_a(x, y, z):
    return x * y + torch.cat([-x[..., 16:], x[..., :16]], -1) * z


@mirage.optimize(inputs=[((4, 16, 32), 'fp32'), ((16, 32), 'fp32'), ((16, 32), 'fp32')])
def rope_halves_b(x, y, z):
    r = torch.stack([-x[..., 1::2], x[..., ::2]], -1).flatten(-2)
    return x * y + r * z


@mirage.optimize(inputs=[((4, 16, 32), 'fp32'), ((16, 32), 'fp32'), ((16, 32), 'fp32')])
def rope_sign_a(x, y, z):
    return x * y + torch.cat([-x[..., 16:], x[..., :16]], -1) * z


@mirage.optimize(inputs=[((4, 16, 32), 'fp32'), ((16, 32), 'fp32'), ((16, 32), 'fp32')])
def rope_sign_b(x, y, z):
    return x * y + torch.cat([x[..., 16:], -x[..., :16]], -1) * z


@mirage.optimize(inputs=[((16, 32), 'fp32')])
def rope_pos1_a(x):
    p = torch.arange(16)[:, None] * 10000.0 ** (-torch.arange(16) / 16)[None]
    return torch.cat([x[:, :16] * p.cos() - x[:, 16:] * p.sin(), x[:, 16:] * p.cos() + x[:, :16] * p.sin()], -1)


@mirage.optimize(inputs=[((16, 32), 'fp32')])
def rope_pos1_b(x):
    p = (torch.arange(16) + 1)[:, None] * 10000.0 ** (-torch.arange(16) / 16)[None]
    return torch.cat([x[:, :16] * p.cos() - x[:, 16:] * p.sin(), x[:, 16:] * p.cos() + x[:, :16] * p.sin()], -1)


@mirage.optimize(inputs=[((16, 32), 'fp32')])
def rope_base_a(x):
    p = torch.arange(16)[:, None] * 10000.0 ** (-torch.arange(16) / 16)[None]
    return x * torch.cat([p, p], -1).cos()


@mirage.optimize(inputs=[((16, 32), 'fp32')])
def rope_base_b(x):
    p = torch.arange(16)[:, None] * 10000.0 ** (-torch.arange(16) / 15)[None]
    return x * torch.cat([p, p], -1).cos()


CASES = [
    {'name': 'sm_dim', 'class': 'dim', 'a': 'sm_dim_a', 'b': 'sm_dim_b', 'inputs': [((64, 64), 'fp32')], 'equal': False, 'why': 'dim of a square', 'draw': []},
    {'name': 'sm_batch_dim', 'class': 'dim', 'a': 'sm_batch_dim_a', 'b': 'sm_batch_dim_b', 'inputs': [((16, 16, 16), 'fp32')], 'equal': False, 'why': 'dim of a cube', 'draw': []},
    {'name': 'sm_default_temp', 'class': 'constant', 'a': 'sm_default_temp_a', 'b': 'sm_default_temp_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'temperature inverted', 'draw': []},
    {'name': 'lsm_vs_log', 'class': 'function', 'a': 'lsm_vs_log_a', 'b': 'lsm_vs_log_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'eps in log', 'draw': []},
    {'name': 'sm_drop_last', 'class': 'position', 'a': 'sm_drop_last_a', 'b': 'sm_drop_last_b', 'inputs': [((4, 4096), 'fp32')], 'equal': False, 'why': 'last column left out', 'draw': []},
    {'name': 'sm_max_first', 'class': 'function', 'a': 'sm_max_first_a', 'b': 'sm_max_first_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'another shift above than below', 'draw': []},
    {'name': 'causal_off1', 'class': 'mask', 'a': 'causal_off1_a', 'b': 'causal_off1_b', 'inputs': [((64, 64), 'fp32')], 'equal': False, 'why': 'diagonal off by one', 'draw': []},
    {'name': 'window_off1', 'class': 'mask', 'a': 'window_off1_a', 'b': 'window_off1_b', 'inputs': [((64, 64), 'fp32')], 'equal': False, 'why': 'window 8 or 9', 'draw': []},
    {'name': 'mask_big_not_inf', 'class': 'mask', 'a': 'mask_big_not_inf_a', 'b': 'mask_big_not_inf_b', 'inputs': [((8, 64), 'fp32'), ((8, 64), 'bool')], 'equal': False, 'why': '-3 is no mask', 'draw': []},
    {'name': 'mask_inverted', 'class': 'mask', 'a': 'mask_inverted_a', 'b': 'mask_inverted_b', 'inputs': [((8, 64), 'fp32'), ((8, 64), 'bool')], 'equal': False, 'why': 'inverted', 'draw': []},
    {'name': 'mask_mult', 'class': 'mask', 'a': 'mask_mult_a', 'b': 'mask_mult_b', 'inputs': [((8, 64), 'fp32'), ((8, 64), 'bool')], 'equal': False, 'why': 'not renormalized', 'draw': []},
    {'name': 'scale_after_mask', 'class': 'mask', 'a': 'scale_after_mask_a', 'b': 'scale_after_mask_b', 'inputs': [((8, 64), 'fp32'), ((8, 64), 'fp32')], 'equal': False, 'why': 'scale after the additive mask', 'draw': []},
    {'name': 'sm_one_col_4000', 'class': 'position', 'a': 'sm_one_col_4000_a', 'b': 'sm_one_col_4000_b', 'inputs': [((4, 4096), 'fp32')], 'equal': False, 'why': 'one column', 'draw': []},
    {'name': 'lse_mean', 'class': 'denominator', 'a': 'lse_mean_a', 'b': 'lse_mean_b', 'inputs': [((4, 4096), 'fp32')], 'equal': False, 'why': 'log n off', 'draw': []},
    {'name': 'attn_scale_d', 'class': 'attention', 'a': 'attn_scale_d_a', 'b': 'attn_scale_d_b', 'inputs': [((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32')], 'equal': False, 'why': 'scale', 'draw': []},
    {'name': 'attn_scale_default', 'class': 'attention', 'a': 'attn_scale_default_a', 'b': 'attn_scale_default_b', 'inputs': [((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32')], 'equal': False, 'why': "scale's 4th digit .17678", 'draw': []},
    {'name': 'attn_causal_lower_right', 'class': 'attention', 'a': 'attn_causal_lower_right_a', 'b': 'attn_causal_lower_right_b', 'inputs': [((4, 32, 32), 'fp32'), ((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32')], 'equal': False, 'why': 'upper left or lower right causality', 'draw': []},
    {'name': 'attn_kv_swap', 'class': 'attention', 'a': 'attn_kv_swap_a', 'b': 'attn_kv_swap_b', 'inputs': [((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32')], 'equal': False, 'why': 'k and v', 'draw': []},
    {'name': 'attn_softmax_q', 'class': 'attention', 'a': 'attn_softmax_q_a', 'b': 'attn_softmax_q_b', 'inputs': [((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32')], 'equal': False, 'why': 'over queries', 'draw': []},
    {'name': 'gqa_repeat', 'class': 'attention', 'a': 'gqa_repeat_a', 'b': 'gqa_repeat_b', 'inputs': [((1, 8, 16, 32), 'fp32'), ((1, 2, 24, 32), 'fp32'), ((1, 2, 24, 32), 'fp32')], 'equal': False, 'why': 'heads mapped otherwise', 'draw': []},
    {'name': 'gqa_v_only', 'class': 'attention', 'a': 'gqa_v_only_a', 'b': 'gqa_v_only_b', 'inputs': [((1, 4, 16, 32), 'fp32'), ((1, 2, 24, 32), 'fp32'), ((1, 2, 24, 32), 'fp32')], 'equal': False, 'why': "v's heads alone mapped otherwise", 'draw': []},
    {'name': 'one_head_scale', 'class': 'position', 'a': 'one_head_scale_a', 'b': 'one_head_scale_b', 'inputs': [((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32')], 'equal': False, 'why': 'last head alone', 'draw': []},
    {'name': 'sink', 'class': 'attention', 'a': 'sink_a', 'b': 'sink_b', 'inputs': [((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32')], 'equal': False, 'why': 'softmax1', 'draw': []},
    {'name': 'alibi_sign', 'class': 'attention', 'a': 'alibi_sign_a', 'b': 'alibi_sign_b', 'inputs': [((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32')], 'equal': False, 'why': 'alibi without abs', 'draw': []},
    {'name': 'softcap', 'class': 'attention', 'a': 'softcap_a', 'b': 'softcap_b', 'inputs': [((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32')], 'equal': False, 'why': 'cap', 'draw': []},
    {'name': 'rope_halves', 'class': 'rope', 'a': 'rope_halves_a', 'b': 'rope_halves_b', 'inputs': [((4, 16, 32), 'fp32'), ((16, 32), 'fp32'), ((16, 32), 'fp32')], 'equal': False, 'why': 'halves or interleaved', 'draw': []},
    {'name': 'rope_sign', 'class': 'rope', 'a': 'rope_sign_a', 'b': 'rope_sign_b', 'inputs': [((4, 16, 32), 'fp32'), ((16, 32), 'fp32'), ((16, 32), 'fp32')], 'equal': False, 'why': 'sign', 'draw': []},
    {'name': 'rope_pos1', 'class': 'rope', 'a': 'rope_pos1_a', 'b': 'rope_pos1_b', 'inputs': [((16, 32), 'fp32')], 'equal': False, 'why': 'positions from one', 'draw': []},
    {'name': 'rope_base', 'class': 'rope', 'a': 'rope_base_a', 'b': 'rope_base_b', 'inputs': [((16, 32), 'fp32')], 'equal': False, 'why': 'exponent over n-1', 'draw': []},
]
