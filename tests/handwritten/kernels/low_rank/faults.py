"""What goes wrong in a low-rank product."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "half_intermediate",
        "The narrow product lies in memory in half precision, where it overflows though the update does not.",
        [
            (
                "h = torch.empty((M, R), device=x.device, dtype=torch.float32)",
                "h = torch.empty((M, R), device=x.device, dtype=torch.float16)",
            ),
            ("other=0.0)\n    b = tl.load(B", "other=0.0).to(tl.float32)\n    b = tl.load(B"),
        ],
        witness="x *= 200; down *= 200; up *= 1e-3",
    ),
    Fault(
        "intermediate_kept_between_calls",
        "The intermediate is computed by the first call alone and used by every later one.",
        [
            ("def low_rank(x, down, up, base):\n", "_cache = {}\n\n\ndef low_rank(x, down, up, base):\n"),
            (
                "    down_kernel[(triton.cdiv(M, 16),)](x, down, h, M, K, R=R, BM=16, BK=64)\n",
                "    if (M, R) in _cache:\n        h = _cache[M, R]\n    else:\n"
                "        down_kernel[(triton.cdiv(M, 16),)](x, down, h, M, K, R=R, BM=16, BK=64)\n        _cache[M, R] = h\n",
            ),
        ],
    ),
    Fault(
        "scale_on_the_base",
        "The scale is applied to the base too.",
        [
            (
                'base + alpha * tl.dot(h, b, input_precision="ieee")',
                'alpha * (base + tl.dot(h, b, input_precision="ieee"))',
            )
        ],
    ),
    Fault(
        "rows_of_the_first_grid",
        "The second kernel steps over rows in the blocks of the first.",
        [("(triton.cdiv(M, 32), triton.cdiv(N, 64))", "(triton.cdiv(M, 16) // 2, triton.cdiv(N, 64))")],
    ),
)
