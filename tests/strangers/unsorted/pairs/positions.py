"""Pairs of a hostile reviewer."""
import math

import torch
import torch.nn.functional as F

import mirage


@mirage.optimize(inputs=[((4, 4096), 'fp32')])
def at1000_a(x):
    return x * 2


@mirage.optimize(inputs=[((4, 4096), 'fp32')])
def at1000_b(x):
    return torch.where(torch.arange(4096) == 1000, x * 2.001, x * 2)


@mirage.optimize(inputs=[((4, 4096), 'fp32')])
def last_el_a(x):
    return x.exp()


@mirage.optimize(inputs=[((4, 4096), 'fp32')])
def last_el_b(x):
    return torch.cat([x[:, :-1].exp(), x[:, -1:]], -1)


@mirage.optimize(inputs=[((256, 64), 'fp32')])
def row129_a(x):
    return x.relu()


@mirage.optimize(inputs=[((256, 64), 'fp32')])
def row129_b(x):
    return torch.where((torch.arange(256) == 129)[:, None], x, x.relu())


@mirage.optimize(inputs=[((4, 4096), 'fp32')])
def every64_a(x):
    return x.sum(-1)


@mirage.optimize(inputs=[((4, 4096), 'fp32')])
def every64_b(x):
    return (x * (torch.arange(4096) % 64 != 63)).sum(-1)


@mirage.optimize(inputs=[((8, 32, 32), 'fp32'), ((8, 32, 32), 'fp32')])
def last_batch_a(x, y):
    return x @ y


@mirage.optimize(inputs=[((8, 32, 32), 'fp32'), ((8, 32, 32), 'fp32')])
def last_batch_b(x, y):
    return torch.cat([x[:7] @ y[:7], x[7:] @ y[7:].mT], 0)


@mirage.optimize(inputs=[((4, 4096), 'fp32')])
def sum_head_a(x):
    return x.sum(-1)


@mirage.optimize(inputs=[((4, 4096), 'fp32')])
def sum_head_b(x):
    return x[:, :4095].sum(-1)


@mirage.optimize(inputs=[((4, 4096), 'fp32')])
def mean_narrow_a(x):
    return x.narrow(1, 1, 4095).mean(-1)


@mirage.optimize(inputs=[((4, 4096), 'fp32')])
def mean_narrow_b(x):
    return x.narrow(1, 0, 4095).mean(-1)


@mirage.optimize(inputs=[((4, 4096), 'fp32')])
def roll1_a(x):
    return x.roll(1, -1)


@mirage.optimize(inputs=[((4, 4096), 'fp32')])
def roll1_b(x):
    return x.roll(-1, -1)


@mirage.optimize(inputs=[((64, 64), 'fp32')])
def roll_sq_a(x):
    return x.roll(3, 0)


@mirage.optimize(inputs=[((64, 64), 'fp32')])
def roll_sq_b(x):
    return x.roll(3, 1)


@mirage.optimize(inputs=[((64, 64), 'fp32')])
def flip_sq_a(x):
    return x.flip(0)


@mirage.optimize(inputs=[((64, 64), 'fp32')])
def flip_sq_b(x):
    return x.flip(1)


@mirage.optimize(inputs=[((64, 64), 'fp32'), ((64, 64), 'fp32')])
def transpose_sq_a(x, y):
    return x @ y


@mirage.optimize(inputs=[((64, 64), 'fp32'), ((64, 64), 'fp32')])
def transpose_sq_b(x, y):
    return x @ y.t()


@mirage.optimize(inputs=[((64, 64), 'fp32'), ((64, 64), 'fp32')])
def order_sq_a(x, y):
    return x @ y


@mirage.optimize(inputs=[((64, 64), 'fp32'), ((64, 64), 'fp32')])
def order_sq_b(x, y):
    return y @ x


@mirage.optimize(inputs=[((64, 64), 'fp32'), ((64, 64), 'fp32'), ((64,), 'fp32')])
def bias_row_col_a(x, y, z):
    return F.linear(x, y, z)


@mirage.optimize(inputs=[((64, 64), 'fp32'), ((64, 64), 'fp32'), ((64,), 'fp32')])
def bias_row_col_b(x, y, z):
    return x @ y.t() + z[:, None]


@mirage.optimize(inputs=[((64, 64), 'fp32'), ((64,), 'fp32')])
def sub_order_a(x, y):
    return x - y


@mirage.optimize(inputs=[((64, 64), 'fp32'), ((64,), 'fp32')])
def sub_order_b(x, y):
    return y - x


@mirage.optimize(inputs=[((64,), 'fp32'), ((64,), 'fp32')])
def outer_a(x, y):
    return x[:, None] * y


@mirage.optimize(inputs=[((64,), 'fp32'), ((64,), 'fp32')])
def outer_b(x, y):
    return x * y[:, None]


@mirage.optimize(inputs=[((4, 16, 16), 'fp32'), ((4, 16, 16), 'fp32')])
def einsum_t_a(x, y):
    return torch.einsum('bij,bjk->bik', x, y)


@mirage.optimize(inputs=[((4, 16, 16), 'fp32'), ((4, 16, 16), 'fp32')])
def einsum_t_b(x, y):
    return torch.einsum('bij,bkj->bik', x, y)


@mirage.optimize(inputs=[((16, 16), 'fp32')])
def einsum_diag_a(x):
    return torch.einsum('ii->i', x)


@mirage.optimize(inputs=[((16, 16), 'fp32')])
def einsum_diag_b(x):
    return torch.einsum('ij->i', x)


@mirage.optimize(inputs=[((64, 64), 'fp32')])
def trace_off_a(x):
    return x.diagonal().sum()


@mirage.optimize(inputs=[((64, 64), 'fp32')])
def trace_off_b(x):
    return x.diagonal(1).sum()


@mirage.optimize(inputs=[((64, 64), 'fp32')])
def tril_k_a(x):
    return x.tril()


@mirage.optimize(inputs=[((64, 64), 'fp32')])
def tril_k_b(x):
    return x.tril(-1)


@mirage.optimize(inputs=[((4, 4096), 'fp32')])
def cumsum_excl_a(x):
    return x.cumsum(-1)


@mirage.optimize(inputs=[((4, 4096), 'fp32')])
def cumsum_excl_b(x):
    return x.cumsum(-1) - x


@mirage.optimize(inputs=[((64, 64), 'fp32')])
def cumsum_dim_a(x):
    return x.cumsum(0)


@mirage.optimize(inputs=[((64, 64), 'fp32')])
def cumsum_dim_b(x):
    return x.cumsum(1)


@mirage.optimize(inputs=[((4, 4096), 'fp32')])
def cumsum_reset_a(x):
    return x.cumsum(-1)


@mirage.optimize(inputs=[((4, 4096), 'fp32')])
def cumsum_reset_b(x):
    return x.view(4, 2, 2048).cumsum(-1).view(4, 4096)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def cumprod_reset_a(x):
    return x.cumprod(-1)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def cumprod_reset_b(x):
    return torch.cat([x[:, :32].cumprod(-1), x[:, 32:].cumprod(-1)], -1)


@mirage.optimize(inputs=[((4, 64), 'fp32')])
def unfold_step_a(x):
    return x.unfold(-1, 8, 4).mean(-1)


@mirage.optimize(inputs=[((4, 64), 'fp32')])
def unfold_step_b(x):
    return x.unfold(-1, 4, 4).mean(-1)[:, :15]


@mirage.optimize(inputs=[((1, 4, 32), 'fp32')])
def avgpool_pad_a(x):
    return F.avg_pool1d(x, 3, 1, 1)


@mirage.optimize(inputs=[((1, 4, 32), 'fp32')])
def avgpool_pad_b(x):
    return F.avg_pool1d(x, 3, 1, 1, count_include_pad=False)


@mirage.optimize(inputs=[((1, 4, 32), 'fp32')])
def maxpool_dil_a(x):
    return F.max_pool1d(x, 3, 1, 1)


@mirage.optimize(inputs=[((1, 4, 32), 'fp32')])
def maxpool_dil_b(x):
    return F.max_pool1d(F.pad(x, (2, 2), value=-1e9), 3, 1, dilation=2)


@mirage.optimize(inputs=[((1, 4, 32), 'fp32'), ((8, 4, 3), 'fp32')])
def conv_flip_a(x, y):
    return F.conv1d(x, y, padding=1)


@mirage.optimize(inputs=[((1, 4, 32), 'fp32'), ((8, 4, 3), 'fp32')])
def conv_flip_b(x, y):
    return F.conv1d(x, y.flip(-1), padding=1)


@mirage.optimize(inputs=[((1, 4, 32), 'fp32'), ((8, 4, 3), 'fp32')])
def conv_causal_a(x, y):
    return F.conv1d(F.pad(x, (2, 0)), y)


@mirage.optimize(inputs=[((1, 4, 32), 'fp32'), ((8, 4, 3), 'fp32')])
def conv_causal_b(x, y):
    return F.conv1d(F.pad(x, (1, 1)), y)


@mirage.optimize(inputs=[((1, 4, 32), 'fp32'), ((8, 4, 3), 'fp32')])
def conv_circ_a(x, y):
    return F.conv1d(F.pad(x, (1, 1)), y)


@mirage.optimize(inputs=[((1, 4, 32), 'fp32'), ((8, 4, 3), 'fp32')])
def conv_circ_b(x, y):
    return F.conv1d(F.pad(x, (1, 1), mode='circular'), y)


@mirage.optimize(inputs=[((4, 30), 'fp32')])
def pad_val_a(x):
    return F.pad(x, (1, 1)).cumsum(-1)


@mirage.optimize(inputs=[((4, 30), 'fp32')])
def pad_val_b(x):
    return F.pad(x, (1, 1), value=1e-2).cumsum(-1)


@mirage.optimize(inputs=[((16, 32), 'fp32')])
def reshape_t_a(x):
    return x.reshape(32, 16)


@mirage.optimize(inputs=[((16, 32), 'fp32')])
def reshape_t_b(x):
    return x.t()


@mirage.optimize(inputs=[((4, 8, 8), 'fp32')])
def reshape_perm_a(x):
    return x.transpose(1, 2).reshape(4, 64)


@mirage.optimize(inputs=[((4, 8, 8), 'fp32')])
def reshape_perm_b(x):
    return x.reshape(4, 64)


@mirage.optimize(inputs=[((1, 16, 4, 4), 'fp32')])
def pixel_shuffle_a(x):
    return F.pixel_shuffle(x, 2)


@mirage.optimize(inputs=[((1, 16, 4, 4), 'fp32')])
def pixel_shuffle_b(x):
    return x.view(1, 2, 2, 4, 4, 4).permute(0, 3, 4, 1, 5, 2).reshape(1, 4, 8, 8)


@mirage.optimize(inputs=[((2, 16, 8), 'fp32')])
def chan_shuffle_a(x):
    return F.channel_shuffle(x.unsqueeze(-1), 4).squeeze(-1)


@mirage.optimize(inputs=[((2, 16, 8), 'fp32')])
def chan_shuffle_b(x):
    return x.view(2, 16, 8)


@mirage.optimize(inputs=[((2, 16, 64), 'fp32')])
def heads_split_a(x):
    return x.view(2, 16, 4, 16).transpose(1, 2)


@mirage.optimize(inputs=[((2, 16, 64), 'fp32')])
def heads_split_b(x):
    return x.view(2, 4, 16, 16)


@mirage.optimize(inputs=[((8, 16, 96), 'fp32')])
def qkv_order_a(x):
    q, k, v = x.chunk(3, -1)
    return F.scaled_dot_product_attention(q, k, v)


@mirage.optimize(inputs=[((8, 16, 96), 'fp32')])
def qkv_order_b(x):
    q, k, v = x.view(8, 16, 32, 3).unbind(-1)
    return F.scaled_dot_product_attention(q, k, v)


@mirage.optimize(inputs=[((4, 4096), 'fp32')])
def diff_dir_a(x):
    return x.diff(dim=-1)


@mirage.optimize(inputs=[((4, 4096), 'fp32')])
def diff_dir_b(x):
    return x[:, :-1] - x[:, 1:]


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def sort_desc_a(x):
    return x.sort(-1).values


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def sort_desc_b(x):
    return x.sort(-1, descending=True).values


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def topk_k_a(x):
    return x.topk(8).values.sum(-1)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def topk_k_b(x):
    return x.topk(7).values.sum(-1)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def topk_abs_a(x):
    return x.topk(4).values


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def topk_abs_b(x):
    return x.abs().topk(4).values


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def median_low_a(x):
    return x.median(-1).values


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def median_low_b(x):
    return x.sort(-1).values[:, 32]


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def median_quant_a(x):
    return x.median(-1).values


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def median_quant_b(x):
    return x.quantile(0.5, -1)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def kth_off_a(x):
    return x.kthvalue(5, -1).values


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def kth_off_b(x):
    return x.sort(-1).values[:, 5]


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def argsort_rank_a(x):
    return x.argsort(-1)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def argsort_rank_b(x):
    return x.argsort(-1).argsort(-1)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def argmax_min_a(x):
    return x.argmax(-1)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def argmax_min_b(x):
    return x.neg().argmax(-1)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def argmax_abs_a(x):
    return x.argmax(-1)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def argmax_abs_b(x):
    return x.abs().argmax(-1)


@mirage.optimize(inputs=[((8, 64), 'bool')])
def argmax_last_a(x):
    return x.int().argmax(-1)


@mirage.optimize(inputs=[((8, 64), 'bool')])
def argmax_last_b(x):
    return 63 - x.int().flip(-1).argmax(-1)


@mirage.optimize(inputs=[((16, 16), 'fp32'), ((16, 16), 'int64')])
def gather_dim_a(x, y):
    return x.gather(0, y)


@mirage.optimize(inputs=[((16, 16), 'fp32'), ((16, 16), 'int64')])
def gather_dim_b(x, y):
    return x.gather(1, y)


@mirage.optimize(inputs=[((16, 16), 'fp32'), ((16,), 'int64')])
def index_sel_a(x, y):
    return x[y]


@mirage.optimize(inputs=[((16, 16), 'fp32'), ((16,), 'int64')])
def index_sel_b(x, y):
    return x[:, y]


@mirage.optimize(inputs=[((100, 16), 'fp32'), ((512,), 'int64')])
def emb_pad_a(x, y):
    return F.embedding(y, x)


@mirage.optimize(inputs=[((100, 16), 'fp32'), ((512,), 'int64')])
def emb_pad_b(x, y):
    return F.embedding(y, x) * (y != 0)[:, None]


@mirage.optimize(inputs=[((32,), 'int64')])
def onehot_off_a(x):
    return F.one_hot(x, 10)


@mirage.optimize(inputs=[((32,), 'int64')])
def onehot_off_b(x):
    return F.one_hot((x + 1) % 10, 10)


CASES = [
    {'name': 'at1000', 'class': 'position', 'a': 'at1000_a', 'b': 'at1000_b', 'inputs': [((4, 4096), 'fp32')], 'equal': False, 'why': 'index 1000', 'draw': []},
    {'name': 'last_el', 'class': 'position', 'a': 'last_el_a', 'b': 'last_el_b', 'inputs': [((4, 4096), 'fp32')], 'equal': False, 'why': 'last element', 'draw': []},
    {'name': 'row129', 'class': 'position', 'a': 'row129_a', 'b': 'row129_b', 'inputs': [((256, 64), 'fp32')], 'equal': False, 'why': 'row 129', 'draw': []},
    {'name': 'every64', 'class': 'position', 'a': 'every64_a', 'b': 'every64_b', 'inputs': [((4, 4096), 'fp32')], 'equal': False, 'why': 'every 64th left out', 'draw': []},
    {'name': 'last_batch', 'class': 'position', 'a': 'last_batch_a', 'b': 'last_batch_b', 'inputs': [((8, 32, 32), 'fp32'), ((8, 32, 32), 'fp32')], 'equal': False, 'why': 'last batch item transposed', 'draw': []},
    {'name': 'sum_head', 'class': 'position', 'a': 'sum_head_a', 'b': 'sum_head_b', 'inputs': [((4, 4096), 'fp32')], 'equal': False, 'why': 'last left out', 'draw': []},
    {'name': 'mean_narrow', 'class': 'position', 'a': 'mean_narrow_a', 'b': 'mean_narrow_b', 'inputs': [((4, 4096), 'fp32')], 'equal': False, 'why': 'narrow off by one', 'draw': []},
    {'name': 'roll1', 'class': 'position', 'a': 'roll1_a', 'b': 'roll1_b', 'inputs': [((4, 4096), 'fp32')], 'equal': False, 'why': 'direction', 'draw': []},
    {'name': 'roll_sq', 'class': 'dim', 'a': 'roll_sq_a', 'b': 'roll_sq_b', 'inputs': [((64, 64), 'fp32')], 'equal': False, 'why': 'dim', 'draw': []},
    {'name': 'flip_sq', 'class': 'dim', 'a': 'flip_sq_a', 'b': 'flip_sq_b', 'inputs': [((64, 64), 'fp32')], 'equal': False, 'why': 'dim', 'draw': []},
    {'name': 'transpose_sq', 'class': 'dim', 'a': 'transpose_sq_a', 'b': 'transpose_sq_b', 'inputs': [((64, 64), 'fp32'), ((64, 64), 'fp32')], 'equal': False, 'why': 'transposed', 'draw': []},
    {'name': 'order_sq', 'class': 'operand', 'a': 'order_sq_a', 'b': 'order_sq_b', 'inputs': [((64, 64), 'fp32'), ((64, 64), 'fp32')], 'equal': False, 'why': 'order', 'draw': []},
    {'name': 'bias_row_col', 'class': 'broadcast', 'a': 'bias_row_col_a', 'b': 'bias_row_col_b', 'inputs': [((64, 64), 'fp32'), ((64, 64), 'fp32'), ((64,), 'fp32')], 'equal': False, 'why': 'bias over rows', 'draw': []},
    {'name': 'sub_order', 'class': 'operand', 'a': 'sub_order_a', 'b': 'sub_order_b', 'inputs': [((64, 64), 'fp32'), ((64,), 'fp32')], 'equal': False, 'why': 'order', 'draw': []},
    {'name': 'outer', 'class': 'operand', 'a': 'outer_a', 'b': 'outer_b', 'inputs': [((64,), 'fp32'), ((64,), 'fp32')], 'equal': False, 'why': 'transposed outer', 'draw': []},
    {'name': 'einsum_t', 'class': 'dim', 'a': 'einsum_t_a', 'b': 'einsum_t_b', 'inputs': [((4, 16, 16), 'fp32'), ((4, 16, 16), 'fp32')], 'equal': False, 'why': 'k', 'draw': []},
    {'name': 'einsum_diag', 'class': 'dim', 'a': 'einsum_diag_a', 'b': 'einsum_diag_b', 'inputs': [((16, 16), 'fp32')], 'equal': False, 'why': 'diagonal or row sum', 'draw': []},
    {'name': 'trace_off', 'class': 'position', 'a': 'trace_off_a', 'b': 'trace_off_b', 'inputs': [((64, 64), 'fp32')], 'equal': False, 'why': 'diagonal', 'draw': []},
    {'name': 'tril_k', 'class': 'position', 'a': 'tril_k_a', 'b': 'tril_k_b', 'inputs': [((64, 64), 'fp32')], 'equal': False, 'why': 'diagonal', 'draw': []},
    {'name': 'cumsum_excl', 'class': 'position', 'a': 'cumsum_excl_a', 'b': 'cumsum_excl_b', 'inputs': [((4, 4096), 'fp32')], 'equal': False, 'why': 'exclusive', 'draw': []},
    {'name': 'cumsum_dim', 'class': 'dim', 'a': 'cumsum_dim_a', 'b': 'cumsum_dim_b', 'inputs': [((64, 64), 'fp32')], 'equal': False, 'why': 'dim', 'draw': []},
    {'name': 'cumsum_reset', 'class': 'position', 'a': 'cumsum_reset_a', 'b': 'cumsum_reset_b', 'inputs': [((4, 4096), 'fp32')], 'equal': False, 'why': 'reset in the middle', 'draw': []},
    {'name': 'cumprod_reset', 'class': 'position', 'a': 'cumprod_reset_a', 'b': 'cumprod_reset_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'reset', 'draw': []},
    {'name': 'unfold_step', 'class': 'position', 'a': 'unfold_step_a', 'b': 'unfold_step_b', 'inputs': [((4, 64), 'fp32')], 'equal': False, 'why': 'window', 'draw': []},
    {'name': 'avgpool_pad', 'class': 'denominator', 'a': 'avgpool_pad_a', 'b': 'avgpool_pad_b', 'inputs': [((1, 4, 32), 'fp32')], 'equal': False, 'why': 'pad counted', 'draw': []},
    {'name': 'maxpool_dil', 'class': 'position', 'a': 'maxpool_dil_a', 'b': 'maxpool_dil_b', 'inputs': [((1, 4, 32), 'fp32')], 'equal': False, 'why': 'dilation', 'draw': []},
    {'name': 'conv_flip', 'class': 'position', 'a': 'conv_flip_a', 'b': 'conv_flip_b', 'inputs': [((1, 4, 32), 'fp32'), ((8, 4, 3), 'fp32')], 'equal': False, 'why': 'convolution or correlation', 'draw': []},
    {'name': 'conv_causal', 'class': 'position', 'a': 'conv_causal_a', 'b': 'conv_causal_b', 'inputs': [((1, 4, 32), 'fp32'), ((8, 4, 3), 'fp32')], 'equal': False, 'why': 'causal', 'draw': []},
    {'name': 'conv_circ', 'class': 'position', 'a': 'conv_circ_a', 'b': 'conv_circ_b', 'inputs': [((1, 4, 32), 'fp32'), ((8, 4, 3), 'fp32')], 'equal': False, 'why': 'edges alone', 'draw': []},
    {'name': 'pad_val', 'class': 'position', 'a': 'pad_val_a', 'b': 'pad_val_b', 'inputs': [((4, 30), 'fp32')], 'equal': False, 'why': 'pad value', 'draw': []},
    {'name': 'reshape_t', 'class': 'dim', 'a': 'reshape_t_a', 'b': 'reshape_t_b', 'inputs': [((16, 32), 'fp32')], 'equal': False, 'why': 'reshape is no transpose', 'draw': []},
    {'name': 'reshape_perm', 'class': 'dim', 'a': 'reshape_perm_a', 'b': 'reshape_perm_b', 'inputs': [((4, 8, 8), 'fp32')], 'equal': False, 'why': 'transposed before', 'draw': []},
    {'name': 'pixel_shuffle', 'class': 'dim', 'a': 'pixel_shuffle_a', 'b': 'pixel_shuffle_b', 'inputs': [((1, 16, 4, 4), 'fp32')], 'equal': False, 'why': 'channels order', 'draw': []},
    {'name': 'chan_shuffle', 'class': 'dim', 'a': 'chan_shuffle_a', 'b': 'chan_shuffle_b', 'inputs': [((2, 16, 8), 'fp32')], 'equal': False, 'why': 'shuffle left out', 'draw': []},
    {'name': 'heads_split', 'class': 'dim', 'a': 'heads_split_a', 'b': 'heads_split_b', 'inputs': [((2, 16, 64), 'fp32')], 'equal': False, 'why': 'view in place of transpose', 'draw': []},
    {'name': 'qkv_order', 'class': 'operand', 'a': 'qkv_order_a', 'b': 'qkv_order_b', 'inputs': [((8, 16, 96), 'fp32')], 'equal': False, 'why': 'packed otherwise', 'draw': []},
    {'name': 'diff_dir', 'class': 'operand', 'a': 'diff_dir_a', 'b': 'diff_dir_b', 'inputs': [((4, 4096), 'fp32')], 'equal': False, 'why': 'sign', 'draw': []},
    {'name': 'sort_desc', 'class': 'order', 'a': 'sort_desc_a', 'b': 'sort_desc_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'direction', 'draw': []},
    {'name': 'topk_k', 'class': 'order', 'a': 'topk_k_a', 'b': 'topk_k_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'k', 'draw': []},
    {'name': 'topk_abs', 'class': 'order', 'a': 'topk_abs_a', 'b': 'topk_abs_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'abs', 'draw': []},
    {'name': 'median_low', 'class': 'order', 'a': 'median_low_a', 'b': 'median_low_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'upper median', 'draw': []},
    {'name': 'median_quant', 'class': 'order', 'a': 'median_quant_a', 'b': 'median_quant_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'mean of two', 'draw': []},
    {'name': 'kth_off', 'class': 'order', 'a': 'kth_off_a', 'b': 'kth_off_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'from one', 'draw': []},
    {'name': 'argsort_rank', 'class': 'order', 'a': 'argsort_rank_a', 'b': 'argsort_rank_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'order or rank', 'draw': []},
    {'name': 'argmax_min', 'class': 'order', 'a': 'argmax_min_a', 'b': 'argmax_min_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'argmin', 'draw': []},
    {'name': 'argmax_abs', 'class': 'order', 'a': 'argmax_abs_a', 'b': 'argmax_abs_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'abs', 'draw': []},
    {'name': 'argmax_last', 'class': 'ties', 'a': 'argmax_last_a', 'b': 'argmax_last_b', 'inputs': [((8, 64), 'bool')], 'equal': False, 'why': 'first or last of ties', 'draw': []},
    {'name': 'gather_dim', 'class': 'dim', 'a': 'gather_dim_a', 'b': 'gather_dim_b', 'inputs': [((16, 16), 'fp32'), ((16, 16), 'int64')], 'equal': False, 'why': 'dim', 'draw': ['normal', 'ids:16']},
    {'name': 'index_sel', 'class': 'dim', 'a': 'index_sel_a', 'b': 'index_sel_b', 'inputs': [((16, 16), 'fp32'), ((16,), 'int64')], 'equal': False, 'why': 'dim', 'draw': ['normal', 'ids:16']},
    {'name': 'emb_pad', 'class': 'position', 'a': 'emb_pad_a', 'b': 'emb_pad_b', 'inputs': [((100, 16), 'fp32'), ((512,), 'int64')], 'equal': False, 'why': 'pad row', 'draw': ['normal', 'ids:100']},
    {'name': 'onehot_off', 'class': 'position', 'a': 'onehot_off_a', 'b': 'onehot_off_b', 'inputs': [((32,), 'int64')], 'equal': False, 'why': 'off by one', 'draw': ['ids:10']},
]
