import torch
from torch import Tensor

import mirage


@mirage.optimize(inputs=[((4, 201, 1001), "fp32"), ((4, 201, 1001), "fp32"), ((80, 201), "fp32")])
def whisper_log_mel(real: Tensor, imag: Tensor, filters: Tensor) -> Tensor:
    mag = real[..., :-1] ** 2 + imag[..., :-1] ** 2
    mel = filters.abs() @ mag
    log_spec = torch.clamp(mel, min=1e-10).log10()
    top = log_spec.flatten(1).max(dim=1)[0][:, None, None]
    log_spec = torch.maximum(log_spec, top - 8.0)
    return (log_spec + 4.0) / 4.0
