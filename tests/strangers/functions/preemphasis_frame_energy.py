import math

import torch
import torch.nn.functional as F
from torch import Tensor

import mirage

WIN, HOP = 400, 160


@mirage.optimize(inputs=[((8, 16000), "fp32")])
def preemphasis_frame_energy(wav: Tensor) -> Tensor:
    wav = wav - wav.mean(dim=-1, keepdim=True)
    emph = torch.cat((wav[:, :1], wav[:, 1:] - 0.97 * wav[:, :-1]), dim=1)
    frames = emph.unfold(-1, WIN, HOP)
    n = torch.arange(WIN, device=wav.device, dtype=wav.dtype)
    hann = 0.5 - 0.5 * torch.cos(2 * math.pi * n / (WIN - 1))
    energy = (frames * hann).square().sum(dim=-1)
    log_e = torch.log(energy + 1e-9)
    delta = F.pad(log_e, (1, 1), mode="replicate")
    delta = (delta[:, 2:] - delta[:, :-2]) / 2
    return torch.stack([log_e, delta], dim=-1)
