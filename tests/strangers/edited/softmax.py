"""Edits of the softmax of half rows."""

from strangers.edited.edit import AGAIN, GUARDS, OTHER_SHAPES, TWICE, Edit

MASKED = "x = tl.load(x_ptr + pid_m * N + i_n, mask=in_n, other=0.0).to(tl.float32)"
EDITS = (
    *GUARDS,
    Edit(
        "any_shape",
        (("tuple(given) == _EXPECTED", "len(given) == len(_EXPECTED)"),),
        "rows beyond 64 are lost",
        OTHER_SHAPES,
        scope="sizes",
    ),
    Edit(
        "one_element_more",
        (
            (MASKED, MASKED.replace("in_n", "i_n <= N")),
            ("v_2 = tl.where(in_n, p, 0.0)", "v_2 = tl.where(i_n <= N, p, 0.0)"),
        ),
        "the next row's first element counts",
    ),
    Edit("padding_counts", (("tl.where(in_n, p, 0.0)", "p"),), "24 padded elements count"),
    Edit(
        "maximum_from_zero",
        (('v = tl.where(in_n, x, float("-inf"))', "v = tl.where(in_n, x, 0.0)"),),
        "rows far below zero: 0 / 0",
        setup="x = x - 300",
    ),
    Edit("a_thousandth_more", (("p_2 / acc", "p_2 / (acc + 2e-3)"),), "rows of one large element", setup="x = x * 8"),
    Edit(
        "half_of_the_grid",
        (('grid = (sizes["m"],)', 'grid = (min(sizes["m"], 32),)'),),
        "rows 32 to 63 are not written",
    ),
    Edit("one_column_less", (('"n": 1000}', '"n": 999}'),), "rows of 999"),
    Edit(
        "result_kept",
        (
            ("def _run(", "_KEPT = {}\n\n\ndef _run("),
            ("out = torch.empty(", "out = _KEPT.setdefault(x.device, torch.empty("),
            ("device=x.device)\n    grid", "device=x.device))\n    grid"),
        ),
        "the next call overwrites what the last one gave",
        TWICE,
    ),
    Edit(
        "in_place",
        (('out = torch.empty((sizes["m"], sizes["n"]), dtype=torch.float16, device=x.device)', "out = x"),),
        "the argument is overwritten",
        "kept = inputs[0].clone()\nf(*inputs)\nassert torch.equal(kept, inputs[0])",
    ),
    Edit(
        "exponent_in_fp8",
        (("p_2 = tl.exp(a_2)", "p_2 = tl.exp(a_2.to(tl.float8e5).to(tl.float32))"),),
        "three bits of the exponent",
    ),
    Edit(
        "no_way_back",
        (("return _original_f(x)", "return _run(x)"),),
        "other shapes are run too",
        OTHER_SHAPES,
        scope="sizes",
    ),
    Edit(
        "another_original",
        (("return torch.softmax(x, -1)", "return torch.softmax(x, 0)"),),
        "what runs for other shapes is another function",
        OTHER_SHAPES,
        scope="sizes",
    ),
    Edit(
        "counts_its_calls",
        (
            ("def _run(", "_CALLS = []\n\n\ndef _run("),
            ("    grid = (", "    _CALLS.append(1)\n    grid = (8,) if len(_CALLS) > 2 else ("),
        ),
        "after two calls most rows are not written",
        AGAIN,
    ),
    Edit("result_in_floats", (("dtype=torch.float16, device", "dtype=torch.float32, device"),), "another dtype"),
    Edit(
        "rows_too_far_apart",
        (("tl.store(out_ptr + pid_m * N + i_n", "tl.store(out_ptr + pid_m * (N - (pid_m > 62)) + i_n"),),
        "the last row begins 63 elements early",
        "assert f(*inputs)[63, 0] == wanted(*inputs)[63, 0]",
    ),
    Edit(
        "stored_by_the_even",
        (
            (
                "v_5.to(out_ptr.dtype.element_ty), mask=in_n",
                "v_5.to(out_ptr.dtype.element_ty), mask=in_n & (i_n != 997)",
            ),
        ),
        "element 997 of each row is not written",
        "assert (f(*inputs)[:, 997] == wanted(*inputs)[:, 997]).all()",
    ),
    Edit("base_two", (("p_2 = tl.exp(a_2)", "p_2 = tl.exp2(a_2 * 1.4426950408889634)"),), "rounding alone", right=True),
    Edit("renamed", (("top_2", "running_max"),), "names alone", right=True),
    Edit("more_warps", (("num_warps=4", "num_warps=8"),), "a schedule", right=True),
    Edit(
        "a_comment",
        (("    alpha = tl.exp(delta)", "    # rescale what was summed\n        alpha = tl.exp(delta)"),),
        "a comment",
        right=True,
    ),
)
