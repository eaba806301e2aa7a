"""A first-order linear recurrence along short rows: h[t] = a[t] h[t - 1] + b[t]."""

import torch

import mirage


@mirage.optimize(inputs=[((40, 16), "fp32"), ((40, 16), "fp32")])
def linear_recurrence(a, b):
    h = b[:, 0]
    steps = [h]
    for t in range(1, 16):
        h = a[:, t] * h + b[:, t]
        steps.append(h)
    return torch.stack(steps, dim=1)
