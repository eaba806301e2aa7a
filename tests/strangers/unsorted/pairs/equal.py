"""Pairs of a hostile reviewer."""
import math

import torch
import torch.nn.functional as F

import mirage


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_rms_a(x):
    return F.rms_norm(x, (64,), eps=1e-6)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_rms_b(x):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_rms_sum_a(x):
    return F.rms_norm(x, (64,), eps=1e-6)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_rms_sum_b(x):
    return x * 8 / (x.pow(2).sum(-1, keepdim=True) + 64e-6).sqrt()


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_ln_a(x):
    return F.layer_norm(x, (64,))


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_ln_b(x):
    return (x - x.mean(-1, keepdim=True)) / (x.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()


@mirage.optimize(inputs=[((64, 64), 'fp32')])
def e_ln_t_a(x):
    return F.layer_norm(x, (64,))


@mirage.optimize(inputs=[((64, 64), 'fp32')])
def e_ln_t_b(x):
    d = x.t() - x.t().mean(0)
    return (d / (d.pow(2).mean(0) + 1e-5).sqrt()).t().contiguous()


@mirage.optimize(inputs=[((4, 32, 16), 'fp32')])
def e_gn_a(x):
    return F.group_norm(x, 4)


@mirage.optimize(inputs=[((4, 32, 16), 'fp32')])
def e_gn_b(x):
    return F.layer_norm(x.view(4, 4, 128), (128,)).view(4, 32, 16)


@mirage.optimize(inputs=[((4, 32, 16), 'fp32')])
def e_gn1_a(x):
    return F.group_norm(x, 1)


@mirage.optimize(inputs=[((4, 32, 16), 'fp32')])
def e_gn1_b(x):
    return F.layer_norm(x, (32, 16))


@mirage.optimize(inputs=[((4, 8, 16), 'fp32')])
def e_in_a(x):
    return F.instance_norm(x)


@mirage.optimize(inputs=[((4, 8, 16), 'fp32')])
def e_in_b(x):
    return F.group_norm(x, 8)


@mirage.optimize(inputs=[((4, 4096), 'fp32')])
def e_var_a(x):
    return x.var(-1)


@mirage.optimize(inputs=[((4, 4096), 'fp32')])
def e_var_b(x):
    return x.var(-1, unbiased=False) * (4096 / 4095)


@mirage.optimize(inputs=[((4, 4096), 'fp32')])
def e_std_a(x):
    return x.std(-1)


@mirage.optimize(inputs=[((4, 4096), 'fp32')])
def e_std_b(x):
    return (x - x.mean(-1, keepdim=True)).norm(dim=-1) / 4095 ** 0.5


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_norm_a(x):
    return F.normalize(x, dim=-1, eps=0.0)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_norm_b(x):
    return x / (x * x).sum(-1, keepdim=True).sqrt()


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_sm_a(x):
    return x.softmax(-1)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_sm_b(x):
    e = (x - x.amax(-1, keepdim=True)).exp()
    return e / e.sum(-1, keepdim=True)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_sm2_a(x):
    return x.softmax(-1)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_sm2_b(x):
    return torch.exp(x - x.logsumexp(-1, keepdim=True))


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_sm_exp2_a(x):
    return x.softmax(-1)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_sm_exp2_b(x):
    return (x * math.log2(math.e)).sub((x * math.log2(math.e)).amax(-1, keepdim=True)).exp2().div((x * math.log2(math.e)).sub((x * math.log2(math.e)).amax(-1, keepdim=True)).exp2().sum(-1, keepdim=True))


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_lsm_a(x):
    return F.log_softmax(x, -1)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_lsm_b(x):
    return x - x.logsumexp(-1, keepdim=True)


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 1), 'fp32')])
def e_sm_shift_a(x, y):
    return x.softmax(-1)


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 1), 'fp32')])
def e_sm_shift_b(x, y):
    return (x + y).softmax(-1)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_sm_split_a(x):
    return x.softmax(-1)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_sm_split_b(x):
    a, b = x.chunk(2, -1)
    m = torch.maximum(a.amax(-1, keepdim=True), b.amax(-1, keepdim=True))
    p, q = (a - m).exp(), (b - m).exp()
    return torch.cat([p, q], -1) / (p.sum(-1, keepdim=True) + q.sum(-1, keepdim=True))


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_sigmoid_a(x):
    return x.sigmoid()


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_sigmoid_b(x):
    return torch.stack([x, torch.zeros_like(x)], -1).softmax(-1)[..., 0].contiguous()


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_silu_a(x):
    return F.silu(x)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_silu_b(x):
    return x / (1 + torch.exp(-x))


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_tanh_a(x):
    return x.tanh()


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_tanh_b(x):
    return 2 * torch.sigmoid(2 * x) - 1


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_gelu_a(x):
    return F.gelu(x)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_gelu_b(x):
    return 0.5 * x * (1 + torch.erf(x * 0.5 ** 0.5))


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_gelu_c_a(x):
    return F.gelu(x)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_gelu_c_b(x):
    return 0.5 * x * torch.erfc(-x / 2 ** 0.5)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_relu_a(x):
    return x.relu()


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_relu_b(x):
    return (x + x.abs()) / 2


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_lrelu_a(x):
    return F.leaky_relu(x, 0.1)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_lrelu_b(x):
    return torch.maximum(x, 0.1 * x)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_lrelu2_a(x):
    return F.leaky_relu(x, 0.1)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_lrelu2_b(x):
    return 0.1 * x + 0.9 * x.relu()


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_hsw_a(x):
    return F.hardswish(x)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_hsw_b(x):
    return x * F.relu6(x + 3) / 6


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_softplus_a(x):
    return F.softplus(x)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_softplus_b(x):
    return x.relu() + torch.log1p(torch.exp(-x.abs()))


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_logsig_a(x):
    return F.logsigmoid(x)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_logsig_b(x):
    return -F.softplus(-x)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_mish_a(x):
    return F.mish(x)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_mish_b(x):
    return x * torch.tanh(torch.log1p(x.exp()))


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_clamp_a(x):
    return x.clamp(-1, 1)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_clamp_b(x):
    return torch.minimum(torch.maximum(x, torch.tensor(-1.0)), torch.tensor(1.0))


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_hardtanh_a(x):
    return F.hardtanh(x)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_hardtanh_b(x):
    return ((x + 1).abs() - (x - 1).abs()) / 2


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_shrink_a(x):
    return F.softshrink(x, 0.5)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_shrink_b(x):
    return x.sign() * (x.abs() - 0.5).relu()


@mirage.optimize(inputs=[((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32')])
def e_attn_a(x, y, z):
    return F.scaled_dot_product_attention(x, y, z)


@mirage.optimize(inputs=[((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32')])
def e_attn_b(x, y, z):
    return ((x * 32 ** -0.5) @ y.transpose(1, 2)).softmax(-1) @ z


@mirage.optimize(inputs=[((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32')])
def e_attn_late_a(x, y, z):
    return F.scaled_dot_product_attention(x, y, z)


@mirage.optimize(inputs=[((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32')])
def e_attn_late_b(x, y, z):
    s = x @ y.mT / math.sqrt(32)
    e = (s - s.amax(-1, keepdim=True)).exp()
    return (e @ z) / e.sum(-1, keepdim=True)


@mirage.optimize(inputs=[((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32')])
def e_attn_einsum_a(x, y, z):
    return F.scaled_dot_product_attention(x, y, z)


@mirage.optimize(inputs=[((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32')])
def e_attn_einsum_b(x, y, z):
    return torch.einsum('hqk,hkd->hqd', torch.einsum('hqd,hkd->hqk', x, y).div(32 ** 0.5).softmax(2), z)


@mirage.optimize(inputs=[((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32')])
def e_causal_a(x, y, z):
    return F.scaled_dot_product_attention(x, y, z, is_causal=True)


@mirage.optimize(inputs=[((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32')])
def e_causal_b(x, y, z):
    i = torch.arange(48)
    return (x @ y.mT * 32 ** -0.5).masked_fill(i[None] > i[:, None], float('-inf')).softmax(-1) @ z


@mirage.optimize(inputs=[((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32')])
def e_causal_add_a(x, y, z):
    return F.scaled_dot_product_attention(x, y, z, is_causal=True)


@mirage.optimize(inputs=[((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32')])
def e_causal_add_b(x, y, z):
    m = torch.full((48, 48), float('-inf')).triu(1)
    return (x @ y.mT * 32 ** -0.5 + m).softmax(-1) @ z


@mirage.optimize(inputs=[((1, 8, 16, 32), 'fp32'), ((1, 2, 24, 32), 'fp32'), ((1, 2, 24, 32), 'fp32')])
def e_gqa_a(x, y, z):
    return F.scaled_dot_product_attention(x, y, z, enable_gqa=True)


@mirage.optimize(inputs=[((1, 8, 16, 32), 'fp32'), ((1, 2, 24, 32), 'fp32'), ((1, 2, 24, 32), 'fp32')])
def e_gqa_b(x, y, z):
    return F.scaled_dot_product_attention(x, y.repeat_interleave(4, 1), z.repeat_interleave(4, 1))


@mirage.optimize(inputs=[((1, 8, 16, 32), 'fp32'), ((1, 2, 24, 32), 'fp32'), ((1, 2, 24, 32), 'fp32')])
def e_gqa2_a(x, y, z):
    return F.scaled_dot_product_attention(x, y, z, enable_gqa=True)


@mirage.optimize(inputs=[((1, 8, 16, 32), 'fp32'), ((1, 2, 24, 32), 'fp32'), ((1, 2, 24, 32), 'fp32')])
def e_gqa2_b(x, y, z):
    q = x.view(1, 2, 64, 32)
    return F.scaled_dot_product_attention(q, y, z).view(1, 8, 16, 32)


@mirage.optimize(inputs=[((4, 16, 32), 'fp32'), ((4, 24, 32), 'fp32'), ((4, 24, 32), 'fp32'), ((16, 24), 'fp32')])
def e_mask_bool_a(x, y, z, w):
    return F.scaled_dot_product_attention(x, y, z, attn_mask=w)


@mirage.optimize(inputs=[((4, 16, 32), 'fp32'), ((4, 24, 32), 'fp32'), ((4, 24, 32), 'fp32'), ((16, 24), 'fp32')])
def e_mask_bool_b(x, y, z, w):
    return ((x @ y.mT) * 32 ** -0.5 + w).softmax(-1) @ z


@mirage.optimize(inputs=[((4, 16, 32), 'fp32'), ((16, 16), 'fp32'), ((16, 16), 'fp32')])
def e_rope_a(x, y, z):
    a, b = x.chunk(2, -1)
    return torch.cat([a * y - b * z, b * y + a * z], -1)


@mirage.optimize(inputs=[((4, 16, 32), 'fp32'), ((16, 16), 'fp32'), ((16, 16), 'fp32')])
def e_rope_b(x, y, z):
    c, s = torch.cat([y, y], -1), torch.cat([z, z], -1)
    return x * c + torch.cat([-x[..., 16:], x[..., :16]], -1) * s


@mirage.optimize(inputs=[((4, 16, 32), 'fp32'), ((16, 16), 'fp32'), ((16, 16), 'fp32')])
def e_rope_i_a(x, y, z):
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack([a * y - b * z, b * y + a * z], -1).flatten(-2)


@mirage.optimize(inputs=[((4, 16, 32), 'fp32'), ((16, 16), 'fp32'), ((16, 16), 'fp32')])
def e_rope_i_b(x, y, z):
    v = x.view(4, 16, 16, 2)
    return torch.stack([v[..., 0] * y - v[..., 1] * z, v[..., 0] * z + v[..., 1] * y], dim=3).reshape(4, 16, 32)


@mirage.optimize(inputs=[((4, 16, 32), 'fp32'), ((16, 32), 'fp32'), ((16, 32), 'fp32')])
def e_rope_roll_a(x, y, z):
    return x * y + torch.cat([-x[..., 16:], x[..., :16]], -1) * z


@mirage.optimize(inputs=[((4, 16, 32), 'fp32'), ((16, 32), 'fp32'), ((16, 32), 'fp32')])
def e_rope_roll_b(x, y, z):
    return x * y + x.roll(16, -1) * torch.where(torch.arange(32) < 16, -z, z)


@mirage.optimize(inputs=[((16, 64), 'fp32'), ((64, 32), 'fp32')])
def e_mm_a(x, y):
    return x @ y


@mirage.optimize(inputs=[((16, 64), 'fp32'), ((64, 32), 'fp32')])
def e_mm_b(x, y):
    return (y.t() @ x.t()).t().contiguous()


@mirage.optimize(inputs=[((16, 64), 'fp32'), ((64, 32), 'fp32')])
def e_mm_split_a(x, y):
    return x @ y


@mirage.optimize(inputs=[((16, 64), 'fp32'), ((64, 32), 'fp32')])
def e_mm_split_b(x, y):
    return x[:, :40] @ y[:40] + x[:, 40:] @ y[40:]


@mirage.optimize(inputs=[((8, 16), 'fp32'), ((16, 32), 'fp32'), ((32, 8), 'fp32')])
def e_mm_assoc_a(x, y, z):
    return (x @ y) @ z


@mirage.optimize(inputs=[((8, 16), 'fp32'), ((16, 32), 'fp32'), ((32, 8), 'fp32')])
def e_mm_assoc_b(x, y, z):
    return x @ (y @ z)


@mirage.optimize(inputs=[((16, 32), 'fp32'), ((16, 64), 'fp32'), ((64, 32), 'fp32')])
def e_addmm_a(x, y, z):
    return torch.addmm(x, y, z, beta=0.5, alpha=2)


@mirage.optimize(inputs=[((16, 32), 'fp32'), ((16, 64), 'fp32'), ((64, 32), 'fp32')])
def e_addmm_b(x, y, z):
    return 0.5 * x + 2 * torch.matmul(y, z)


@mirage.optimize(inputs=[((16, 64), 'fp32'), ((64, 64), 'fp32'), ((64, 8), 'fp32'), ((8, 64), 'fp32')])
def e_lora_a(x, y, z, w):
    return x @ y + 2.0 * (x @ z) @ w


@mirage.optimize(inputs=[((16, 64), 'fp32'), ((64, 64), 'fp32'), ((64, 8), 'fp32'), ((8, 64), 'fp32')])
def e_lora_b(x, y, z, w):
    return x @ (y + 2.0 * z @ w)


@mirage.optimize(inputs=[((16, 64), 'fp32'), ((32, 64), 'fp32'), ((32,), 'fp32')])
def e_bias_a(x, y, z):
    return F.linear(x, y, z)


@mirage.optimize(inputs=[((16, 64), 'fp32'), ((32, 64), 'fp32'), ((32,), 'fp32')])
def e_bias_b(x, y, z):
    return torch.cat([x, torch.ones(16, 1)], 1) @ torch.cat([y, z[:, None]], 1).t()


@mirage.optimize(inputs=[((16, 32), 'fp32'), ((32, 16), 'fp32')])
def e_einsum_tr_a(x, y):
    return (x @ y).trace()


@mirage.optimize(inputs=[((16, 32), 'fp32'), ((32, 16), 'fp32')])
def e_einsum_tr_b(x, y):
    return (x * y.t()).sum()


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 64), 'fp32')])
def e_quad_a(x, y):
    return ((x - y) ** 2).sum(-1)


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 64), 'fp32')])
def e_quad_b(x, y):
    return (x * x).sum(-1) - 2 * (x * y).sum(-1) + (y * y).sum(-1)


@mirage.optimize(inputs=[((8, 16), 'fp32'), ((12, 16), 'fp32')])
def e_cdist_a(x, y):
    return (x[:, None] - y[None]).pow(2).sum(-1)


@mirage.optimize(inputs=[((8, 16), 'fp32'), ((12, 16), 'fp32')])
def e_cdist_b(x, y):
    return x.pow(2).sum(-1)[:, None] + y.pow(2).sum(-1)[None] - 2 * x @ y.t()


@mirage.optimize(inputs=[((4, 4096), 'fp32')])
def e_mean_a(x):
    return x.mean(-1)


@mirage.optimize(inputs=[((4, 4096), 'fp32')])
def e_mean_b(x):
    return x.view(4, 64, 64).mean(-1).mean(-1)


@mirage.optimize(inputs=[((4, 4096), 'fp32')])
def e_sum_halves_a(x):
    return x.sum(-1)


@mirage.optimize(inputs=[((4, 4096), 'fp32')])
def e_sum_halves_b(x):
    return (x[:, ::2] + x[:, 1::2]).sum(-1)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_cumsum_a(x):
    return x.cumsum(-1)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_cumsum_b(x):
    return x @ torch.ones(64, 64).triu()


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_cumsum_blk_a(x):
    return x.cumsum(-1)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_cumsum_blk_b(x):
    v = x.view(8, 8, 8)
    c = v.cumsum(-1)
    t = v.sum(-1).cumsum(-1) - v.sum(-1)
    return (c + t[..., None]).view(8, 64)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_revcum_a(x):
    return x.flip(-1).cumsum(-1).flip(-1)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_revcum_b(x):
    return x.sum(-1, keepdim=True) - x.cumsum(-1) + x


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_diff_a(x):
    return x.diff(dim=-1)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_diff_b(x):
    return x.narrow(1, 1, 63) - x.narrow(1, 0, 63)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_unfold_a(x):
    return x.unfold(-1, 4, 4).sum(-1)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_unfold_b(x):
    return x.view(8, 16, 4).sum(-1)


@mirage.optimize(inputs=[((2, 4, 32), 'fp32')])
def e_avgpool_a(x):
    return F.avg_pool1d(x, 2)


@mirage.optimize(inputs=[((2, 4, 32), 'fp32')])
def e_avgpool_b(x):
    return (x[..., ::2] + x[..., 1::2]) * 0.5


@mirage.optimize(inputs=[((2, 4, 32), 'fp32')])
def e_maxpool_a(x):
    return F.max_pool1d(x, 2)


@mirage.optimize(inputs=[((2, 4, 32), 'fp32')])
def e_maxpool_b(x):
    return torch.maximum(x[..., ::2], x[..., 1::2])


@mirage.optimize(inputs=[((2, 4, 32), 'fp32'), ((8, 4, 1), 'fp32')])
def e_conv1_a(x, y):
    return F.conv1d(x, y)


@mirage.optimize(inputs=[((2, 4, 32), 'fp32'), ((8, 4, 1), 'fp32')])
def e_conv1_b(x, y):
    return torch.einsum('oc,bct->bot', y[..., 0], x)


@mirage.optimize(inputs=[((1, 4, 32), 'fp32'), ((8, 4, 3), 'fp32')])
def e_conv3_a(x, y):
    return F.conv1d(x, y)


@mirage.optimize(inputs=[((1, 4, 32), 'fp32'), ((8, 4, 3), 'fp32')])
def e_conv3_b(x, y):
    return sum(torch.einsum('oc,bct->bot', y[..., k], x[..., k:k + 30]) for k in range(3))


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_roll_a(x):
    return x.roll(5, -1)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_roll_b(x):
    return torch.cat([x[:, -5:], x[:, :-5]], -1)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_flip_a(x):
    return x.flip(-1)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_flip_b(x):
    return x[:, torch.arange(63, -1, -1)]


@mirage.optimize(inputs=[((64, 64), 'fp32')])
def e_tril_a(x):
    return x.tril()


@mirage.optimize(inputs=[((64, 64), 'fp32')])
def e_tril_b(x):
    return x * (torch.arange(64)[:, None] >= torch.arange(64))


@mirage.optimize(inputs=[((2, 16, 8), 'fp32')])
def e_chshuf_a(x):
    return x.view(2, 4, 4, 8).transpose(1, 2).reshape(2, 16, 8)


@mirage.optimize(inputs=[((2, 16, 8), 'fp32')])
def e_chshuf_b(x):
    return x[:, torch.arange(16) % 4 * 4 + torch.arange(16) // 4]


@mirage.optimize(inputs=[((100, 16), 'fp32'), ((32,), 'int64')])
def e_onehot_a(x, y):
    return F.embedding(y, x)


@mirage.optimize(inputs=[((100, 16), 'fp32'), ((32,), 'int64')])
def e_onehot_b(x, y):
    return F.one_hot(y, 100).float() @ x


@mirage.optimize(inputs=[((8, 64), 'bool'), ((8, 64), 'bool')])
def e_demorgan_a(x, y):
    return ~(x & y)


@mirage.optimize(inputs=[((8, 64), 'bool'), ((8, 64), 'bool')])
def e_demorgan_b(x, y):
    return ~x | ~y


@mirage.optimize(inputs=[((8, 64), 'bool'), ((8, 64), 'bool')])
def e_xor_a(x, y):
    return x ^ y


@mirage.optimize(inputs=[((8, 64), 'bool'), ((8, 64), 'bool')])
def e_xor_b(x, y):
    return (x | y) & ~(x & y)


@mirage.optimize(inputs=[((8, 64), 'bool')])
def e_any_a(x):
    return x.any(-1)


@mirage.optimize(inputs=[((8, 64), 'bool')])
def e_any_b(x):
    return x.sum(-1) > 0


@mirage.optimize(inputs=[((8, 64), 'bool')])
def e_all_a(x):
    return x.all(-1)


@mirage.optimize(inputs=[((8, 64), 'bool')])
def e_all_b(x):
    return ~(~x).any(-1)


@mirage.optimize(inputs=[((8, 64), 'int32')])
def e_floor_a(x):
    return x // 4


@mirage.optimize(inputs=[((8, 64), 'int32')])
def e_floor_b(x):
    return x >> 2


@mirage.optimize(inputs=[((8, 64), 'int32')])
def e_and_a(x):
    return x & 7


@mirage.optimize(inputs=[((8, 64), 'int32')])
def e_and_b(x):
    return torch.remainder(x, 8)


@mirage.optimize(inputs=[((8, 64), 'int8'), ((8, 64), 'int8')])
def e_i8_a(x, y):
    return x.int() * y.int()


@mirage.optimize(inputs=[((8, 64), 'int8'), ((8, 64), 'int8')])
def e_i8_b(x, y):
    return (x.short() * y.short()).int()


@mirage.optimize(inputs=[((8, 64), 'uint8'), ((8, 64), 'uint8')])
def e_u8_a(x, y):
    return x + y


@mirage.optimize(inputs=[((8, 64), 'uint8'), ((8, 64), 'uint8')])
def e_u8_b(x, y):
    return ((x.int() + y.int()) % 256).to(torch.uint8)


@mirage.optimize(inputs=[((8, 64), 'int64')])
def e_divmod_a(x):
    return x


@mirage.optimize(inputs=[((8, 64), 'int64')])
def e_divmod_b(x):
    return (x // 10) * 10 + x % 10 + 0 * x


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_max_sort_a(x):
    return x.amax(-1)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_max_sort_b(x):
    return x.sort(-1).values[:, -1].contiguous()


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_topk1_a(x):
    return x.topk(1).values


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_topk1_b(x):
    return x.amax(-1, keepdim=True)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_minmax_a(x):
    return x.amin(-1)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_minmax_b(x):
    return -((-x).amax(-1))


@mirage.optimize(inputs=[((32, 100), 'fp32'), ((32,), 'int64')])
def e_ce_a(x, y):
    return F.cross_entropy(x, y)


@mirage.optimize(inputs=[((32, 100), 'fp32'), ((32,), 'int64')])
def e_ce_b(x, y):
    return (x.logsumexp(-1) - x.gather(-1, y[:, None])[:, 0]).mean()


@mirage.optimize(inputs=[((32, 100), 'fp32'), ((32,), 'int64')])
def e_ce_smooth_a(x, y):
    return F.cross_entropy(x, y, label_smoothing=0.1)


@mirage.optimize(inputs=[((32, 100), 'fp32'), ((32,), 'int64')])
def e_ce_smooth_b(x, y):
    l = x.log_softmax(-1)
    return (-0.9 * l.gather(-1, y[:, None])[:, 0] - 0.1 * l.mean(-1)).mean()


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 64), 'fp32')])
def e_bce_a(x, y):
    return F.binary_cross_entropy_with_logits(x, y)


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 64), 'fp32')])
def e_bce_b(x, y):
    return (F.softplus(x) - x * y).mean()


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 64), 'fp32')])
def e_huber_a(x, y):
    return F.huber_loss(x, y)


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 64), 'fp32')])
def e_huber_b(x, y):
    d = (x - y).abs()
    return torch.where(d <= 1, 0.5 * d * d, d - 0.5).mean()


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_inplace_tmp_a(x):
    return (x * 2 + 1).relu()


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_inplace_tmp_b(x):
    t = x.clone()
    t *= 2
    t.add_(1)
    t.relu_()
    return t


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_setslice_a(x):
    return torch.cat([x[:, :10], x[:, 10:] * 3], -1)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e_setslice_b(x):
    t = x.clone()
    t[:, 10:] *= 3
    return t


CASES = [
    {'name': 'e_rms', 'class': 'norms', 'a': 'e_rms_a', 'b': 'e_rms_b', 'inputs': [((8, 64), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_rms_sum', 'class': 'norms', 'a': 'e_rms_sum_a', 'b': 'e_rms_sum_b', 'inputs': [((8, 64), 'fp32')], 'equal': True, 'why': 'n put inside', 'draw': []},
    {'name': 'e_ln', 'class': 'norms', 'a': 'e_ln_a', 'b': 'e_ln_b', 'inputs': [((8, 64), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_ln_t', 'class': 'norms', 'a': 'e_ln_t_a', 'b': 'e_ln_t_b', 'inputs': [((64, 64), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_gn', 'class': 'norms', 'a': 'e_gn_a', 'b': 'e_gn_b', 'inputs': [((4, 32, 16), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_gn1', 'class': 'norms', 'a': 'e_gn1_a', 'b': 'e_gn1_b', 'inputs': [((4, 32, 16), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_in', 'class': 'norms', 'a': 'e_in_a', 'b': 'e_in_b', 'inputs': [((4, 8, 16), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_var', 'class': 'norms', 'a': 'e_var_a', 'b': 'e_var_b', 'inputs': [((4, 4096), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_std', 'class': 'norms', 'a': 'e_std_a', 'b': 'e_std_b', 'inputs': [((4, 4096), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_norm', 'class': 'norms', 'a': 'e_norm_a', 'b': 'e_norm_b', 'inputs': [((8, 64), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_sm', 'class': 'softmax', 'a': 'e_sm_a', 'b': 'e_sm_b', 'inputs': [((8, 64), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_sm2', 'class': 'softmax', 'a': 'e_sm2_a', 'b': 'e_sm2_b', 'inputs': [((8, 64), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_sm_exp2', 'class': 'softmax', 'a': 'e_sm_exp2_a', 'b': 'e_sm_exp2_b', 'inputs': [((8, 64), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_lsm', 'class': 'softmax', 'a': 'e_lsm_a', 'b': 'e_lsm_b', 'inputs': [((8, 64), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_sm_shift', 'class': 'softmax', 'a': 'e_sm_shift_a', 'b': 'e_sm_shift_b', 'inputs': [((8, 64), 'fp32'), ((8, 1), 'fp32')], 'equal': True, 'why': 'shift', 'draw': []},
    {'name': 'e_sm_split', 'class': 'softmax', 'a': 'e_sm_split_a', 'b': 'e_sm_split_b', 'inputs': [((8, 64), 'fp32')], 'equal': True, 'why': 'two parts', 'draw': []},
    {'name': 'e_sigmoid', 'class': 'softmax', 'a': 'e_sigmoid_a', 'b': 'e_sigmoid_b', 'inputs': [((8, 64), 'fp32')], 'equal': True, 'why': 'of two', 'draw': []},
    {'name': 'e_silu', 'class': 'act', 'a': 'e_silu_a', 'b': 'e_silu_b', 'inputs': [((8, 64), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_tanh', 'class': 'act', 'a': 'e_tanh_a', 'b': 'e_tanh_b', 'inputs': [((8, 64), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_gelu', 'class': 'act', 'a': 'e_gelu_a', 'b': 'e_gelu_b', 'inputs': [((8, 64), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_gelu_c', 'class': 'act', 'a': 'e_gelu_c_a', 'b': 'e_gelu_c_b', 'inputs': [((8, 64), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_relu', 'class': 'act', 'a': 'e_relu_a', 'b': 'e_relu_b', 'inputs': [((8, 64), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_lrelu', 'class': 'act', 'a': 'e_lrelu_a', 'b': 'e_lrelu_b', 'inputs': [((8, 64), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_lrelu2', 'class': 'act', 'a': 'e_lrelu2_a', 'b': 'e_lrelu2_b', 'inputs': [((8, 64), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_hsw', 'class': 'act', 'a': 'e_hsw_a', 'b': 'e_hsw_b', 'inputs': [((8, 64), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_softplus', 'class': 'act', 'a': 'e_softplus_a', 'b': 'e_softplus_b', 'inputs': [((8, 64), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_logsig', 'class': 'act', 'a': 'e_logsig_a', 'b': 'e_logsig_b', 'inputs': [((8, 64), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_mish', 'class': 'act', 'a': 'e_mish_a', 'b': 'e_mish_b', 'inputs': [((8, 64), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_clamp', 'class': 'act', 'a': 'e_clamp_a', 'b': 'e_clamp_b', 'inputs': [((8, 64), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_hardtanh', 'class': 'act', 'a': 'e_hardtanh_a', 'b': 'e_hardtanh_b', 'inputs': [((8, 64), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_shrink', 'class': 'act', 'a': 'e_shrink_a', 'b': 'e_shrink_b', 'inputs': [((8, 64), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_attn', 'class': 'attention', 'a': 'e_attn_a', 'b': 'e_attn_b', 'inputs': [((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_attn_late', 'class': 'attention', 'a': 'e_attn_late_a', 'b': 'e_attn_late_b', 'inputs': [((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32')], 'equal': True, 'why': 'late division', 'draw': []},
    {'name': 'e_attn_einsum', 'class': 'attention', 'a': 'e_attn_einsum_a', 'b': 'e_attn_einsum_b', 'inputs': [((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_causal', 'class': 'attention', 'a': 'e_causal_a', 'b': 'e_causal_b', 'inputs': [((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_causal_add', 'class': 'attention', 'a': 'e_causal_add_a', 'b': 'e_causal_add_b', 'inputs': [((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32'), ((4, 48, 32), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_gqa', 'class': 'attention', 'a': 'e_gqa_a', 'b': 'e_gqa_b', 'inputs': [((1, 8, 16, 32), 'fp32'), ((1, 2, 24, 32), 'fp32'), ((1, 2, 24, 32), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_gqa2', 'class': 'attention', 'a': 'e_gqa2_a', 'b': 'e_gqa2_b', 'inputs': [((1, 8, 16, 32), 'fp32'), ((1, 2, 24, 32), 'fp32'), ((1, 2, 24, 32), 'fp32')], 'equal': True, 'why': 'groups folded into rows', 'draw': []},
    {'name': 'e_mask_bool', 'class': 'attention', 'a': 'e_mask_bool_a', 'b': 'e_mask_bool_b', 'inputs': [((4, 16, 32), 'fp32'), ((4, 24, 32), 'fp32'), ((4, 24, 32), 'fp32'), ((16, 24), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_rope', 'class': 'rope', 'a': 'e_rope_a', 'b': 'e_rope_b', 'inputs': [((4, 16, 32), 'fp32'), ((16, 16), 'fp32'), ((16, 16), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_rope_i', 'class': 'rope', 'a': 'e_rope_i_a', 'b': 'e_rope_i_b', 'inputs': [((4, 16, 32), 'fp32'), ((16, 16), 'fp32'), ((16, 16), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_rope_roll', 'class': 'rope', 'a': 'e_rope_roll_a', 'b': 'e_rope_roll_b', 'inputs': [((4, 16, 32), 'fp32'), ((16, 32), 'fp32'), ((16, 32), 'fp32')], 'equal': True, 'why': 'by a roll', 'draw': []},
    {'name': 'e_mm', 'class': 'linear', 'a': 'e_mm_a', 'b': 'e_mm_b', 'inputs': [((16, 64), 'fp32'), ((64, 32), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_mm_split', 'class': 'linear', 'a': 'e_mm_split_a', 'b': 'e_mm_split_b', 'inputs': [((16, 64), 'fp32'), ((64, 32), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_mm_assoc', 'class': 'linear', 'a': 'e_mm_assoc_a', 'b': 'e_mm_assoc_b', 'inputs': [((8, 16), 'fp32'), ((16, 32), 'fp32'), ((32, 8), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_addmm', 'class': 'linear', 'a': 'e_addmm_a', 'b': 'e_addmm_b', 'inputs': [((16, 32), 'fp32'), ((16, 64), 'fp32'), ((64, 32), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_lora', 'class': 'linear', 'a': 'e_lora_a', 'b': 'e_lora_b', 'inputs': [((16, 64), 'fp32'), ((64, 64), 'fp32'), ((64, 8), 'fp32'), ((8, 64), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_bias', 'class': 'linear', 'a': 'e_bias_a', 'b': 'e_bias_b', 'inputs': [((16, 64), 'fp32'), ((32, 64), 'fp32'), ((32,), 'fp32')], 'equal': True, 'why': 'bias as a column', 'draw': []},
    {'name': 'e_einsum_tr', 'class': 'linear', 'a': 'e_einsum_tr_a', 'b': 'e_einsum_tr_b', 'inputs': [((16, 32), 'fp32'), ((32, 16), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_quad', 'class': 'linear', 'a': 'e_quad_a', 'b': 'e_quad_b', 'inputs': [((8, 64), 'fp32'), ((8, 64), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_cdist', 'class': 'linear', 'a': 'e_cdist_a', 'b': 'e_cdist_b', 'inputs': [((8, 16), 'fp32'), ((12, 16), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_mean', 'class': 'sums', 'a': 'e_mean_a', 'b': 'e_mean_b', 'inputs': [((4, 4096), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_sum_halves', 'class': 'sums', 'a': 'e_sum_halves_a', 'b': 'e_sum_halves_b', 'inputs': [((4, 4096), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_cumsum', 'class': 'sums', 'a': 'e_cumsum_a', 'b': 'e_cumsum_b', 'inputs': [((8, 64), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_cumsum_blk', 'class': 'sums', 'a': 'e_cumsum_blk_a', 'b': 'e_cumsum_blk_b', 'inputs': [((8, 64), 'fp32')], 'equal': True, 'why': 'blocks', 'draw': []},
    {'name': 'e_revcum', 'class': 'sums', 'a': 'e_revcum_a', 'b': 'e_revcum_b', 'inputs': [((8, 64), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_diff', 'class': 'sums', 'a': 'e_diff_a', 'b': 'e_diff_b', 'inputs': [((8, 64), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_unfold', 'class': 'sums', 'a': 'e_unfold_a', 'b': 'e_unfold_b', 'inputs': [((8, 64), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_avgpool', 'class': 'sums', 'a': 'e_avgpool_a', 'b': 'e_avgpool_b', 'inputs': [((2, 4, 32), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_maxpool', 'class': 'sums', 'a': 'e_maxpool_a', 'b': 'e_maxpool_b', 'inputs': [((2, 4, 32), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_conv1', 'class': 'sums', 'a': 'e_conv1_a', 'b': 'e_conv1_b', 'inputs': [((2, 4, 32), 'fp32'), ((8, 4, 1), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_conv3', 'class': 'sums', 'a': 'e_conv3_a', 'b': 'e_conv3_b', 'inputs': [((1, 4, 32), 'fp32'), ((8, 4, 3), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_roll', 'class': 'moves', 'a': 'e_roll_a', 'b': 'e_roll_b', 'inputs': [((8, 64), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_flip', 'class': 'moves', 'a': 'e_flip_a', 'b': 'e_flip_b', 'inputs': [((8, 64), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_tril', 'class': 'moves', 'a': 'e_tril_a', 'b': 'e_tril_b', 'inputs': [((64, 64), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_chshuf', 'class': 'moves', 'a': 'e_chshuf_a', 'b': 'e_chshuf_b', 'inputs': [((2, 16, 8), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_onehot', 'class': 'moves', 'a': 'e_onehot_a', 'b': 'e_onehot_b', 'inputs': [((100, 16), 'fp32'), ((32,), 'int64')], 'equal': True, 'why': '', 'draw': ['normal', 'ids:100']},
    {'name': 'e_demorgan', 'class': 'bool', 'a': 'e_demorgan_a', 'b': 'e_demorgan_b', 'inputs': [((8, 64), 'bool'), ((8, 64), 'bool')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_xor', 'class': 'bool', 'a': 'e_xor_a', 'b': 'e_xor_b', 'inputs': [((8, 64), 'bool'), ((8, 64), 'bool')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_any', 'class': 'bool', 'a': 'e_any_a', 'b': 'e_any_b', 'inputs': [((8, 64), 'bool')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_all', 'class': 'bool', 'a': 'e_all_a', 'b': 'e_all_b', 'inputs': [((8, 64), 'bool')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_floor', 'class': 'ints', 'a': 'e_floor_a', 'b': 'e_floor_b', 'inputs': [((8, 64), 'int32')], 'equal': True, 'why': '', 'draw': ['full']},
    {'name': 'e_and', 'class': 'ints', 'a': 'e_and_a', 'b': 'e_and_b', 'inputs': [((8, 64), 'int32')], 'equal': True, 'why': '', 'draw': ['full']},
    {'name': 'e_i8', 'class': 'ints', 'a': 'e_i8_a', 'b': 'e_i8_b', 'inputs': [((8, 64), 'int8'), ((8, 64), 'int8')], 'equal': True, 'why': '', 'draw': ['full', 'full']},
    {'name': 'e_u8', 'class': 'ints', 'a': 'e_u8_a', 'b': 'e_u8_b', 'inputs': [((8, 64), 'uint8'), ((8, 64), 'uint8')], 'equal': True, 'why': 'wraps', 'draw': ['full', 'full']},
    {'name': 'e_divmod', 'class': 'ints', 'a': 'e_divmod_a', 'b': 'e_divmod_b', 'inputs': [((8, 64), 'int64')], 'equal': True, 'why': 'alias aside', 'draw': ['full']},
    {'name': 'e_max_sort', 'class': 'order', 'a': 'e_max_sort_a', 'b': 'e_max_sort_b', 'inputs': [((8, 64), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_topk1', 'class': 'order', 'a': 'e_topk1_a', 'b': 'e_topk1_b', 'inputs': [((8, 64), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_minmax', 'class': 'order', 'a': 'e_minmax_a', 'b': 'e_minmax_b', 'inputs': [((8, 64), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_ce', 'class': 'loss', 'a': 'e_ce_a', 'b': 'e_ce_b', 'inputs': [((32, 100), 'fp32'), ((32,), 'int64')], 'equal': True, 'why': '', 'draw': ['normal', 'ids:100']},
    {'name': 'e_ce_smooth', 'class': 'loss', 'a': 'e_ce_smooth_a', 'b': 'e_ce_smooth_b', 'inputs': [((32, 100), 'fp32'), ((32,), 'int64')], 'equal': True, 'why': '', 'draw': ['normal', 'ids:100']},
    {'name': 'e_bce', 'class': 'loss', 'a': 'e_bce_a', 'b': 'e_bce_b', 'inputs': [((8, 64), 'fp32'), ((8, 64), 'fp32')], 'equal': True, 'why': '', 'draw': ['normal', 'u01']},
    {'name': 'e_huber', 'class': 'loss', 'a': 'e_huber_a', 'b': 'e_huber_b', 'inputs': [((8, 64), 'fp32'), ((8, 64), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_inplace_tmp', 'class': 'style', 'a': 'e_inplace_tmp_a', 'b': 'e_inplace_tmp_b', 'inputs': [((8, 64), 'fp32')], 'equal': True, 'why': '', 'draw': []},
    {'name': 'e_setslice', 'class': 'style', 'a': 'e_setslice_a', 'b': 'e_setslice_b', 'inputs': [((8, 64), 'fp32')], 'equal': True, 'why': '', 'draw': []},
]
