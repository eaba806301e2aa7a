import torch
from torch import Tensor

import mirage


@mirage.optimize(inputs=[((4096, 4), "fp32"), ((4096, 4, 4), "fp32"), ((4096, 2), "fp32")])
def kalman_update_4state(x: Tensor, L: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
    dt = 0.1
    Fm = torch.eye(4, device=x.device) + dt * torch.diag(torch.ones(2, device=x.device), 2)
    P = L @ L.transpose(-1, -2)
    x = x @ Fm.T
    P = Fm @ P @ Fm.T + 0.01 * torch.eye(4, device=x.device)
    S = P[:, :2, :2] + 0.1 * torch.eye(2, device=x.device)
    det = S[:, 0, 0] * S[:, 1, 1] - S[:, 0, 1] * S[:, 1, 0]
    adj = torch.stack([S[:, 1, 1], -S[:, 0, 1], -S[:, 1, 0], S[:, 0, 0]], -1).view(-1, 2, 2)
    K = P[:, :, :2] @ (adj / det[:, None, None])
    x = x + torch.einsum("nij,nj->ni", K, z - x[:, :2])
    return x, P - K @ P[:, :2, :]
