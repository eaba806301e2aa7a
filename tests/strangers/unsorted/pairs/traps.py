"""Pairs of a hostile reviewer."""
import math

import torch
import torch.nn.functional as F

import mirage


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def half_mid_a(x):
    return x * 1.5 + 0.25


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def half_mid_b(x):
    return (x.half() * 1.5 + 0.25).float()


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def bf16_mid_a(x):
    return x.exp()


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def bf16_mid_b(x):
    return x.bfloat16().float().exp()


@mirage.optimize(inputs=[((16, 64), 'fp32'), ((64, 32), 'fp32')])
def bf16_mm_a(x, y):
    return x @ y


@mirage.optimize(inputs=[((16, 64), 'fp32'), ((64, 32), 'fp32')])
def bf16_mm_b(x, y):
    return (x.bfloat16() @ y.bfloat16()).float()


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def half_acc_a(x):
    return x.sum(-1)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def half_acc_b(x):
    return x.half().sum(-1).float()


@mirage.optimize(inputs=[((8, 64), 'fp16')])
def dtype_res_a(x):
    return x.float() * 2


@mirage.optimize(inputs=[((8, 64), 'fp16')])
def dtype_res_b(x):
    return x * 2


@mirage.optimize(inputs=[((8, 64), 'fp16')])
def dtype_sm_a(x):
    return x.softmax(-1, dtype=torch.float32)


@mirage.optimize(inputs=[((8, 64), 'fp16')])
def dtype_sm_b(x):
    return x.softmax(-1)


@mirage.optimize(inputs=[((8, 64), 'fp16')])
def dtype_tensor_scalar_a(x):
    return x * torch.tensor(2.0)


@mirage.optimize(inputs=[((8, 64), 'fp16')])
def dtype_tensor_scalar_b(x):
    return x * torch.ones(1, dtype=torch.float32) * 2


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def dtype_argmax_a(x):
    return x.argmax(-1)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def dtype_argmax_b(x):
    return x.argmax(-1).int()


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def dtype_cmp_a(x):
    return x > 0


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def dtype_cmp_b(x):
    return (x > 0).float()


@mirage.optimize(inputs=[((8, 64), 'fp16')])
def dtype_mean_a(x):
    return x.mean(-1)


@mirage.optimize(inputs=[((8, 64), 'fp16')])
def dtype_mean_b(x):
    return x.mean(-1, dtype=torch.float32)


@mirage.optimize(inputs=[((8, 64), 'bool')])
def dtype_bool_sum_a(x):
    return x.sum(-1)


@mirage.optimize(inputs=[((8, 64), 'bool')])
def dtype_bool_sum_b(x):
    return x.sum(-1).float()


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def u8_clamp_a(x):
    return (x * 100).clamp(-128, 127).to(torch.int8)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def u8_clamp_b(x):
    return (x * 100).round().clamp(-128, 127).to(torch.int8)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e4_scale_a(x):
    return x.half().float() + x


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def e4_scale_b(x):
    return x.bfloat16().float() + x


@mirage.optimize(inputs=[((64, 4096), 'fp32')])
def double_round_a(x):
    return x.bfloat16().float()


@mirage.optimize(inputs=[((64, 4096), 'fp32')])
def double_round_b(x):
    return x.half().bfloat16().float()


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def inplace_add_a(x):
    return x + 1


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def inplace_add_b(x):
    x.add_(1)
    return x


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def inplace_relu_a(x):
    return x.relu()


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def inplace_relu_b(x):
    return F.relu(x, inplace=True)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def inplace_slice_a(x):
    return torch.cat([x[:, :1] * 0, x[:, 1:]], -1)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def inplace_slice_b(x):
    x[:, 0] = 0
    return x.clone()


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def inplace_view_a(x):
    return x.view(64, 8) * 2


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def inplace_view_b(x):
    v = x.view(64, 8)
    v *= 2
    return v.clone()


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 64), 'fp32')])
def inplace_after_a(x, y):
    return x * y


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 64), 'fp32')])
def inplace_after_b(x, y):
    z = x * y
    y.zero_()
    return z


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def alias_view_a(x):
    return x[:, :32]


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def alias_view_b(x):
    return x[:, :32].clone()


@mirage.optimize(inputs=[((64, 64), 'fp32')])
def alias_t_a(x):
    return x.t()


@mirage.optimize(inputs=[((64, 64), 'fp32')])
def alias_t_b(x):
    return x.t().contiguous()


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def alias_id_a(x):
    return x


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def alias_id_b(x):
    return x.clone()


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def alias_mul1_a(x):
    return x.to(torch.float32)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def alias_mul1_b(x):
    return x * 1.0


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def alias_two_a(x):
    y = x * 2
    return x.reshape(512)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def alias_two_b(x):
    y = x * 2
    return (x + 0).reshape(512)


@mirage.optimize(inputs=[((16, 32), 'fp32')])
def stride_t_a(x):
    return (x * 2).t()


@mirage.optimize(inputs=[((16, 32), 'fp32')])
def stride_t_b(x):
    return (x * 2).t().contiguous()


@mirage.optimize(inputs=[((2, 4, 8, 16), 'fp32')])
def stride_perm_a(x):
    return (x + 1).permute(0, 2, 1, 3)


@mirage.optimize(inputs=[((2, 4, 8, 16), 'fp32')])
def stride_perm_b(x):
    return (x + 1).permute(0, 2, 1, 3).contiguous()


@mirage.optimize(inputs=[((2, 4, 8, 8), 'fp32')])
def stride_chl_a(x):
    return x * 2


@mirage.optimize(inputs=[((2, 4, 8, 8), 'fp32')])
def stride_chl_b(x):
    return (x * 2).to(memory_format=torch.channels_last)


@mirage.optimize(inputs=[((64,), 'fp32')])
def stride_expand_a(x):
    return (x * 2).expand(8, 64)


@mirage.optimize(inputs=[((64,), 'fp32')])
def stride_expand_b(x):
    return (x * 2).repeat(8, 1)


@mirage.optimize(inputs=[((4, 4096), 'fp32')])
def drop_tiny_a(x):
    return x * 1.0


@mirage.optimize(inputs=[((4, 4096), 'fp32')])
def drop_tiny_b(x):
    return F.dropout(x, p=0.3)


@mirage.optimize(inputs=[((64, 4096), 'fp32')])
def drop_p1e3_a(x):
    return x + 0


@mirage.optimize(inputs=[((64, 4096), 'fp32')])
def drop_p1e3_b(x):
    return F.dropout(x, 1e-3)


@mirage.optimize(inputs=[((4, 4096), 'fp32')])
def drop_train_a(x):
    return F.dropout(x, 0.5, training=False) + 0


@mirage.optimize(inputs=[((4, 4096), 'fp32')])
def drop_train_b(x):
    return F.dropout(x, 0.5)


@mirage.optimize(inputs=[((4, 4096), 'fp32')])
def rand_small_a(x):
    return x + 0


@mirage.optimize(inputs=[((4, 4096), 'fp32')])
def rand_small_b(x):
    return x + 1e-3 * torch.rand_like(x)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def gumbel_a(x):
    return x.argmax(-1)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def gumbel_b(x):
    return (x - (-torch.rand_like(x).log()).log()).argmax(-1)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def nan_max_a(x):
    return torch.maximum(x, torch.zeros_like(x))


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def nan_max_b(x):
    return torch.fmax(x, torch.zeros_like(x))


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def nan_relu_a(x):
    return x.relu()


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def nan_relu_b(x):
    return torch.where(x > 0, x, 0.0)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def nan_clamp_a(x):
    return x.clamp(-1, 1)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def nan_clamp_b(x):
    return torch.where(x > 1, 1.0, torch.where(x > -1, x, -1.0))


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def nan_to_num_a(x):
    return x + 0


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def nan_to_num_b(x):
    return torch.nan_to_num(x)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def nansum_a(x):
    return x.sum(-1)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def nansum_b(x):
    return x.nansum(-1)


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 64), 'bool')])
def nan_mask_mul_a(x, y):
    return x.masked_fill(~y, 0.0)


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 64), 'bool')])
def nan_mask_mul_b(x, y):
    return x * y


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def log_neg_a(x):
    return x.log()


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def log_neg_b(x):
    return x.abs().log()


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def sqrt_neg_a(x):
    return x.sqrt()


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def sqrt_neg_b(x):
    return x.clamp(min=0).sqrt()


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def pow_half_a(x):
    return x ** 0.5


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def pow_half_b(x):
    return x.abs() ** 0.5


@mirage.optimize(inputs=[((8, 64), 'int32'), ((8, 64), 'int32')])
def div0_a(x, y):
    return x / y


@mirage.optimize(inputs=[((8, 64), 'int32'), ((8, 64), 'int32')])
def div0_b(x, y):
    return x / y.clamp(min=1)


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 64), 'fp32')])
def xlogy_a(x, y):
    return torch.xlogy(x, y)


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 64), 'fp32')])
def xlogy_b(x, y):
    return x * y.log()


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 64), 'fp32')])
def cos_sim0_a(x, y):
    return F.cosine_similarity(x, y, -1)


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 64), 'fp32')])
def cos_sim0_b(x, y):
    return (x * y).sum(-1) / (x.norm(dim=-1) * y.norm(dim=-1))


@mirage.optimize(inputs=[((32, 100), 'fp32'), ((32,), 'int64')])
def ce_mean_a(x, y):
    return F.cross_entropy(x, y)


@mirage.optimize(inputs=[((32, 100), 'fp32'), ((32,), 'int64')])
def ce_mean_b(x, y):
    return F.cross_entropy(x, y, reduction='sum') / 100


@mirage.optimize(inputs=[((32, 100), 'fp32'), ((32,), 'int64')])
def ce_smooth_a(x, y):
    return F.cross_entropy(x, y, label_smoothing=0.1)


@mirage.optimize(inputs=[((32, 100), 'fp32'), ((32,), 'int64')])
def ce_smooth_b(x, y):
    l = x.log_softmax(-1)
    return (-0.9 * l.gather(-1, y[:, None])[:, 0] - 0.1 * l.sum(-1) / 99).mean()


@mirage.optimize(inputs=[((32, 100), 'fp32'), ((32,), 'int64')])
def ce_ignore_a(x, y):
    return F.cross_entropy(x, y, ignore_index=0)


@mirage.optimize(inputs=[((32, 100), 'fp32'), ((32,), 'int64')])
def ce_ignore_b(x, y):
    return F.cross_entropy(x, y, ignore_index=0, reduction='sum') / 32


@mirage.optimize(inputs=[((32, 100), 'fp32'), ((32,), 'int64')])
def ce_shift_a(x, y):
    return F.cross_entropy(x[:-1], y[1:])


@mirage.optimize(inputs=[((32, 100), 'fp32'), ((32,), 'int64')])
def ce_shift_b(x, y):
    return F.cross_entropy(x[1:], y[:-1])


@mirage.optimize(inputs=[((32, 100), 'fp32'), ((32,), 'int64'), ((100,), 'fp32')])
def nll_noweight_a(x, y, z):
    return F.cross_entropy(x, y, weight=z)


@mirage.optimize(inputs=[((32, 100), 'fp32'), ((32,), 'int64'), ((100,), 'fp32')])
def nll_noweight_b(x, y, z):
    return (F.cross_entropy(x, y, reduction='none') * z[y]).mean()


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 64), 'fp32')])
def bce_logits_a(x, y):
    return F.binary_cross_entropy_with_logits(x, y)


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 64), 'fp32')])
def bce_logits_b(x, y):
    return (F.softplus(x) - x * y).sum() / 8


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 64), 'fp32')])
def kl_batch_a(x, y):
    return F.kl_div(x.log_softmax(-1), y.softmax(-1), reduction='batchmean')


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 64), 'fp32')])
def kl_batch_b(x, y):
    return F.kl_div(x.log_softmax(-1), y.softmax(-1))


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 64), 'fp32')])
def kl_dir_a(x, y):
    return F.kl_div(x.log_softmax(-1), y.softmax(-1), reduction='sum')


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 64), 'fp32')])
def kl_dir_b(x, y):
    return F.kl_div(y.log_softmax(-1), x.softmax(-1), reduction='sum')


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 64), 'fp32')])
def mse_sum_a(x, y):
    return F.mse_loss(x, y)


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 64), 'fp32')])
def mse_sum_b(x, y):
    return ((x - y) ** 2).sum(-1).mean()


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 64), 'bool')])
def mean_of_means_a(x, y):
    return (x * y).sum() / y.sum()


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 64), 'bool')])
def mean_of_means_b(x, y):
    return ((x * y).sum(-1) / y.sum(-1)).mean()


@mirage.optimize(inputs=[((64, 1), 'fp32'), ((64,), 'fp32')])
def bcast_loss_a(x, y):
    return ((x - y) ** 2).mean()


@mirage.optimize(inputs=[((64, 1), 'fp32'), ((64,), 'fp32')])
def bcast_loss_b(x, y):
    return ((x[:, 0] - y) ** 2).mean()


@mirage.optimize(inputs=[((64, 64), 'fp32')])
def keepdim_a(x):
    return x / x.sum(-1, keepdim=True)


@mirage.optimize(inputs=[((64, 64), 'fp32')])
def keepdim_b(x):
    return x / x.sum(-1)


@mirage.optimize(inputs=[((64, 64), 'fp32')])
def sum_dim_sq_a(x):
    return x.sum(0)


@mirage.optimize(inputs=[((64, 64), 'fp32')])
def sum_dim_sq_b(x):
    return x.sum(1)


@mirage.optimize(inputs=[((64, 64), 'fp32')])
def amax_dim_a(x):
    return x - x.amax(-1, keepdim=True)


@mirage.optimize(inputs=[((64, 64), 'fp32')])
def amax_dim_b(x):
    return x - x.amax()


@mirage.optimize(inputs=[((64, 64), 'fp32'), ((64, 64), 'fp32')])
def sym_weight_a(x, y):
    return x @ (y + y.t())


@mirage.optimize(inputs=[((64, 64), 'fp32'), ((64, 64), 'fp32')])
def sym_weight_b(x, y):
    return x @ (y + y)


@mirage.optimize(inputs=[((16, 64, 64), 'fp32')])
def tri_sym_a(x):
    return x @ x.mT


@mirage.optimize(inputs=[((16, 64, 64), 'fp32')])
def tri_sym_b(x):
    return x.mT @ x


@mirage.optimize(inputs=[((16, 64), 'fp32'), ((64, 64), 'fp32'), ((64, 8), 'fp32'), ((8, 64), 'fp32')])
def lora_scale_a(x, y, z, w):
    return x @ y + 2.0 * (x @ z) @ w


@mirage.optimize(inputs=[((16, 64), 'fp32'), ((64, 64), 'fp32'), ((64, 8), 'fp32'), ((8, 64), 'fp32')])
def lora_scale_b(x, y, z, w):
    return x @ y + 2.0 * (x @ z @ w) * 1.001


@mirage.optimize(inputs=[((64, 4096), 'fp32')])
def abs6_a(x):
    return torch.where(x.abs() < 1e-3, 0.0, x.sign())


@mirage.optimize(inputs=[((64, 4096), 'fp32')])
def abs6_b(x):
    return x.sign()


@mirage.optimize(inputs=[((256, 4096), 'fp32')])
def x5_a(x):
    return x.clamp(max=4.0)


@mirage.optimize(inputs=[((256, 4096), 'fp32')])
def x5_b(x):
    return x + 0


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def tiny_eps_add_a(x):
    return x / (x.abs() + 1e-3)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def tiny_eps_add_b(x):
    return x / (x.abs() + 1e-4)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def cancel_a(x):
    return x + 0.1


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def cancel_b(x):
    return (x + 1e5) - 1e5 + 0.1


@mirage.optimize(inputs=[((8, 4096), 'fp32')])
def var_moments_a(x):
    return x.var(-1, unbiased=False)


@mirage.optimize(inputs=[((8, 4096), 'fp32')])
def var_moments_b(x):
    return (x * x).mean(-1) - x.mean(-1) ** 2


@mirage.optimize(inputs=[((600, 16), 'fp32')])
def size_branch_a(x):
    return x.exp()


@mirage.optimize(inputs=[((600, 16), 'fp32')])
def size_branch_b(x):
    return x.exp() if x.shape[0] < 512 else x.exp() * 1.001


@mirage.optimize(inputs=[((600, 16), 'fp32')])
def contig_a(x):
    return x * 2 if x.t().is_contiguous() else x * 3


@mirage.optimize(inputs=[((600, 16), 'fp32')])
def contig_b(x):
    return x * 2


@mirage.optimize(inputs=[((8, 4097), 'fp32')])
def ndim_b_a(x):
    return x.sum(-1)


@mirage.optimize(inputs=[((8, 4097), 'fp32')])
def ndim_b_b(x):
    return x[:, :4096].sum(-1)


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 64), 'fp32'), ((8, 64), 'bool')])
def bfill_a(x, y, z):
    return torch.where(z, x, y)


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 64), 'fp32'), ((8, 64), 'bool')])
def bfill_b(x, y, z):
    return torch.where(z, y, x)


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 64), 'fp32'), ((8, 64), 'fp32')])
def addcmul_a(x, y, z):
    return torch.addcmul(x, y, z, value=0.5)


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 64), 'fp32'), ((8, 64), 'fp32')])
def addcmul_b(x, y, z):
    return torch.addcmul(x, y, z)


@mirage.optimize(inputs=[((4, 16, 16), 'fp32'), ((4, 16, 16), 'fp32'), ((4, 16, 16), 'fp32')])
def baddbmm_a(x, y, z):
    return torch.baddbmm(x, y, z, beta=0.5)


@mirage.optimize(inputs=[((4, 16, 16), 'fp32'), ((4, 16, 16), 'fp32'), ((4, 16, 16), 'fp32')])
def baddbmm_b(x, y, z):
    return torch.baddbmm(x, y, z, alpha=0.5)


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 64), 'fp32')])
def lerp_a(x, y):
    return torch.lerp(x, y, 0.3)


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 64), 'fp32')])
def lerp_b(x, y):
    return torch.lerp(y, x, 0.3)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def ema_a(x):
    o = x[:, 0]
    for i in range(1, 8): o = 0.9 * o + 0.1 * x[:, i]
    return o


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def ema_b(x):
    o = x[:, 0] * 0.1
    for i in range(1, 8): o = 0.9 * o + 0.1 * x[:, i]
    return o


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 64), 'fp32')])
def atan2_a(x, y):
    return torch.atan2(x, y)


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 64), 'fp32')])
def atan2_b(x, y):
    return (x / y).atan()


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def out_order_a(x):
    m = x.mean(-1)
    return m, x.var(-1)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def out_order_b(x):
    m = x.mean(-1)
    return x.var(-1), m


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def out_count_a(x):
    return x.sort(-1)[0], x + 1


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def out_count_b(x):
    return x.sort(-1)[0]


CASES = [
    {'name': 'half_mid', 'class': 'casts', 'a': 'half_mid_a', 'b': 'half_mid_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'fp16 in the middle', 'draw': []},
    {'name': 'bf16_mid', 'class': 'casts', 'a': 'bf16_mid_a', 'b': 'bf16_mid_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'bf16 of the argument', 'draw': []},
    {'name': 'bf16_mm', 'class': 'casts', 'a': 'bf16_mm_a', 'b': 'bf16_mm_b', 'inputs': [((16, 64), 'fp32'), ((64, 32), 'fp32')], 'equal': False, 'why': 'bf16 product', 'draw': []},
    {'name': 'half_acc', 'class': 'casts', 'a': 'half_acc_a', 'b': 'half_acc_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'half sum', 'draw': []},
    {'name': 'dtype_res', 'class': 'dtype', 'a': 'dtype_res_a', 'b': 'dtype_res_b', 'inputs': [((8, 64), 'fp16')], 'equal': False, 'why': 'dtype of the result', 'draw': []},
    {'name': 'dtype_sm', 'class': 'dtype', 'a': 'dtype_sm_a', 'b': 'dtype_sm_b', 'inputs': [((8, 64), 'fp16')], 'equal': False, 'why': 'dtype of the result', 'draw': []},
    {'name': 'dtype_tensor_scalar', 'class': 'dtype', 'a': 'dtype_tensor_scalar_a', 'b': 'dtype_tensor_scalar_b', 'inputs': [((8, 64), 'fp16')], 'equal': False, 'why': '0-d against 1-d promotion', 'draw': []},
    {'name': 'dtype_argmax', 'class': 'dtype', 'a': 'dtype_argmax_a', 'b': 'dtype_argmax_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'index dtype', 'draw': []},
    {'name': 'dtype_cmp', 'class': 'dtype', 'a': 'dtype_cmp_a', 'b': 'dtype_cmp_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'flags', 'draw': []},
    {'name': 'dtype_mean', 'class': 'dtype', 'a': 'dtype_mean_a', 'b': 'dtype_mean_b', 'inputs': [((8, 64), 'fp16')], 'equal': False, 'why': 'dtype', 'draw': []},
    {'name': 'dtype_bool_sum', 'class': 'dtype', 'a': 'dtype_bool_sum_a', 'b': 'dtype_bool_sum_b', 'inputs': [((8, 64), 'bool')], 'equal': False, 'why': 'dtype', 'draw': []},
    {'name': 'u8_clamp', 'class': 'casts', 'a': 'u8_clamp_a', 'b': 'u8_clamp_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'truncation or rounding', 'draw': []},
    {'name': 'e4_scale', 'class': 'casts', 'a': 'e4_scale_a', 'b': 'e4_scale_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'another cast', 'draw': []},
    {'name': 'double_round', 'class': 'casts', 'a': 'double_round_a', 'b': 'double_round_b', 'inputs': [((64, 4096), 'fp32')], 'equal': False, 'why': 'double rounding', 'draw': []},
    {'name': 'inplace_add', 'class': 'mutation', 'a': 'inplace_add_a', 'b': 'inplace_add_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'mutates the input', 'draw': []},
    {'name': 'inplace_relu', 'class': 'mutation', 'a': 'inplace_relu_a', 'b': 'inplace_relu_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'mutates the input', 'draw': []},
    {'name': 'inplace_slice', 'class': 'mutation', 'a': 'inplace_slice_a', 'b': 'inplace_slice_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'writes a column', 'draw': []},
    {'name': 'inplace_view', 'class': 'mutation', 'a': 'inplace_view_a', 'b': 'inplace_view_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'writes through a view', 'draw': []},
    {'name': 'inplace_after', 'class': 'mutation', 'a': 'inplace_after_a', 'b': 'inplace_after_b', 'inputs': [((8, 64), 'fp32'), ((8, 64), 'fp32')], 'equal': False, 'why': 'clears an argument afterwards', 'draw': []},
    {'name': 'alias_view', 'class': 'aliasing', 'a': 'alias_view_a', 'b': 'alias_view_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'view or copy', 'draw': []},
    {'name': 'alias_t', 'class': 'aliasing', 'a': 'alias_t_a', 'b': 'alias_t_b', 'inputs': [((64, 64), 'fp32')], 'equal': False, 'why': 'view or copy', 'draw': []},
    {'name': 'alias_id', 'class': 'aliasing', 'a': 'alias_id_a', 'b': 'alias_id_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'the input itself', 'draw': []},
    {'name': 'alias_mul1', 'class': 'aliasing', 'a': 'alias_mul1_a', 'b': 'alias_mul1_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'to may give the same', 'draw': []},
    {'name': 'alias_two', 'class': 'aliasing', 'a': 'alias_two_a', 'b': 'alias_two_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'view or copy', 'draw': []},
    {'name': 'stride_t', 'class': 'strides', 'a': 'stride_t_a', 'b': 'stride_t_b', 'inputs': [((16, 32), 'fp32')], 'equal': False, 'why': 'strides of the result', 'draw': []},
    {'name': 'stride_perm', 'class': 'strides', 'a': 'stride_perm_a', 'b': 'stride_perm_b', 'inputs': [((2, 4, 8, 16), 'fp32')], 'equal': False, 'why': 'strides', 'draw': []},
    {'name': 'stride_chl', 'class': 'strides', 'a': 'stride_chl_a', 'b': 'stride_chl_b', 'inputs': [((2, 4, 8, 8), 'fp32')], 'equal': False, 'why': 'strides', 'draw': []},
    {'name': 'stride_expand', 'class': 'strides', 'a': 'stride_expand_a', 'b': 'stride_expand_b', 'inputs': [((64,), 'fp32')], 'equal': False, 'why': 'stride 0', 'draw': []},
    {'name': 'drop_tiny', 'class': 'random', 'a': 'drop_tiny_a', 'b': 'drop_tiny_b', 'inputs': [((4, 4096), 'fp32')], 'equal': False, 'why': 'dropout', 'draw': []},
    {'name': 'drop_p1e3', 'class': 'random', 'a': 'drop_p1e3_a', 'b': 'drop_p1e3_b', 'inputs': [((64, 4096), 'fp32')], 'equal': False, 'why': 'rare dropout', 'draw': []},
    {'name': 'drop_train', 'class': 'random', 'a': 'drop_train_a', 'b': 'drop_train_b', 'inputs': [((4, 4096), 'fp32')], 'equal': False, 'why': 'training default', 'draw': []},
    {'name': 'rand_small', 'class': 'random', 'a': 'rand_small_a', 'b': 'rand_small_b', 'inputs': [((4, 4096), 'fp32')], 'equal': False, 'why': 'noise', 'draw': []},
    {'name': 'gumbel', 'class': 'random', 'a': 'gumbel_a', 'b': 'gumbel_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'sampled', 'draw': []},
    {'name': 'nan_max', 'class': 'nan', 'a': 'nan_max_a', 'b': 'nan_max_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'NaN', 'draw': ['nan']},
    {'name': 'nan_relu', 'class': 'nan', 'a': 'nan_relu_a', 'b': 'nan_relu_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'NaN', 'draw': ['nan']},
    {'name': 'nan_clamp', 'class': 'nan', 'a': 'nan_clamp_a', 'b': 'nan_clamp_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'NaN', 'draw': ['nan']},
    {'name': 'nan_to_num', 'class': 'nan', 'a': 'nan_to_num_a', 'b': 'nan_to_num_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'NaN', 'draw': ['nan']},
    {'name': 'nansum', 'class': 'nan', 'a': 'nansum_a', 'b': 'nansum_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'NaN', 'draw': ['nan']},
    {'name': 'nan_mask_mul', 'class': 'nan', 'a': 'nan_mask_mul_a', 'b': 'nan_mask_mul_b', 'inputs': [((8, 64), 'fp32'), ((8, 64), 'bool')], 'equal': False, 'why': 'NaN times 0', 'draw': ['nan']},
    {'name': 'log_neg', 'class': 'nan', 'a': 'log_neg_a', 'b': 'log_neg_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'log of negatives', 'draw': []},
    {'name': 'sqrt_neg', 'class': 'nan', 'a': 'sqrt_neg_a', 'b': 'sqrt_neg_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'root of negatives', 'draw': []},
    {'name': 'pow_half', 'class': 'nan', 'a': 'pow_half_a', 'b': 'pow_half_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'power of negatives', 'draw': []},
    {'name': 'div0', 'class': 'nan', 'a': 'div0_a', 'b': 'div0_b', 'inputs': [((8, 64), 'int32'), ((8, 64), 'int32')], 'equal': False, 'why': 'zero divided', 'draw': ['ids:5', 'ids:3']},
    {'name': 'xlogy', 'class': 'nan', 'a': 'xlogy_a', 'b': 'xlogy_b', 'inputs': [((8, 64), 'fp32'), ((8, 64), 'fp32')], 'equal': False, 'why': '0 log 0', 'draw': ['zeros', 'zeros']},
    {'name': 'cos_sim0', 'class': 'nan', 'a': 'cos_sim0_a', 'b': 'cos_sim0_b', 'inputs': [((8, 64), 'fp32'), ((8, 64), 'fp32')], 'equal': False, 'why': 'zero vector', 'draw': ['zeros']},
    {'name': 'ce_mean', 'class': 'denominator', 'a': 'ce_mean_a', 'b': 'ce_mean_b', 'inputs': [((32, 100), 'fp32'), ((32,), 'int64')], 'equal': False, 'why': 'denominator', 'draw': ['normal', 'ids:100']},
    {'name': 'ce_smooth', 'class': 'loss', 'a': 'ce_smooth_a', 'b': 'ce_smooth_b', 'inputs': [((32, 100), 'fp32'), ((32,), 'int64')], 'equal': False, 'why': 'smoothing over n-1', 'draw': ['normal', 'ids:100']},
    {'name': 'ce_ignore', 'class': 'loss', 'a': 'ce_ignore_a', 'b': 'ce_ignore_b', 'inputs': [((32, 100), 'fp32'), ((32,), 'int64')], 'equal': False, 'why': 'denominator of ignored', 'draw': ['normal', 'ids:4']},
    {'name': 'ce_shift', 'class': 'loss', 'a': 'ce_shift_a', 'b': 'ce_shift_b', 'inputs': [((32, 100), 'fp32'), ((32,), 'int64')], 'equal': False, 'why': 'shift direction', 'draw': ['normal', 'ids:100']},
    {'name': 'nll_noweight', 'class': 'loss', 'a': 'nll_noweight_a', 'b': 'nll_noweight_b', 'inputs': [((32, 100), 'fp32'), ((32,), 'int64'), ((100,), 'fp32')], 'equal': False, 'why': 'weighted denominator', 'draw': ['normal', 'ids:100', 'pos']},
    {'name': 'bce_logits', 'class': 'loss', 'a': 'bce_logits_a', 'b': 'bce_logits_b', 'inputs': [((8, 64), 'fp32'), ((8, 64), 'fp32')], 'equal': False, 'why': 'denominator', 'draw': ['normal', 'u01']},
    {'name': 'kl_batch', 'class': 'loss', 'a': 'kl_batch_a', 'b': 'kl_batch_b', 'inputs': [((8, 64), 'fp32'), ((8, 64), 'fp32')], 'equal': False, 'why': 'reduction', 'draw': []},
    {'name': 'kl_dir', 'class': 'loss', 'a': 'kl_dir_a', 'b': 'kl_dir_b', 'inputs': [((8, 64), 'fp32'), ((8, 64), 'fp32')], 'equal': False, 'why': 'direction', 'draw': []},
    {'name': 'mse_sum', 'class': 'denominator', 'a': 'mse_sum_a', 'b': 'mse_sum_b', 'inputs': [((8, 64), 'fp32'), ((8, 64), 'fp32')], 'equal': False, 'why': 'denominator', 'draw': []},
    {'name': 'mean_of_means', 'class': 'denominator', 'a': 'mean_of_means_a', 'b': 'mean_of_means_b', 'inputs': [((8, 64), 'fp32'), ((8, 64), 'bool')], 'equal': False, 'why': 'mean of means', 'draw': []},
    {'name': 'bcast_loss', 'class': 'broadcast', 'a': 'bcast_loss_a', 'b': 'bcast_loss_b', 'inputs': [((64, 1), 'fp32'), ((64,), 'fp32')], 'equal': False, 'why': 'silent broadcast', 'draw': []},
    {'name': 'keepdim', 'class': 'dim', 'a': 'keepdim_a', 'b': 'keepdim_b', 'inputs': [((64, 64), 'fp32')], 'equal': False, 'why': 'keepdim forgotten on a square', 'draw': []},
    {'name': 'sum_dim_sq', 'class': 'dim', 'a': 'sum_dim_sq_a', 'b': 'sum_dim_sq_b', 'inputs': [((64, 64), 'fp32')], 'equal': False, 'why': 'dim', 'draw': []},
    {'name': 'amax_dim', 'class': 'dim', 'a': 'amax_dim_a', 'b': 'amax_dim_b', 'inputs': [((64, 64), 'fp32')], 'equal': False, 'why': 'all or row', 'draw': []},
    {'name': 'sym_weight', 'class': 'operand', 'a': 'sym_weight_a', 'b': 'sym_weight_b', 'inputs': [((64, 64), 'fp32'), ((64, 64), 'fp32')], 'equal': False, 'why': 'symmetrised', 'draw': []},
    {'name': 'tri_sym', 'class': 'operand', 'a': 'tri_sym_a', 'b': 'tri_sym_b', 'inputs': [((16, 64, 64), 'fp32')], 'equal': False, 'why': 'gram', 'draw': []},
    {'name': 'lora_scale', 'class': 'constant', 'a': 'lora_scale_a', 'b': 'lora_scale_b', 'inputs': [((16, 64), 'fp32'), ((64, 64), 'fp32'), ((64, 8), 'fp32'), ((8, 64), 'fp32')], 'equal': False, 'why': '1.001', 'draw': []},
    {'name': 'abs6', 'class': 'thresholds', 'a': 'abs6_a', 'b': 'abs6_b', 'inputs': [((64, 4096), 'fp32')], 'equal': False, 'why': '1e-3 about zero', 'draw': []},
    {'name': 'x5', 'class': 'thresholds', 'a': 'x5_a', 'b': 'x5_b', 'inputs': [((256, 4096), 'fp32')], 'equal': False, 'why': 'normals of 4 deviations', 'draw': []},
    {'name': 'tiny_eps_add', 'class': 'constant', 'a': 'tiny_eps_add_a', 'b': 'tiny_eps_add_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'eps', 'draw': []},
    {'name': 'cancel', 'class': 'precision', 'a': 'cancel_a', 'b': 'cancel_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'digits lost', 'draw': []},
    {'name': 'var_moments', 'class': 'precision', 'a': 'var_moments_a', 'b': 'var_moments_b', 'inputs': [((8, 4096), 'fp32')], 'equal': False, 'why': 'mean of 1000 deviations', 'draw': ['mean1000']},
    {'name': 'size_branch', 'class': 'size', 'a': 'size_branch_a', 'b': 'size_branch_b', 'inputs': [((600, 16), 'fp32')], 'equal': False, 'why': 'branch on a size', 'draw': []},
    {'name': 'contig', 'class': 'stride', 'a': 'contig_a', 'b': 'contig_b', 'inputs': [((600, 16), 'fp32')], 'equal': False, 'why': 'asks contiguity', 'draw': []},
    {'name': 'ndim_b', 'class': 'size', 'a': 'ndim_b_a', 'b': 'ndim_b_b', 'inputs': [((8, 4097), 'fp32')], 'equal': False, 'why': '4096 of 4097', 'draw': []},
    {'name': 'bfill', 'class': 'operand', 'a': 'bfill_a', 'b': 'bfill_b', 'inputs': [((8, 64), 'fp32'), ((8, 64), 'fp32'), ((8, 64), 'bool')], 'equal': False, 'why': 'swapped', 'draw': []},
    {'name': 'addcmul', 'class': 'operand', 'a': 'addcmul_a', 'b': 'addcmul_b', 'inputs': [((8, 64), 'fp32'), ((8, 64), 'fp32'), ((8, 64), 'fp32')], 'equal': False, 'why': 'kwarg default', 'draw': []},
    {'name': 'baddbmm', 'class': 'operand', 'a': 'baddbmm_a', 'b': 'baddbmm_b', 'inputs': [((4, 16, 16), 'fp32'), ((4, 16, 16), 'fp32'), ((4, 16, 16), 'fp32')], 'equal': False, 'why': 'alpha or beta', 'draw': []},
    {'name': 'lerp', 'class': 'operand', 'a': 'lerp_a', 'b': 'lerp_b', 'inputs': [((8, 64), 'fp32'), ((8, 64), 'fp32')], 'equal': False, 'why': 'ends', 'draw': []},
    {'name': 'ema', 'class': 'position', 'a': 'ema_a', 'b': 'ema_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'first term', 'draw': []},
    {'name': 'atan2', 'class': 'operand', 'a': 'atan2_a', 'b': 'atan2_b', 'inputs': [((8, 64), 'fp32'), ((8, 64), 'fp32')], 'equal': False, 'why': 'quadrants', 'draw': []},
    {'name': 'out_order', 'class': 'operand', 'a': 'out_order_a', 'b': 'out_order_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'outputs swapped', 'draw': []},
    {'name': 'out_count', 'class': 'operand', 'a': 'out_count_a', 'b': 'out_count_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'one output fewer', 'draw': []},
]
