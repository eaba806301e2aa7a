"""What goes wrong with atomic sums."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "not_zeroed",
        "The output is not set to zero before the atomics add to it.",
        [("torch.zeros((M, N)", "torch.empty((M, N)")],
    ),
    Fault(
        "output_kept_between_calls",
        "The output is made once and used by every call, which adds to what the call before left there.",
        [
            ("def matmul_atomic(x, w):\n", "_outputs = {}\n\n\ndef matmul_atomic(x, w):\n"),
            (
                "y = torch.zeros((M, N), device=x.device, dtype=torch.float32)",
                "y = _outputs.setdefault((M, N), torch.zeros((M, N), device=x.device, dtype=torch.float32))",
            ),
        ],
    ),
    Fault(
        "stored_instead_of_added",
        "The programs of the splits store over each other.",
        [("tl.atomic_add(y_ptr", "tl.store(y_ptr")],
    ),
    Fault(
        "one_split_too_few",
        "The grid has three splits where the kernel strides over four.",
        [("triton.cdiv(N, 16), 4)](", "triton.cdiv(N, 16), 3)](")],
    ),
)
