import torch
from torch import Tensor

import mirage


@mirage.optimize(inputs=[((512, 1024), "fp16"), ((1024, 1024), "int8"), ((1024,), "fp32"), ((1024,), "fp16")])
def int8_dynamic_w8a8_linear(x: Tensor, qweight: Tensor, w_scale: Tensor, bias: Tensor) -> Tensor:
    x32 = x.to(torch.float32)
    amax = x32.abs().max(dim=-1, keepdim=True).values
    x_scale = torch.clamp(amax, min=1e-5) / 127.0
    xq = torch.clamp(torch.round(x32 / x_scale), -128, 127).to(torch.int8)
    acc = torch.matmul(xq.float(), qweight.float().t())
    out = acc * x_scale * w_scale[None, :]
    return out.to(x.dtype) + bias
