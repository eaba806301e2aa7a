"""Edits of a short attention: 16 queries, 256 keys in one block."""

from strangers.edited.edit import GUARDS, Edit

OTHER_KEYS = """
f(*inputs)
other = [inputs[0], inputs[1].flip(1) * 2, inputs[2]]
assert torch.allclose(f(*other).float(), wanted(*other).float(), atol=1e-2)
"""
EDITS = (
    *GUARDS,
    Edit(
        "scale_of_three_digits", (("v = 0.125 * acc", "v = 0.124 * acc"),), "a percent of the scores", setup="q = q * 3"
    ),
    Edit(
        "keys_after_the_window",
        (("v_3 = tl.where(in_l[:, None], p, 0.0)", "v_3 = tl.where(in_l[:, None] & (i_l[:, None] < 255), p, 0.0)"),),
        "the last key has no weight",
        setup="k[:, 255] = q[:, 3]",
    ),
    Edit(
        "sum_before_the_mask",
        (("t_3 = tl.sum(v_3, axis=0)", "t_3 = tl.sum(tl.where(i_l[:, None] > 0, v_3, 0.0), axis=0)"),),
        "the first key's weight is not summed",
        setup="k[:, 0] = q[:, 3]",
    ),
    Edit(
        "maximum_of_the_first_half",
        (("top = tl.max(v_2, axis=0)", 'top = tl.max(tl.where(i_l[:, None] < 128, v_2, float("-inf")), axis=0)'),),
        "overflow where the largest score is in the second half",
        setup="k[:, 128:] = k[:, 128:] * 40",
    ),
    Edit(
        "another_head_s_keys",
        (("k_ptr + pid_m * (L * J)", "k_ptr + (pid_m % 2) * (L * J)"),),
        "heads 2 and 3 see the keys of 0 and 1",
    ),
    Edit(
        "values_of_head_0",
        (("v_ptr + pid_m * (L * P)", "v_ptr + pid_m * 0 + pid_m // 4 * (L * P)"),),
        "one head's values for all",
    ),
    Edit(
        "a_stride_too_short",
        (("q_ptr + pid_m * (N * J) + i_n[:, None] * J", "q_ptr + pid_m * (N * J) + i_n[:, None] * (J - 1)"),),
        "queries overlap",
    ),
    Edit(
        "scores_in_bfloat",
        (("v = 0.125 * acc", "v = (0.125 * acc).to(tl.bfloat16).to(tl.float32)"),),
        "large scores have eight bits",
        setup="q = q * 6",
    ),
    Edit(
        "weights_in_fp8",
        (("tl.trans(v_3.to(v_4.dtype))", "tl.trans(v_3.to(tl.float8e5).to(v_4.dtype))"),),
        "three bits of the weights",
    ),
    Edit(
        "no_shift",
        (("a = v - finite[None, :]", "a = v - 0.0 * finite[None, :]"),),
        "exp overflows above 88",
        setup="q = q * 60",
    ),
    Edit("one_head_less", (('grid = (sizes["m"] *', 'grid = ((sizes["m"] - 1) *'),), "the last head is not written"),
    Edit(
        "fixed_result",
        (
            ("def _run(", "_OUT = [None]\n\n\ndef _run("),
            ("    return out\n", "    _OUT[0] = out if _OUT[0] is None else _OUT[0]\n    return _OUT[0]\n"),
        ),
        "the first call's result for ever",
        "f(*inputs)\nhalf = [x * 0.5 for x in inputs]\nassert torch.allclose(f(*half).float(), wanted(*half).float(), atol=1e-2)",
    ),
    Edit(
        "divided_twice",
        (("v_5 = t_2 / t_3[:, None]", "v_5 = t_2 / (t_3[:, None] * 1.01)"),),
        "a hundredth",
        setup="v = v.abs() + 8",
    ),
    Edit(
        "result_aliased",
        (('out = torch.empty((sizes["m"], sizes["n"], sizes["p"]), dtype=torch.float16, device=q.device)', "out = q"),),
        "the queries are overwritten",
        "kept = inputs[0].clone()\nf(*inputs)\nassert torch.equal(kept, inputs[0])",
    ),
    Edit(
        "keys_cached",
        (("def _run(", "_K = {}\n\n\ndef _run("), ("    grid = (", "    k = _K.setdefault(k.shape, k)\n    grid = (")),
        "the first call's keys for ever",
        OTHER_KEYS,
    ),
    Edit(
        "reciprocal_of_the_sum",
        (("v_5 = t_2 / t_3[:, None]", "v_5 = t_2 * (1.0 / t_3)[:, None]"),),
        "rounding alone",
        right=True,
    ),
    Edit("scaled_queries_later", (("v = 0.125 * acc", "v = acc / 8"),), "exact", right=True),
    Edit("base_two", (("p = tl.exp(a)", "p = tl.exp2(a * 1.4426950408889634)"),), "rounding alone", right=True),
)
