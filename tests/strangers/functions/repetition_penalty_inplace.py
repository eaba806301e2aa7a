import torch
from torch import Tensor

import mirage


@mirage.optimize(inputs=[((8, 32000), "fp32"), ((8, 256), "int64")])
def repetition_penalty_inplace(scores: Tensor, input_ids: Tensor) -> Tensor:
    penalty = 1.2
    picked = torch.gather(scores, 1, input_ids)
    picked = torch.where(picked < 0, picked * penalty, picked / penalty)
    scores.scatter_(1, input_ids, picked)
    return scores
