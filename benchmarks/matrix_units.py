"""How far off a GPU's products are: PyTorch's own and `tl.dot` with one float32 accumulator, beside float64.

    python benchmarks/matrix_units.py [--json] [--out FILE]

Random 16-bit operands. An error is given over the root of the sum of the squared products, and that over K / 16 halves of a unit of
float32 (`verify/floats/matrix_units.py`): near one, if matrix units cut off what 16 products add to an accumulator.

Rows: near/DTYPE/MxK, the largest error of PyTorch's product where it nearly cancels (its result's own rounding is small there);
dot/, that of `tl.dot`, everywhere; bias/, the mean of dot's error in the direction of the result, which rounding to nearest has not.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "core")]

from mirage.errors import MirageError  # noqa: E402

COLUMNS = 4096
NEAR = 0.002  # of the root of the sum of the squared products: the 16-bit rounding of what is smaller costs less than a cut
SIZES = tuple((m, k) for m in (16, 256, 4096) for k in (1024, 4096, 16384))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    from mirage.profile.gpu_timing import require_gpu

    try:
        require_gpu()
    except MirageError as e:
        print(e, file=sys.stderr)
        return 1
    import torch
    import triton
    import triton.language as tl

    from mirage.verify.floats.matrix_units import accumulated

    globals()["tl"] = tl  # Triton reads a kernel's names from its module

    @triton.jit  # type: ignore[untyped-decorator]
    def product(a, b, c, n, k, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):  # type: ignore[no-untyped-def]
        i = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
        j = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
        acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
        for at in range(0, k, BLOCK_K):
            l = at + tl.arange(0, BLOCK_K)
            acc = tl.dot(tl.load(a + i[:, None] * k + l[None, :]), tl.load(b + l[:, None] * n + j[None, :]), acc)
        tl.store(c + i[:, None] * n + j[None, :], acc)

    torch.manual_seed(1)
    rows: list[dict[str, Any]] = []
    for dtype in (torch.float16, torch.bfloat16):
        for m, k in SIZES:
            a = (torch.randn(m, k, device="cuda") * 10).to(dtype)
            b = (torch.randn(k, COLUMNS, device="cuda") * 10).to(dtype)
            want = a.double() @ b.double()
            most = accumulated(torch.matmul, a.double(), b.double())
            near = want.abs() < NEAR * most / (k / 16 * 2.0**-24)
            c = torch.empty(m, COLUMNS, device="cuda")
            block = min(m, 64)
            product[m // block, COLUMNS // 64](a, b, c, COLUMNS, k, block, 64, 64)
            off = (c.double() - want) / most
            name = f"{str(dtype).removeprefix('torch.')}/{m}x{k}"
            for what, value in (
                ("near", (((a @ b).double() - want).abs() / most)[near].max()),
                ("dot", off.abs().max()),
                ("bias", (off * want.sign()).mean()),
            ):
                rows.append({"name": f"{what}/{name}", "value": round(float(value), 4), "unit": "cuts", "ok": True})
    report = {
        "bench": "matrix_units", "date": datetime.date.today().isoformat(), "device": torch.cuda.get_device_name(),
        "versions": {"torch": torch.__version__, "triton": triton.__version__}, "rows": rows,
    }  # fmt: skip
    if args.out:
        args.out.write_text(json.dumps(report))
    if args.json:
        print(json.dumps(report))
    else:
        for r in rows:
            print(f"{r['name']:32} {r['value']:8.3f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
