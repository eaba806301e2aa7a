"""Cross entropy: an online log-sum-exp over the row less the logit of the label."""

import torch
import triton
import triton.language as tl


@triton.jit
def cross_entropy_kernel(
    logits_ptr, labels_ptr, loss_ptr, row_stride, n_cols, IGNORE: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    logits_ptr += row * row_stride
    label = tl.load(labels_ptr + row)
    counted = label != IGNORE
    x_label = tl.load(logits_ptr + label, mask=counted, other=0.0).to(tl.float32)
    m = float("-inf")
    d = 0.0
    for i in range(0, n_cols, BLOCK):
        offs = i + tl.arange(0, BLOCK)
        block = tl.load(logits_ptr + offs, mask=offs < n_cols, other=float("-inf")).to(tl.float32)
        block_max = tl.max(block)
        m_new = tl.maximum(m, block_max)
        d = d * tl.exp(m - m_new) + tl.sum(tl.exp(block - m_new))
        m = m_new
    loss = m + tl.log(d) - x_label
    tl.store(loss_ptr + row, tl.where(counted, loss, 0.0))


def cross_entropy(logits, labels):
    n_rows, n_cols = logits.shape
    loss = torch.empty(n_rows, dtype=torch.float32, device=logits.device)
    cross_entropy_kernel[(n_rows,)](logits, labels, loss, logits.stride(0), n_cols, IGNORE=-100, BLOCK=512)
    return loss
