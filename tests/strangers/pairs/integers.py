"""Wrong pairs: integers and booleans: overflow, shifts, truncation, bitwise not, comparisons of unlike types."""

from strangers.pair import Pair

PAIRS = (
    Pair("at_least_two_and_a_half", "i int32 64; x fp32 64", "torch.where(i >= 2.5, x, 0.0)", "torch.where(i >= 2, x, 0.0)", "2 is less than 2.5"),
    Pair("halved_towards_zero", "i int32 64; x fp32 64", "torch.where(i // 2 == -1, x, 0.0)", "torch.where(torch.div(i, 2, rounding_mode='trunc') == -1, x, 0.0)", "-1 // 2", "i = i - 4"),
    Pair("remainder_of_c", "i int32 64; x fp32 64", "torch.where(i % 3 == 1, x, 0.0)", "torch.where(torch.fmod(i, 3) == 1, x, 0.0)", "-2 % 3 is 1", "i = i - 4"),
    Pair("not_of_an_integer", "m bool 64; x fp32 64", "x * (~m).float()", "x * (~m.int()).float()", "~1 is -2"),
    Pair("sum_of_truths", "m bool 64; n bool 64", "m.float() + n.float()", "(m | n).float()", "both true: 2 or 1"),
    Pair("one_or_both", "m bool 64; n bool 64; x fp32 64", "torch.where(m ^ n, x, 0.0)", "torch.where(m | n, x, 0.0)", "both true"),
    Pair("square_wraps", "i int32 64", "i.float() * i.float()", "(i * i).float()", "int32 overflows", "i = i * 20000"),
    Pair("shift_rounds_down", "i int32 64", "(i >> 1).float()", "torch.div(i, 2, rounding_mode='trunc').float()", "-3 >> 1 is -2", "i = i - 4"),
    Pair("truncated_for_rounded", "x fp32 1000", "torch.floor(x + 0.5)", "(x + 0.5).int().float()", "below -0.5"),
    Pair("int8_doubles_wrap", "i int8 64; s fp32 64", "i.float() * 2 * s", "(i * 2).float() * s", "int8 overflows at 64", "i = i * 15"),
    Pair("int8_sum_wraps", "i int8 64; j int8 64", "i.float() + j.float()", "(i + j).float()", "int8 overflows", "i = i * 15; j = j * 15"),
    Pair("compared_as_floats", "i int32 64; j int32 64; x fp32 64", "torch.where(i == j, x, 0.0)", "torch.where(i.float() == j.float(), x, 0.0)", "2^24 + 1 is 2^24 in float32", "i = i * 0 + 16777217; j = j * 0 + 16777216"),
    Pair("negative_padding", "i int64 64; x fp32 64", "torch.where(i != 0, x, 0.0)", "torch.where(i > 0, x, 0.0)", "-100", "i[3] = -100"),
    Pair("mask_that_is_two", "i int32 64; x fp32 64; y fp32 64", "torch.where(i.bool(), x, y)", "i * x + (1 - i) * y", "2 is true too"),
    Pair("count_or_sum", "i int32 8x64", "(i > 0).float().sum(-1)", "i.float().sum(-1)", "elements above 1"),
    Pair("absolute_of_the_least", "i int32 64", "i.float().abs()", "i.abs().float()", "-2^31 has no absolute value in int32", "i[3] = -2**31"),
    Pair("label_off_by_one", "i int64 64", "F.one_hot(i, 10).float()", "F.one_hot((i + 1) % 10, 10).float()", "the next class"),
    Pair("label_compared_off_by_one", "i int64 64", "(i[:, None] == torch.arange(8)).float()", "(i[:, None] > torch.arange(8)).float()", "the classes below"),
    Pair("low_word_of_int64", "i int64 64; x fp32 64", "torch.where(i > 0, x, 0.0)", "torch.where(i.int() > 0, x, 0.0)", "2^31 + 5 is negative in int32", "i[3] = 2**31 + 5"),
    Pair("any_or_all", "m bool 8x4; x fp32 8", "torch.where(m.float().amax(-1) > 0, x, 0.0)", "torch.where(m.float().amin(-1) > 0, x, 0.0)", "rows of both"),
    Pair("second_bit", "i int32 64; x fp32 64", "torch.where((i & 2) != 0, x, 0.0)", "torch.where(i % 2 != 0, x, 0.0)", "another bit"),
    Pair("same_segment_or_before", "i int64 32; s fp32 32x32", "torch.where(i[:, None] == i[None, :], s, 0.0)", "torch.where(i[:, None] >= i[None, :], s, 0.0)", "earlier segments"),
    Pair("truth_of_a_fraction", "x fp32 1000", "(x != 0).float()", "x.int().bool().float()", "fractions below 1 are truncated to 0"),
    Pair("difference_in_float", "i int32 64; j int32 64; x fp32 64", "torch.where(i - j == 1, x, 0.0)", "torch.where(i.float() - j.float() == 1, x, 0.0)", "large integers round", "i = i * 0 + 16777217; j = j * 0 + 16777216"),
)
