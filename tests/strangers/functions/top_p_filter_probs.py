import torch
import torch.nn.functional as F
from torch import Tensor

import mirage


@mirage.optimize(inputs=[((8, 16000), "fp16"), ((8, 1), "fp32")])
def top_p_filter_probs(logits: Tensor, top_p: Tensor) -> Tensor:
    scaled = logits.float() / 0.8
    sorted_logits, idx = torch.sort(scaled, dim=-1, descending=True)
    cum = sorted_logits.softmax(dim=-1).cumsum(dim=-1)
    remove = cum > top_p.sigmoid()
    remove = F.pad(remove[..., :-1], (1, 0), value=False)
    remove = torch.zeros_like(remove).scatter(1, idx, remove)
    return scaled.masked_fill(remove, float("-inf")).softmax(dim=-1)
