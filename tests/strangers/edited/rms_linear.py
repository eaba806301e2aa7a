"""Edits of an RMS norm with the product after it."""

from strangers.edited.edit import GUARDS, Edit

RIGHT_ROW = "assert torch.allclose(f(*inputs)[{0}].float(), wanted(*inputs)[{0}].float(), atol=2e-1)"
EDITS = (
    *GUARDS,
    Edit(
        "accumulated_in_half",
        (
            (
                "acc_2 = tl.dot(w, tl.trans(v_2.to(w.dtype)), acc_2)",
                "acc_2 = (acc_2.to(tl.float16) + tl.dot(w, tl.trans(v_2.to(w.dtype)), acc_2 * 0).to(tl.float16)).to(tl.float32)",
            ),
        ),
        "sums of half products overflow",
        setup="x = x * 4000; w = w.abs(); x = x.abs(); g = g.abs() + 1",
    ),
    Edit(
        "squares_in_half",
        (("v = x * x", "v = (x.to(tl.float16) * x.to(tl.float16)).to(tl.float32)"),),
        "squares overflow above 256",
        setup="x = x * 200",
    ),
    Edit("smaller_eps", (("a = v_3 + 1e-06", "a = v_3 + 1e-07"),), "small rows", setup="x = x * 1e-3"),
    Edit("mean_over_the_block", (("v_3 = acc_3 / K", "v_3 = acc_3 / BLOCK_K"),), "256 in the place of 512"),
    Edit(
        "weight_after_its_tile",
        (("g = tl.load(g_ptr + i_k, mask=in_k", "g = tl.load(g_ptr + i_k % BLOCK_K, mask=in_k"),),
        "the first tile's weights for all",
    ),
    Edit(
        "last_tile_alone_lost",
        (("range((K + BLOCK_K - 1) // BLOCK_K)", "range((K - 1) // BLOCK_K)"),),
        "the loop ends a tile early",
    ),
    Edit(
        "rows_of_the_stride",
        (("w_ptr + i_n[:, None] * K", "w_ptr + i_n[:, None] * (K - (i_n[:, None] == N - 1))"),),
        "the last row of w begins 255 elements early",
    ),
    Edit(
        "first_columns_twice",
        (("out_ptr + i_m[:, None] * N + i_n[None, :]", "out_ptr + i_m[:, None] * N + (i_n % 192)[None, :]"),),
        "the last 64 columns go over the first",
    ),
    Edit(
        "half_of_the_columns",
        (('grid = (-(-sizes["n"] // tiles["main"]["n"]),)', 'grid = (-(-sizes["n"] // tiles["main"]["n"]) - 1,)'),),
        "the last 64 columns are not written",
    ),
    Edit("sizes_swapped", (('M=sizes["m"],', 'M=sizes["m"] - 1,'),), "the last row is not written"),
    Edit("g_for_a_constant", (("v_2 = g[None, :] * x", "v_2 = (g * 0 + 1)[None, :] * x"),), "the weight is not used"),
    Edit(
        "norm_of_neighbours",
        (("v_4 = r[:, None] * tl.trans(acc_2)", "v_4 = tl.flip(r, 0)[:, None] * tl.trans(acc_2)"),),
        "another row's norm",
    ),
    Edit("root_and_division", (("r = tl.rsqrt(a)", "r = 1.0 / tl.sqrt(a)"),), "rounding alone", right=True),
    Edit("factors_turned", (("v_2 = g[None, :] * x", "v_2 = x * g[None, :]"),), "the same", right=True),
)
