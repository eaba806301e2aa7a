import torch
from torch import Tensor

import mirage

GROUP = 128


@mirage.optimize(inputs=[((16, 2048), "fp16"), ((1024, 256), "int32"), ((1024, 16), "fp16"), ((1024, 16), "fp16")])
def int4_group_dequant_linear(x: Tensor, packed: Tensor, scales: Tensor, zeros: Tensor) -> Tensor:
    shifts = torch.arange(0, 32, 4, device=packed.device, dtype=torch.int32)
    nibbles = torch.bitwise_and(torch.bitwise_right_shift(packed[:, :, None], shifts[None, None, :]), 0xF)
    w = nibbles.reshape(packed.shape[0], -1, GROUP).to(torch.float16)
    w = (w - zeros.unsqueeze(-1)) * scales.unsqueeze(-1)
    return x @ w.view(packed.shape[0], -1).T
