"""Pairs of a hostile reviewer."""
import math

import torch
import torch.nn.functional as F

import mirage


@mirage.optimize(inputs=[((8, 64), 'int32')])
def floor_trunc_a(x):
    return x // 3


@mirage.optimize(inputs=[((8, 64), 'int32')])
def floor_trunc_b(x):
    return torch.div(x, 3, rounding_mode='trunc')


@mirage.optimize(inputs=[((8, 64), 'int32')])
def rem_fmod_a(x):
    return torch.remainder(x, 7)


@mirage.optimize(inputs=[((8, 64), 'int32')])
def rem_fmod_b(x):
    return torch.fmod(x, 7)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def rem_fmod_f_a(x):
    return torch.remainder(x, 0.5)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def rem_fmod_f_b(x):
    return torch.fmod(x, 0.5)


@mirage.optimize(inputs=[((8, 64), 'int32')])
def shift_div_a(x):
    return x >> 2


@mirage.optimize(inputs=[((8, 64), 'int32')])
def shift_div_b(x):
    return torch.div(x, 4, rounding_mode='trunc')


@mirage.optimize(inputs=[((8, 64), 'int8'), ((8, 64), 'int8')])
def i8_wrap_a(x, y):
    return (x + y).int()


@mirage.optimize(inputs=[((8, 64), 'int8'), ((8, 64), 'int8')])
def i8_wrap_b(x, y):
    return x.int() + y.int()


@mirage.optimize(inputs=[((8, 64), 'int8'), ((8, 64), 'int8')])
def i8_mul_a(x, y):
    return (x * y).to(torch.int16)


@mirage.optimize(inputs=[((8, 64), 'int8'), ((8, 64), 'int8')])
def i8_mul_b(x, y):
    return x.to(torch.int16) * y.to(torch.int16)


@mirage.optimize(inputs=[((8, 64), 'uint8'), ((8, 64), 'uint8')])
def u8_sub_a(x, y):
    return (x - y).int()


@mirage.optimize(inputs=[((8, 64), 'uint8'), ((8, 64), 'uint8')])
def u8_sub_b(x, y):
    return x.int() - y.int()


@mirage.optimize(inputs=[((8, 64), 'uint8')])
def u8_neg_a(x):
    return (-x).float()


@mirage.optimize(inputs=[((8, 64), 'uint8')])
def u8_neg_b(x):
    return -(x.float())


@mirage.optimize(inputs=[((8, 64), 'int32'), ((8, 64), 'int32')])
def i32_mul_a(x, y):
    return (x * y).long()


@mirage.optimize(inputs=[((8, 64), 'int32'), ((8, 64), 'int32')])
def i32_mul_b(x, y):
    return x.long() * y.long()


@mirage.optimize(inputs=[((8, 64), 'int32')])
def i32_shl_a(x):
    return (x << 8).long()


@mirage.optimize(inputs=[((8, 64), 'int32')])
def i32_shl_b(x):
    return x.long() << 8


@mirage.optimize(inputs=[((64, 64), 'int8')])
def i8_abs_a(x):
    return x.abs().int()


@mirage.optimize(inputs=[((64, 64), 'int8')])
def i8_abs_b(x):
    return x.int().abs()


@mirage.optimize(inputs=[((8, 64), 'int64')])
def i64_f32_a(x):
    return (x.float() + 1).long()


@mirage.optimize(inputs=[((8, 64), 'int64')])
def i64_f32_b(x):
    return x + 1


@mirage.optimize(inputs=[((8, 64), 'bool')])
def bool_sum_a(x):
    return x.sum(-1)


@mirage.optimize(inputs=[((8, 64), 'bool')])
def bool_sum_b(x):
    return x.any(-1).long()


@mirage.optimize(inputs=[((8, 64), 'bool'), ((8, 64), 'bool')])
def bool_add_a(x, y):
    return (x + y).int()


@mirage.optimize(inputs=[((8, 64), 'bool'), ((8, 64), 'bool')])
def bool_add_b(x, y):
    return x.int() + y.int()


@mirage.optimize(inputs=[((8, 64), 'bool'), ((8, 64), 'bool')])
def xor_or_a(x, y):
    return x ^ y


@mirage.optimize(inputs=[((8, 64), 'bool'), ((8, 64), 'bool')])
def xor_or_b(x, y):
    return x | y


@mirage.optimize(inputs=[((8, 64), 'bool'), ((8, 64), 'bool')])
def nand_a(x, y):
    return ~(x & y)


@mirage.optimize(inputs=[((8, 64), 'bool'), ((8, 64), 'bool')])
def nand_b(x, y):
    return ~x & ~y


@mirage.optimize(inputs=[((8, 64), 'bool'), ((8, 64), 'bool')])
def implies_a(x, y):
    return ~x | y


@mirage.optimize(inputs=[((8, 64), 'bool'), ((8, 64), 'bool')])
def implies_b(x, y):
    return x | ~y


@mirage.optimize(inputs=[((8, 64), 'int8')])
def i8_sum_a(x):
    return x.sum(-1)


@mirage.optimize(inputs=[((8, 64), 'int8')])
def i8_sum_b(x):
    return x.sum(-1, dtype=torch.int8).long()


@mirage.optimize(inputs=[((8, 64), 'int64'), ((8, 64), 'int64')])
def div_float_a(x, y):
    return x // (y + 1)


@mirage.optimize(inputs=[((8, 64), 'int64'), ((8, 64), 'int64')])
def div_float_b(x, y):
    return (x / (y + 1)).round().long()


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def trunc_long_a(x):
    return x.long()


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def trunc_long_b(x):
    return x.floor().long()


@mirage.optimize(inputs=[((8, 64), 'int32')])
def round_half_a(x):
    return (x / 2).round()


@mirage.optimize(inputs=[((8, 64), 'int32')])
def round_half_b(x):
    return (x / 2 + 0.5).floor()


@mirage.optimize(inputs=[((8, 64), 'int32')])
def ceil_floor1_a(x):
    return (x / 4).ceil()


@mirage.optimize(inputs=[((8, 64), 'int32')])
def ceil_floor1_b(x):
    return (x / 4).floor() + 1


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def trunc_floor_a(x):
    return (x * 3).trunc()


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def trunc_floor_b(x):
    return (x * 3).floor()


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def frac_mod1_a(x):
    return x.frac()


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def frac_mod1_b(x):
    return x % 1


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def sign_heav_a(x):
    return x.sign()


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def sign_heav_b(x):
    return torch.where(x >= 0.1, 1.0, -1.0)


@mirage.optimize(inputs=[((8, 64), 'int32')])
def sign_zero_a(x):
    return x.sign()


@mirage.optimize(inputs=[((8, 64), 'int32')])
def sign_zero_b(x):
    return (x >= 0).int() * 2 - 1


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def quant_clamp_a(x):
    return (x * 64).round().clamp(-128, 127)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def quant_clamp_b(x):
    return (x * 64).round().clamp(-127, 127)


@mirage.optimize(inputs=[((8, 64), 'uint8')])
def int4_pack_a(x):
    return torch.stack([x & 15, x >> 4], -1).flatten(-2)


@mirage.optimize(inputs=[((8, 64), 'uint8')])
def int4_pack_b(x):
    return torch.stack([x >> 4, x & 15], -1).flatten(-2)


@mirage.optimize(inputs=[((8, 64), 'uint8')])
def int4_sign_a(x):
    return (x & 15).to(torch.int8) - 8


@mirage.optimize(inputs=[((8, 64), 'uint8')])
def int4_sign_b(x):
    return ((x & 15) << 4).to(torch.int8) >> 4


@mirage.optimize(inputs=[((8, 64), 'int32')])
def parity_a(x):
    return x % 2 == 1


@mirage.optimize(inputs=[((8, 64), 'int32')])
def parity_b(x):
    return torch.fmod(x, 2) == 1


@mirage.optimize(inputs=[((8, 64), 'uint8')])
def popcount2_a(x):
    return (x & 1) + ((x >> 1) & 1) + ((x >> 7) & 1)


@mirage.optimize(inputs=[((8, 64), 'uint8')])
def popcount2_b(x):
    return (x & 1) + ((x >> 1) & 1) + ((x >> 6) & 1)


@mirage.optimize(inputs=[((8, 64), 'int64')])
def pow2mod_a(x):
    return x & 31


@mirage.optimize(inputs=[((8, 64), 'int64')])
def pow2mod_b(x):
    return x % 31


@mirage.optimize(inputs=[((8, 64), 'int64')])
def lcg_a(x):
    return (x * 1103515245 + 12345) % 2147483648


@mirage.optimize(inputs=[((8, 64), 'int64')])
def lcg_b(x):
    return (x * 1103515245 + 12345) % 2147483647


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def clamp_order_a(x):
    return x.clamp(max=0.5).clamp(min=1.0)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def clamp_order_b(x):
    return x.clamp(min=1.0).clamp(max=0.5)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def relu6_a(x):
    return F.relu6(x * 10)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def relu6_b(x):
    return F.relu(x * 10)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def relu_abs_a(x):
    return x.relu()


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def relu_abs_b(x):
    return (x + x.abs()) / 2.001


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def hardtanh_a(x):
    return F.hardtanh(x)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def hardtanh_b(x):
    return x.clamp(-1, 1.05)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def shrink_a(x):
    return F.hardshrink(x)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def shrink_b(x):
    return F.softshrink(x)


@mirage.optimize(inputs=[((8, 64), 'int32')])
def where_ge_a(x):
    return torch.where(x > 5, x, 0)


@mirage.optimize(inputs=[((8, 64), 'int32')])
def where_ge_b(x):
    return torch.where(x >= 5, x, 0)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def far40_a(x):
    return torch.where(x > 40, x, 0.0)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def far40_b(x):
    return torch.where(x > 42, x, 0.0)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def far6e4_a(x):
    return x.clamp(max=6e4)


@mirage.optimize(inputs=[((8, 64), 'fp32')])
def far6e4_b(x):
    return x.clamp(max=6.1e4)


@mirage.optimize(inputs=[((64, 4096), 'fp32')])
def near0_a(x):
    return torch.where(x.abs() < 1e-4, torch.zeros_like(x), 1 / x)


@mirage.optimize(inputs=[((64, 4096), 'fp32')])
def near0_b(x):
    return 1 / x


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 64), 'fp32')])
def huber_d_a(x, y):
    return F.huber_loss(x, y)


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 64), 'fp32')])
def huber_d_b(x, y):
    return F.huber_loss(x, y, delta=1.02)


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 64), 'fp32')])
def smooth_huber_a(x, y):
    return F.smooth_l1_loss(x, y, beta=0.5)


@mirage.optimize(inputs=[((8, 64), 'fp32'), ((8, 64), 'fp32')])
def smooth_huber_b(x, y):
    return F.huber_loss(x, y, delta=0.5)


CASES = [
    {'name': 'floor_trunc', 'class': 'integers', 'a': 'floor_trunc_a', 'b': 'floor_trunc_b', 'inputs': [((8, 64), 'int32')], 'equal': False, 'why': 'negatives', 'draw': ['full']},
    {'name': 'rem_fmod', 'class': 'integers', 'a': 'rem_fmod_a', 'b': 'rem_fmod_b', 'inputs': [((8, 64), 'int32')], 'equal': False, 'why': 'sign', 'draw': ['full']},
    {'name': 'rem_fmod_f', 'class': 'integers', 'a': 'rem_fmod_f_a', 'b': 'rem_fmod_f_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'sign', 'draw': []},
    {'name': 'shift_div', 'class': 'integers', 'a': 'shift_div_a', 'b': 'shift_div_b', 'inputs': [((8, 64), 'int32')], 'equal': False, 'why': 'negatives', 'draw': ['full']},
    {'name': 'i8_wrap', 'class': 'integers', 'a': 'i8_wrap_a', 'b': 'i8_wrap_b', 'inputs': [((8, 64), 'int8'), ((8, 64), 'int8')], 'equal': False, 'why': 'int8 wraps', 'draw': ['full', 'full']},
    {'name': 'i8_mul', 'class': 'integers', 'a': 'i8_mul_a', 'b': 'i8_mul_b', 'inputs': [((8, 64), 'int8'), ((8, 64), 'int8')], 'equal': False, 'why': 'int8 wraps', 'draw': ['full', 'full']},
    {'name': 'u8_sub', 'class': 'integers', 'a': 'u8_sub_a', 'b': 'u8_sub_b', 'inputs': [((8, 64), 'uint8'), ((8, 64), 'uint8')], 'equal': False, 'why': 'uint8 wraps', 'draw': ['full', 'full']},
    {'name': 'u8_neg', 'class': 'integers', 'a': 'u8_neg_a', 'b': 'u8_neg_b', 'inputs': [((8, 64), 'uint8')], 'equal': False, 'why': 'uint8 negation', 'draw': ['full']},
    {'name': 'i32_mul', 'class': 'integers', 'a': 'i32_mul_a', 'b': 'i32_mul_b', 'inputs': [((8, 64), 'int32'), ((8, 64), 'int32')], 'equal': False, 'why': 'int32 wraps', 'draw': ['full', 'full']},
    {'name': 'i32_shl', 'class': 'integers', 'a': 'i32_shl_a', 'b': 'i32_shl_b', 'inputs': [((8, 64), 'int32')], 'equal': False, 'why': 'int32 wraps', 'draw': ['full']},
    {'name': 'i8_abs', 'class': 'integers', 'a': 'i8_abs_a', 'b': 'i8_abs_b', 'inputs': [((64, 64), 'int8')], 'equal': False, 'why': 'abs(-128)', 'draw': ['full']},
    {'name': 'i64_f32', 'class': 'integers', 'a': 'i64_f32_a', 'b': 'i64_f32_b', 'inputs': [((8, 64), 'int64')], 'equal': False, 'why': 'float32 loses digits', 'draw': ['ids:2000000000']},
    {'name': 'bool_sum', 'class': 'integers', 'a': 'bool_sum_a', 'b': 'bool_sum_b', 'inputs': [((8, 64), 'bool')], 'equal': False, 'why': 'count or any', 'draw': []},
    {'name': 'bool_add', 'class': 'integers', 'a': 'bool_add_a', 'b': 'bool_add_b', 'inputs': [((8, 64), 'bool'), ((8, 64), 'bool')], 'equal': False, 'why': 'bool sum saturates', 'draw': []},
    {'name': 'xor_or', 'class': 'integers', 'a': 'xor_or_a', 'b': 'xor_or_b', 'inputs': [((8, 64), 'bool'), ((8, 64), 'bool')], 'equal': False, 'why': 'xor', 'draw': []},
    {'name': 'nand', 'class': 'integers', 'a': 'nand_a', 'b': 'nand_b', 'inputs': [((8, 64), 'bool'), ((8, 64), 'bool')], 'equal': False, 'why': 'De Morgan wrong', 'draw': []},
    {'name': 'implies', 'class': 'integers', 'a': 'implies_a', 'b': 'implies_b', 'inputs': [((8, 64), 'bool'), ((8, 64), 'bool')], 'equal': False, 'why': 'converse', 'draw': []},
    {'name': 'i8_sum', 'class': 'integers', 'a': 'i8_sum_a', 'b': 'i8_sum_b', 'inputs': [((8, 64), 'int8')], 'equal': False, 'why': "sum's dtype", 'draw': ['full']},
    {'name': 'div_float', 'class': 'integers', 'a': 'div_float_a', 'b': 'div_float_b', 'inputs': [((8, 64), 'int64'), ((8, 64), 'int64')], 'equal': False, 'why': 'rounding', 'draw': ['ids:1000', 'ids:10']},
    {'name': 'trunc_long', 'class': 'integers', 'a': 'trunc_long_a', 'b': 'trunc_long_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'negatives', 'draw': []},
    {'name': 'round_half', 'class': 'rounding', 'a': 'round_half_a', 'b': 'round_half_b', 'inputs': [((8, 64), 'int32')], 'equal': False, 'why': 'half to even', 'draw': ['ids:100']},
    {'name': 'ceil_floor1', 'class': 'rounding', 'a': 'ceil_floor1_a', 'b': 'ceil_floor1_b', 'inputs': [((8, 64), 'int32')], 'equal': False, 'why': 'whole numbers', 'draw': ['ids:100']},
    {'name': 'trunc_floor', 'class': 'rounding', 'a': 'trunc_floor_a', 'b': 'trunc_floor_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'negatives', 'draw': []},
    {'name': 'frac_mod1', 'class': 'rounding', 'a': 'frac_mod1_a', 'b': 'frac_mod1_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'negatives', 'draw': []},
    {'name': 'sign_heav', 'class': 'rounding', 'a': 'sign_heav_a', 'b': 'sign_heav_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'threshold', 'draw': []},
    {'name': 'sign_zero', 'class': 'rounding', 'a': 'sign_zero_a', 'b': 'sign_zero_b', 'inputs': [((8, 64), 'int32')], 'equal': False, 'why': 'zero', 'draw': ['ids:3']},
    {'name': 'quant_clamp', 'class': 'rounding', 'a': 'quant_clamp_a', 'b': 'quant_clamp_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': '-128', 'draw': []},
    {'name': 'int4_pack', 'class': 'integers', 'a': 'int4_pack_a', 'b': 'int4_pack_b', 'inputs': [((8, 64), 'uint8')], 'equal': False, 'why': 'nibbles', 'draw': ['full']},
    {'name': 'int4_sign', 'class': 'integers', 'a': 'int4_sign_a', 'b': 'int4_sign_b', 'inputs': [((8, 64), 'uint8')], 'equal': False, 'why': "offset or two's complement", 'draw': ['full']},
    {'name': 'parity', 'class': 'integers', 'a': 'parity_a', 'b': 'parity_b', 'inputs': [((8, 64), 'int32')], 'equal': False, 'why': 'negative odd', 'draw': ['full']},
    {'name': 'popcount2', 'class': 'integers', 'a': 'popcount2_a', 'b': 'popcount2_b', 'inputs': [((8, 64), 'uint8')], 'equal': False, 'why': 'bit', 'draw': ['full']},
    {'name': 'pow2mod', 'class': 'integers', 'a': 'pow2mod_a', 'b': 'pow2mod_b', 'inputs': [((8, 64), 'int64')], 'equal': False, 'why': 'mask or modulus', 'draw': ['ids:1000']},
    {'name': 'lcg', 'class': 'integers', 'a': 'lcg_a', 'b': 'lcg_b', 'inputs': [((8, 64), 'int64')], 'equal': False, 'why': 'modulus', 'draw': ['ids:1000']},
    {'name': 'clamp_order', 'class': 'clamp', 'a': 'clamp_order_a', 'b': 'clamp_order_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'crossed bounds', 'draw': []},
    {'name': 'relu6', 'class': 'clamp', 'a': 'relu6_a', 'b': 'relu6_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'upper bound', 'draw': []},
    {'name': 'relu_abs', 'class': 'clamp', 'a': 'relu_abs_a', 'b': 'relu_abs_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': '2.001', 'draw': []},
    {'name': 'hardtanh', 'class': 'clamp', 'a': 'hardtanh_a', 'b': 'hardtanh_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'bound', 'draw': []},
    {'name': 'shrink', 'class': 'clamp', 'a': 'shrink_a', 'b': 'shrink_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'hard or soft', 'draw': []},
    {'name': 'where_ge', 'class': 'thresholds', 'a': 'where_ge_a', 'b': 'where_ge_b', 'inputs': [((8, 64), 'int32')], 'equal': False, 'why': 'at 5', 'draw': ['ids:10']},
    {'name': 'far40', 'class': 'thresholds', 'a': 'far40_a', 'b': 'far40_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'far threshold (inputs times 20)', 'draw': ['big20']},
    {'name': 'far6e4', 'class': 'thresholds', 'a': 'far6e4_a', 'b': 'far6e4_b', 'inputs': [((8, 64), 'fp32')], 'equal': False, 'why': 'inputs times 4e4', 'draw': ['big40000']},
    {'name': 'near0', 'class': 'thresholds', 'a': 'near0_a', 'b': 'near0_b', 'inputs': [((64, 4096), 'fp32')], 'equal': False, 'why': '1e-4 about zero', 'draw': []},
    {'name': 'huber_d', 'class': 'thresholds', 'a': 'huber_d_a', 'b': 'huber_d_b', 'inputs': [((8, 64), 'fp32'), ((8, 64), 'fp32')], 'equal': False, 'why': 'delta', 'draw': []},
    {'name': 'smooth_huber', 'class': 'thresholds', 'a': 'smooth_huber_a', 'b': 'smooth_huber_b', 'inputs': [((8, 64), 'fp32'), ((8, 64), 'fp32')], 'equal': False, 'why': 'over beta', 'draw': []},
]
