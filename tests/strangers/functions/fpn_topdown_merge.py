import torch.nn.functional as F
from torch import Tensor

import mirage


@mirage.optimize(
    inputs=[
        ((1, 64, 56, 56), "fp32"),
        ((1, 128, 28, 28), "fp32"),
        ((1, 256, 14, 14), "fp32"),
        ((64, 64, 1, 1), "fp32"),
        ((64, 128, 1, 1), "fp32"),
        ((64, 256, 1, 1), "fp32"),
    ]
)
def fpn_topdown_merge(
    c3: Tensor, c4: Tensor, c5: Tensor, l3: Tensor, l4: Tensor, l5: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    p5 = F.conv2d(c5, l5)
    p4 = F.conv2d(c4, l4) + F.interpolate(p5, scale_factor=2, mode="nearest")
    p3 = F.conv2d(c3, l3) + F.interpolate(p4, size=c3.shape[-2:], mode="bilinear", align_corners=False)
    p6 = F.max_pool2d(p5, kernel_size=1, stride=2, padding=0)
    return p3, p4, p5, p6
