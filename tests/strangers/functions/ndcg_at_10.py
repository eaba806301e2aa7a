import torch
from torch import Tensor

import mirage


@mirage.optimize(inputs=[((4096, 200), "fp32"), ((4096, 200), "int32")])
def ndcg_at_10(scores: Tensor, rel: Tensor) -> Tensor:
    k = 10
    gains = torch.pow(2.0, rel.float()) - 1.0
    discount = 1.0 / torch.log2(torch.arange(k, device=scores.device, dtype=torch.float32) + 2.0)
    order = scores.argsort(dim=1, descending=True)[:, :k]
    dcg = torch.take_along_dim(gains, order, dim=1).mul(discount).sum(1)
    ideal = gains.topk(k, dim=1).values @ discount
    return torch.where(ideal > 0, dcg / ideal.clamp(min=1e-9), torch.zeros_like(dcg)).mean()
