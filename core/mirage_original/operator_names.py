"""The operators' names in the original's files, of all its versions, as data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Named:
    """What a name of a file stands for: our operator, how many tensors it takes and gives, what it always has (attrs),
    the further fields it may have, and those of them without which nobody knows what it computes (`needs`)."""

    op: str
    takes: int
    gives: int = 1
    attrs: tuple[tuple[str, int | str | None], ...] = ()
    fields: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()


UNARY = ("exp", "square", "sqrt", "silu", "gelu", "relu")
BINARY = ("add", "mul", "div")
RANGE = ("min_val", "max_val")
MANY = -1  # as many as the block says

KERNEL: dict[str, Named] = {
    "kn_input_op": Named("input", 0, fields=("input_strides", "input_map")),
    "kn_output_op": Named("output", 1, 0, fields=("output_strides", "output_map")),
    "kn_matmul_op": Named("matmul", 2),
    **{f"kn_{x}_op": Named(x, 1) for x in UNARY},
    **{f"kn_{x}_op": Named(x, 2) for x in (*BINARY, "pow")},
    "kn_clamp_op": Named("clamp", 1, fields=RANGE, needs=RANGE),
    **{
        f"kn_reduction_{d}_op": Named("reduction", 1, 1, (("dim", d),), ("reduce_dim", "reduce_size")) for d in range(3)
    },
    "kn_rms_norm_op": Named("rms_norm", 1, fields=("normalized_size",)),
    "kn_customized_op": Named("customized", MANY, MANY, fields=("bgraph", "plan"), needs=("bgraph",)),
}

ACCUMULATORS = {
    "nored": None,
    "red_ld_sum": "sum",
    "red_ld_mean": "mean",
    "red_ld_rms": "rms",
    "redtox_ld_sum": "sum_todimx",
}
RESCALED = {"nored_rescale": None, "red_ld_sum_rescale": "sum"}
PREFIXES = ("tb_accum", "tb_forloop_accum")  # until the end of 2024, and since

BLOCK: dict[str, Named] = {
    "tb_input_op": Named(
        "input", 0, fields=("dtensor", "input_map", "forloop_dim", "store_in_dmem"), needs=("dtensor", "input_map", "forloop_dim")
    ),
    "tb_output_op": Named(
        "output", 1, MANY, fields=("dtensor", "output_map", "forloop_dim", "epilogue"), needs=("dtensor", "output_map")
    ),
    "tb_matmul_op": Named("matmul", 2),
    **{f"tb_{x}_op": Named(x, 1) for x in UNARY},
    **{f"tb_{x}_op": Named(x, 2) for x in (*BINARY, "sub", "pow")},
    "tb_clamp_op": Named("clamp", 1, fields=RANGE, needs=RANGE),
    "tb_mul_scalar_op": Named("mul_scalar", 1, fields=("scalar",), needs=("scalar",)),
    **{f"tb_reduction_{d}_op": Named("reduction", 1, 1, (("dim", d),), ("reduce_dim", "reduce_size")) for d in range(3)},
    **{
        f"tb_reduction_{d}_to_dimx_op": Named("reduction_to_dimx", 1, 1, (("dim", d),), ("reduce_dim", "reduce_size"))
        for d in range(3)
    },
    **{
        f"tb_reduction_{d}_max_op": Named("reduction_max", 1, 2, (("dim", d),), ("reduce_dim", "reduce_size"))
        for d in range(3)
    },
    "tb_rms_norm_op": Named("rms_norm", 1, fields=("normalized_size",)),
    **{f"tb_concat_{d}_op": Named("concat", 2, 1, (("dim", d),), ("concat_dim",)) for d in range(3)},
    "tb_concat_then_matmul_op": Named("concat_then_matmul", 4),
    **{f"{p}_{x}_op": Named("forloop_accum", 1, 1, (("acc", a),)) for p in PREFIXES for x, a in ACCUMULATORS.items()},
    **{f"{p}_{x}_op": Named("forloop_accum_rescale", 2, 1, (("acc", a),)) for p in PREFIXES for x, a in RESCALED.items()},
    **{f"{p}_max_op": Named("forloop_accum_max", 1) for p in PREFIXES},
}  # fmt: skip

# dtype codes, as they were numbered at first and since the end of 2024
OLD = {900: "int8", 910: "uint16", 920: "bfloat16", 921: "float16", 930: "float32", 940: "float64"}
NEW = {
    920: "int4", 930: "float8_e4m3", 935: "int8", 940: "bfloat16", 941: "float16", 945: "uint16",
    950: "float32", 960: "float64",
}  # fmt: skip
