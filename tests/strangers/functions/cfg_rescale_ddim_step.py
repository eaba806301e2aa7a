import torch
from torch import Tensor

import mirage


@mirage.optimize(
    inputs=[((4, 4, 64, 64), "fp16"), ((8, 4, 64, 64), "fp16"), ((1000,), "fp32"), ((4,), "int64"), ((4,), "int64")]
)
def cfg_rescale_ddim_step(
    sample: Tensor, model_out: Tensor, alphas_cumprod: Tensor, t: Tensor, t_prev: Tensor
) -> Tensor:
    uncond, cond = model_out.chunk(2)
    eps = uncond + 7.5 * (cond - uncond)
    dims = list(range(1, eps.ndim))
    rescaled = eps * (cond.std(dim=dims, keepdim=True) / eps.std(dim=dims, keepdim=True))
    eps = (0.7 * rescaled + 0.3 * eps).float()
    acp = torch.sigmoid(alphas_cumprod)
    a_t = acp[t].view(-1, 1, 1, 1)
    a_p = acp[t_prev].view(-1, 1, 1, 1)
    x0 = ((sample.float() - (1 - a_t).sqrt() * eps) / a_t.sqrt()).clamp(-1, 1)
    prev = a_p.sqrt() * x0 + (1 - a_p).sqrt() * eps
    return prev.to(sample.dtype)
