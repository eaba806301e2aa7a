"""Edits of a gated layer: silu(x @ a) * (x @ b), with 8 of 16 rows in use."""

from strangers.edited.edit import GUARDS, Edit

BEHIND = """
seen = torch.full((16, 256), 7.0, dtype=torch.float16)
empty, torch.empty = torch.empty, lambda *a, **k: seen[:8]
try:
    f(*inputs)
finally:
    torch.empty = empty
assert (seen[8:] == 7).all()
"""
EDITS = (
    *GUARDS,
    Edit(
        "rows_not_masked",
        (("in_m = (i_m < M) | (M % BLOCK_M == 0)", "in_m = i_m < BLOCK_M"),),
        "rows 8 to 15 are read and written behind the tensors",
        BEHIND,
    ),
    Edit("b_read_as_a", (("            b_ptr + i_k", "            a_ptr + i_k"),), "one weight for both"),
    Edit(
        "accumulators_crossed",
        (("acc_2 = tl.dot(x, b, acc_2)", "acc_2 = tl.dot(x, b, acc_2 * (tile_k < 1))"),),
        "the second sum begins anew in its second tile",
    ),
    Edit(
        "gate_in_half",
        (
            ("sigmoid = tl.sigmoid(acc)", "sigmoid = tl.sigmoid(acc.to(tl.float16).to(tl.float32))"),
            ("v = acc * sigmoid", "v = acc.to(tl.float16).to(tl.float32).to(tl.float8e5).to(tl.float32) * sigmoid"),
        ),
        "the gate has three bits",
    ),
    Edit(
        "products_rounded",
        (("acc = tl.dot(x, a, acc)", "acc = (tl.dot(x, a, acc)).to(tl.bfloat16).to(tl.float32)"),),
        "the sum has eight bits after each tile",
    ),
    Edit(
        "a_tile_of_k_late",
        (
            (
                "i_k = tile_k * BLOCK_K + tl.arange(0, BLOCK_K)",
                "i_k = tile_k * BLOCK_K + tl.arange(0, BLOCK_K) + (tile_k > 0)",
            ),
        ),
        "one element of the depth is left out",
    ),
    Edit(
        "mask_by_the_wrong_dim",
        (("in_k = (i_k < K) | (K % BLOCK_K == 0)", "in_k = i_k < K - M // 8"),),
        "the last element of the depth is zero",
        setup="x[:, -1] = 30",
    ),
    Edit(
        "transposed_store",
        (("out_ptr + i_m[:, None] * N + i_n[None, :]", "out_ptr + i_m[:, None] + i_n[None, :] * M"),),
        "the transpose in the tensor's memory",
    ),
    Edit(
        "columns_of_the_neighbour",
        (("a_ptr + i_k[:, None] * N + i_n[None, :]", "a_ptr + i_k[:, None] * N + (i_n ^ 1)[None, :]"),),
        "neighbouring columns of a change places",
    ),
    Edit("sizes_of_k", (('"k": 512,', '"k": 511,'),), "the last of 512 is left out, and rows begin early"),
    Edit(
        "store_before_the_end",
        (
            (
                "    sigmoid = tl.sigmoid(acc)",
                "    acc = tl.where(i_n[None, :] == N - 1, 0.0, acc)\n    sigmoid = tl.sigmoid(acc)",
            ),
        ),
        "the last column is zero",
    ),
    Edit(
        "by_division",
        (("v = acc * sigmoid * acc_2", "v = acc / (1.0 + tl.exp(-acc)) * acc_2"),),
        "rounding alone",
        right=True,
    ),
    Edit(
        "factors_turned", (("v = acc * sigmoid * acc_2", "v = acc_2 * (sigmoid * acc)"),), "rounding alone", right=True
    ),
)
