import torch
from torch import Tensor

import mirage


@mirage.optimize(inputs=[((1536, 1536), "fp32"), ((1536, 1536), "bf16"), ((1,), "fp32")])
def ema_teacher_update_inplace(teacher: Tensor, student: Tensor, step: Tensor) -> Tensor:
    decay = torch.clamp((1.0 + step) / (10.0 + step), max=0.9999)
    diff = teacher - student.to(teacher.dtype)
    teacher.sub_(diff * (1.0 - decay))
    return teacher
