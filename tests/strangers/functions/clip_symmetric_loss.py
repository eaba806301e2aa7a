import torch
import torch.nn.functional as F
from torch import Tensor

import mirage


@mirage.optimize(inputs=[((512, 768), "fp32"), ((512, 768), "fp32"), ((), "fp32")])
def clip_symmetric_loss(img: Tensor, txt: Tensor, logit_scale: Tensor) -> tuple[Tensor, Tensor]:
    img = img / img.norm(p=2, dim=-1, keepdim=True)
    txt = txt / txt.norm(p=2, dim=-1, keepdim=True)
    logits = logit_scale.exp().clamp(max=100) * img @ txt.t()
    target = torch.arange(logits.shape[0], device=logits.device)
    loss = (
        F.cross_entropy(logits, target, label_smoothing=0.1) + F.cross_entropy(logits.t(), target, label_smoothing=0.1)
    ) / 2
    acc = (logits.argmax(dim=-1) == target).float().mean()
    return loss, acc
