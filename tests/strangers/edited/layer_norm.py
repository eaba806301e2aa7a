"""Edits of a layer norm in three loops over a row."""

from strangers.edited.edit import GUARDS, Edit

EDITS = (
    *GUARDS,
    Edit(
        "padding_in_the_variance",
        (("v_3 = tl.where(in_n, v_2, 0.0)", "v_3 = v_2"),),
        "the block's padding counts with the mean's square",
        setup="x = x + 3",
    ),
    Edit(
        "unbiased",
        (("v_4 = acc_2_3 / N", "v_4 = acc_2_3 / (N - 1) * (1 + 0.004)"),),
        "a thousandth of the value and more",
    ),
    Edit(
        "moments",
        (("a = x_2 - v", "a = x_2"), ("v_4 = acc_2_3 / N", "v_4 = acc_2_3 / N - v * v")),
        "cancellation where the mean is large",
        setup="x = x * 0.5 + 2000",
    ),
    Edit(
        "variance_from_zero",
        (("a_2 = v_4 + 1e-05", "a_2 = tl.maximum(v_4, 1e-05)"),),
        "rows of small variance",
        setup="x = x * 3e-3",
    ),
    Edit(
        "eps_outside",
        (("a_2 = v_4 + 1e-05", "a_2 = (tl.sqrt(v_4) + 1e-05) * (tl.sqrt(v_4) + 1e-05)"),),
        "rows of small variance",
        setup="x = x * 3e-3",
    ),
    Edit(
        "mean_in_half",
        (("v = acc_2 / N", "v = (acc_2 / N).to(tl.float16).to(tl.float32)"),),
        "the mean has eleven bits",
        setup="x = x * 0.01 + 1.3",
    ),
    Edit("bias_shifted", (("b_ptr + i_n", "b_ptr + (i_n + 1) % N"),), "the next column's bias"),
    Edit("weight_of_the_row", (("w_ptr + i_n", "w_ptr + i_n * 0 + pid_m"),), "the row's weight"),
    Edit(
        "last_column_unscaled",
        (("v_5 = w * r * a_3", "v_5 = tl.where(i_n == N - 1, 1.0, w) * r * a_3"),),
        "one column",
        setup="w[999] = 3",
    ),
    Edit(
        "other_for_masked",
        (
            (
                "x = tl.load(x_ptr + pid_m * N + i_n, mask=in_n, other=0.0)",
                "x = tl.load(x_ptr + pid_m * N + i_n, mask=in_n, other=1.0)",
            ),
        ),
        "24 ones count in the mean",
    ),
    Edit(
        "centred_on_another_mean",
        (("a_3 = x_3 - v", "a_3 = x_3 - acc_2 / (N + 1)"),),
        "a thousandth of the mean",
        setup="x = x + 50",
    ),
    Edit(
        "bias_in_fp8", (("a_4 = b + v_5", "a_4 = b.to(tl.float8e5).to(tl.float32) + v_5"),), "the bias has three bits"
    ),
    Edit("weight_outside", (("v_5 = w * r * a_3", "v_5 = w * (a_3 * r)"),), "rounding alone", right=True),
    Edit("division_by_the_root", (("r = tl.rsqrt(a_2)", "r = 1 / tl.sqrt(a_2)"),), "rounding alone", right=True),
)
