import torch
from torch import Tensor

import mirage

C0 = 0.28209479177387814
C1 = 0.4886025119029199
C2 = [1.0925484305920792, -1.0925484305920792, 0.31539156525252005, -1.0925484305920792, 0.5462742152960396]


@mirage.optimize(inputs=[((32768, 9, 3), "fp32"), ((32768, 3), "fp32"), ((3,), "fp32")])
def sh_degree2_view_color(sh: Tensor, xyz: Tensor, campos: Tensor) -> Tensor:
    d = xyz - campos
    d = d / d.norm(dim=-1, keepdim=True)
    x, y, z = d[..., 0:1], d[..., 1:2], d[..., 2:3]
    res = C0 * sh[:, 0] - C1 * y * sh[:, 1] + C1 * z * sh[:, 2] - C1 * x * sh[:, 3]
    res = res + C2[0] * x * y * sh[:, 4] + C2[1] * y * z * sh[:, 5]
    res = res + C2[2] * (2.0 * z * z - x * x - y * y) * sh[:, 6]
    res = res + C2[3] * x * z * sh[:, 7] + C2[4] * (x * x - y * y) * sh[:, 8]
    return torch.clamp_min(res + 0.5, 0.0)
