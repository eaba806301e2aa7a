"""The loss of each row of logits by its label."""

import torch
import triton
import triton.language as tl


@triton.jit
def cross_entropy_fwd(logits_ptr, labels_ptr, loss_ptr, V, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    x = tl.load(logits_ptr + row * V + cols, mask=cols < V, other=-float("inf")).to(tl.float32)
    label = tl.load(labels_ptr + row)
    m = tl.max(x, 0)
    lse = m + tl.log(tl.sum(tl.exp(x - m), 0))
    x_label = tl.load(logits_ptr + row * V + label).to(tl.float32)
    tl.store(loss_ptr + row, lse - x_label)


def f(x, y):
    loss = torch.empty((x.shape[0],), device=x.device, dtype=torch.float32)
    cross_entropy_fwd[(x.shape[0],)](x, y, loss, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return loss
