import torch
from torch import Tensor

import mirage

BOX, RC = 12.0, 3.0


@mirage.optimize(inputs=[((768, 3), "fp32")])
def lennard_jones_minimum_image(pos: Tensor) -> tuple[Tensor, Tensor]:
    n = pos.shape[0]
    rij = pos[:, None] - pos[None]
    rij = rij - BOX * torch.round(rij / BOX)
    r2 = (rij**2).sum(-1) + 1e4 * torch.eye(n, device=pos.device)
    inside = r2 < RC**2
    inv6 = torch.where(inside, 1.0 / r2.clamp(min=0.25), 0.0) ** 3
    energy = 2.0 * (inv6 * (inv6 - 1.0)).sum()
    mag = 24.0 * inv6 * (2.0 * inv6 - 1.0) / r2
    return energy, torch.einsum("ij,ijk->ik", mag, rij)
