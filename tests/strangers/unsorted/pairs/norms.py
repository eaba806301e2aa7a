"""Pairs of a hostile reviewer."""
import math

import torch
import torch.nn.functional as F

import mirage


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def rms_eps_outside_a(x):
    return x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-2)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def rms_eps_outside_b(x):
    return x / (torch.sqrt((x * x).mean(-1, keepdim=True)) + 1e-2)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def ln_eps_outside_a(x):
    return F.layer_norm(x, (64,), eps=1e-3)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def ln_eps_outside_b(x):
    return (x - x.mean(-1, keepdim=True)) / (x.std(-1, unbiased=False, keepdim=True) + 1e-3)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def ln_eps_digit_a(x):
    return F.layer_norm(x, (64,), eps=1e-3)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def ln_eps_digit_b(x):
    return F.layer_norm(x, (64,), eps=1.1e-3)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def ln_eps_missing_a(x):
    return F.layer_norm(x, (64,))


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def ln_eps_missing_b(x):
    return F.layer_norm(x, (64,), eps=1e-2)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def rms_eps_twice_a(x):
    return F.rms_norm(x, (64,), eps=1e-3)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def rms_eps_twice_b(x):
    return F.rms_norm(x, (64,), eps=2e-3)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def var_unbiased_a(x):
    return x.var(-1)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def var_unbiased_b(x):
    return x.var(-1, unbiased=False)


@mirage.optimize(inputs=[((4, 4096), 'fp32')])
def std_corr2_a(x):
    return x.std(-1, correction=1)


@mirage.optimize(inputs=[((4, 4096), 'fp32')])
def std_corr2_b(x):
    return x.std(-1, correction=2)


@mirage.optimize(inputs=[((64, 64), 'fp32')])
def ln_dim_square_a(x):
    return F.layer_norm(x, (64,))


@mirage.optimize(inputs=[((64, 64), 'fp32')])
def ln_dim_square_b(x):
    return F.layer_norm(x.t(), (64,)).t()


@mirage.optimize(inputs=[((8, 16, 32), 'fp32')])
def ln_all_dims_a(x):
    return F.layer_norm(x, (16, 32))


@mirage.optimize(inputs=[((8, 16, 32), 'fp32')])
def ln_all_dims_b(x):
    return F.layer_norm(x, (32,))


@mirage.optimize(inputs=[((4, 32, 16), 'fp32')])
def gn_groups_a(x):
    return F.group_norm(x, 4)


@mirage.optimize(inputs=[((4, 32, 16), 'fp32')])
def gn_groups_b(x):
    return F.group_norm(x, 8)


@mirage.optimize(inputs=[((4, 32, 16), 'fp32')])
def gn_interleaved_a(x):
    return F.group_norm(x, 4)


@mirage.optimize(inputs=[((4, 32, 16), 'fp32')])
def gn_interleaved_b(x):
    return F.group_norm(x.view(4, 8, 4, 16).transpose(1, 2).reshape(4, 32, 16), 4).view(4, 4, 8, 16).transpose(1, 2).reshape(4, 32, 16)


@mirage.optimize(inputs=[((4, 16, 16), 'fp32')])
def inst_vs_layer_a(x):
    return F.instance_norm(x)


@mirage.optimize(inputs=[((4, 16, 16), 'fp32')])
def inst_vs_layer_b(x):
    return F.layer_norm(x, (16, 16))


@mirage.optimize(inputs=[((64, 64), 'fp32'), ((64,), 'fp32')])
def rms_gain_row_col_a(x, y):
    return F.rms_norm(x, (64,)) * y


@mirage.optimize(inputs=[((64, 64), 'fp32'), ((64,), 'fp32')])
def rms_gain_row_col_b(x, y):
    return F.rms_norm(x, (64,)) * y[:, None]


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def rms_l1_a(x):
    return x / x.norm(dim=-1, keepdim=True)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def rms_l1_b(x):
    return x / x.norm(p=1, dim=-1, keepdim=True)


@mirage.optimize(inputs=[((64, 64), 'fp32')])
def normalize_dim_a(x):
    return F.normalize(x, dim=-1)


@mirage.optimize(inputs=[((64, 64), 'fp32')])
def normalize_dim_b(x):
    return F.normalize(x, dim=0)


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((64,), 'fp32')])
def gain_plus_one_a(x, y):
    return F.rms_norm(x, (64,)) * (1 + y)


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((64,), 'fp32')])
def gain_plus_one_b(x, y):
    return F.rms_norm(x, (64,)) * y


@mirage.optimize(inputs=[((4, 4096), 'fp32')])
def mean_div_n1_a(x):
    return x.sum(-1) / 4096


@mirage.optimize(inputs=[((4, 4096), 'fp32')])
def mean_div_n1_b(x):
    return x.sum(-1) / 4095


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def const_4th_a(x):
    return x * 0.7071


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def const_4th_b(x):
    return x * 0.7079


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def gelu_const_a(x):
    return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x ** 3)))


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def gelu_const_b(x):
    return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044751 * x ** 3)))


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def gelu_tanh_erf_a(x):
    return F.gelu(x)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def gelu_tanh_erf_b(x):
    return F.gelu(x, approximate='tanh')


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def quick_gelu_a(x):
    return x * torch.sigmoid(1.702 * x)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def quick_gelu_b(x):
    return x * torch.sigmoid(1.7 * x)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def leaky_slope_a(x):
    return F.leaky_relu(x)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def leaky_slope_b(x):
    return F.leaky_relu(x, 0.02)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def softplus_beta_a(x):
    return F.softplus(x)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def softplus_beta_b(x):
    return F.softplus(x, beta=1.01)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def elu_alpha_a(x):
    return F.elu(x)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def elu_alpha_b(x):
    return F.elu(x, alpha=0.99)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def hardswish_a(x):
    return F.hardswish(x)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def hardswish_b(x):
    return x * (x + 3).clamp(0, 6) / 6.01


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 64), 'fp32')])
def silu_swap_a(x, y):
    return F.silu(x) * y


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 64), 'fp32')])
def silu_swap_b(x, y):
    return x * F.silu(y)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def geglu_halves_a(x):
    return F.gelu(x[:, :32]) * x[:, 32:]


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def geglu_halves_b(x):
    return x[:, :32] * F.gelu(x[:, 32:])


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def glu_inter_a(x):
    return F.glu(x)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def glu_inter_b(x):
    return x[:, ::2] * torch.sigmoid(x[:, 1::2])


CASES = [
    {'name': 'rms_eps_outside', 'class': 'eps', 'a': 'rms_eps_outside_a', 'b': 'rms_eps_outside_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'eps outside the root', 'draw': []},
    {'name': 'ln_eps_outside', 'class': 'eps', 'a': 'ln_eps_outside_a', 'b': 'ln_eps_outside_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'eps outside the root', 'draw': []},
    {'name': 'ln_eps_digit', 'class': 'eps', 'a': 'ln_eps_digit_a', 'b': 'ln_eps_digit_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'eps', 'draw': []},
    {'name': 'ln_eps_missing', 'class': 'eps', 'a': 'ln_eps_missing_a', 'b': 'ln_eps_missing_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'default eps', 'draw': []},
    {'name': 'rms_eps_twice', 'class': 'eps', 'a': 'rms_eps_twice_a', 'b': 'rms_eps_twice_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'eps', 'draw': []},
    {'name': 'var_unbiased', 'class': 'denominator', 'a': 'var_unbiased_a', 'b': 'var_unbiased_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'Bessel', 'draw': []},
    {'name': 'std_corr2', 'class': 'denominator', 'a': 'std_corr2_a', 'b': 'std_corr2_b', 'inputs': [((4, 4096), 'fp32')], 'equal': False, 'why': 'correction 1 or 2 in 4096', 'draw': []},
    {'name': 'ln_dim_square', 'class': 'dim', 'a': 'ln_dim_square_a', 'b': 'ln_dim_square_b', 'inputs': [((64, 64), 'fp32')], 'equal': False, 'why': 'wrong dim of a square', 'draw': []},
    {'name': 'ln_all_dims', 'class': 'dim', 'a': 'ln_all_dims_a', 'b': 'ln_all_dims_b', 'inputs': [((8, 16, 32), 'fp32')], 'equal': False, 'why': 'both dims or the last', 'draw': []},
    {'name': 'gn_groups', 'class': 'groups', 'a': 'gn_groups_a', 'b': 'gn_groups_b', 'inputs': [((4, 32, 16), 'fp32')], 'equal': False, 'why': 'groups', 'draw': []},
    {'name': 'gn_interleaved', 'class': 'groups', 'a': 'gn_interleaved_a', 'b': 'gn_interleaved_b', 'inputs': [((4, 32, 16), 'fp32')], 'equal': False, 'why': 'interleaved groups', 'draw': []},
    {'name': 'inst_vs_layer', 'class': 'groups', 'a': 'inst_vs_layer_a', 'b': 'inst_vs_layer_b', 'inputs': [((4, 16, 16), 'fp32')], 'equal': False, 'why': 'per channel or per item', 'draw': []},
    {'name': 'rms_gain_row_col', 'class': 'broadcast', 'a': 'rms_gain_row_col_a', 'b': 'rms_gain_row_col_b', 'inputs': [((64, 64), 'fp32'), ((64,), 'fp32')], 'equal': False, 'why': 'gain over rows', 'draw': []},
    {'name': 'rms_l1', 'class': 'norm', 'a': 'rms_l1_a', 'b': 'rms_l1_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'l1', 'draw': []},
    {'name': 'normalize_dim', 'class': 'dim', 'a': 'normalize_dim_a', 'b': 'normalize_dim_b', 'inputs': [((64, 64), 'fp32')], 'equal': False, 'why': 'dim', 'draw': []},
    {'name': 'gain_plus_one', 'class': 'norm', 'a': 'gain_plus_one_a', 'b': 'gain_plus_one_b', 'inputs': [((8, 64), 'fp32'), ((64,), 'fp32')], 'equal': False, 'why': 'gemma gain', 'draw': []},
    {'name': 'mean_div_n1', 'class': 'denominator', 'a': 'mean_div_n1_a', 'b': 'mean_div_n1_b', 'inputs': [((4, 4096), 'fp32')], 'equal': False, 'why': 'n - 1', 'draw': []},
    {'name': 'const_4th', 'class': 'constant', 'a': 'const_4th_a', 'b': 'const_4th_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': '4th digit', 'draw': []},
    {'name': 'gelu_const', 'class': 'constant', 'a': 'gelu_const_a', 'b': 'gelu_const_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'transposed digits', 'draw': []},
    {'name': 'gelu_tanh_erf', 'class': 'constant', 'a': 'gelu_tanh_erf_a', 'b': 'gelu_tanh_erf_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'approximate gelu', 'draw': []},
    {'name': 'quick_gelu', 'class': 'constant', 'a': 'quick_gelu_a', 'b': 'quick_gelu_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': '1.702', 'draw': []},
    {'name': 'leaky_slope', 'class': 'constant', 'a': 'leaky_slope_a', 'b': 'leaky_slope_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'default slope', 'draw': []},
    {'name': 'softplus_beta', 'class': 'constant', 'a': 'softplus_beta_a', 'b': 'softplus_beta_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'beta', 'draw': []},
    {'name': 'elu_alpha', 'class': 'constant', 'a': 'elu_alpha_a', 'b': 'elu_alpha_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'alpha', 'draw': []},
    {'name': 'hardswish', 'class': 'constant', 'a': 'hardswish_a', 'b': 'hardswish_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': '6.01', 'draw': []},
    {'name': 'silu_swap', 'class': 'operand', 'a': 'silu_swap_a', 'b': 'silu_swap_b', 'inputs': [((8, 64), 'fp32'), ((8, 64), 'fp32')], 'equal': False, 'why': 'gate and up swapped', 'draw': []},
    {'name': 'geglu_halves', 'class': 'operand', 'a': 'geglu_halves_a', 'b': 'geglu_halves_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'halves swapped', 'draw': []},
    {'name': 'glu_inter', 'class': 'operand', 'a': 'glu_inter_a', 'b': 'glu_inter_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'interleaved glu', 'draw': []},
]
