import torch
from torch import Tensor

import mirage


def skew(v):
    o = torch.zeros_like(v[..., 0])
    rows = [o, -v[..., 2], v[..., 1], v[..., 2], o, -v[..., 0], -v[..., 1], v[..., 0], o]
    return torch.stack(rows, dim=-1).unflatten(-1, (3, 3))


@mirage.optimize(inputs=[((512, 6, 3), "fp32")])
def axis_angle_to_matrix_chain(pose: Tensor) -> Tensor:
    angle = torch.linalg.norm(pose + 1e-8, dim=-1, keepdim=True)
    K = skew(pose / angle)
    s, c = torch.sin(angle)[..., None], torch.cos(angle)[..., None]
    R = torch.eye(3, device=pose.device) + s * K + (1 - c) * torch.matmul(K, K)
    world = [R[:, 0]]
    for i in range(1, 6):
        world.append(world[-1] @ R[:, i])
    return torch.stack(world, dim=1)
