import torch
import torch.nn.functional as F
from torch import Tensor

import mirage

N = 2048


@mirage.optimize(inputs=[((2048, 4, 32), "fp32"), ((4, 32), "fp32"), ((4, 32), "fp32"), ((2, 16384), "int64")])
def gat_edge_softmax(h: Tensor, a_src: Tensor, a_dst: Tensor, edge_index: Tensor) -> Tensor:
    src, dst = edge_index
    alpha = (h * a_src).sum(-1)[src] + (h * a_dst).sum(-1)[dst]
    alpha = F.leaky_relu(alpha, negative_slope=0.2)
    idx = dst[:, None].expand_as(alpha)
    peak = torch.full((N, 4), -1e30, device=h.device).scatter_reduce(0, idx, alpha, reduce="amax")
    num = (alpha - peak[dst]).exp()
    den = torch.zeros(N, 4, device=h.device).index_add(0, dst, num)
    coef = num / (den[dst] + 1e-16)
    out = torch.zeros_like(h).index_add_(0, dst, h[src] * coef.unsqueeze(-1))
    return F.elu(out.flatten(1))
