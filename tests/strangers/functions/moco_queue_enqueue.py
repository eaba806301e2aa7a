import torch
import torch.nn.functional as F
from torch import Tensor

import mirage

TEMP, PTR = 0.07, 512


@mirage.optimize(inputs=[((256, 128), "fp32"), ((256, 128), "fp32"), ((128, 4096), "fp32")])
def moco_queue_enqueue(q: Tensor, k: Tensor, queue: Tensor) -> Tensor:
    q = F.normalize(q, dim=1)
    k = F.normalize(k, dim=1)
    l_pos = torch.einsum("nc,nc->n", [q, k]).unsqueeze(-1)
    l_neg = torch.einsum("nc,ck->nk", [q, queue.clone().detach()])
    logits = torch.cat([l_pos, l_neg], dim=1) / TEMP
    queue[:, PTR : PTR + k.shape[0]] = k.T
    labels = torch.zeros(logits.shape[0], dtype=torch.long, device=q.device)
    return F.cross_entropy(logits, labels)
