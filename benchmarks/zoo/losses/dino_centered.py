"""The loss between student and teacher of DINO, the teacher's outputs centered and sharpened."""

import torch.nn.functional as F

import mirage


@mirage.optimize(inputs=[((128, 65536), "fp16"), ((128, 65536), "fp16"), ((65536,), "fp16")])
def dino_centered(student, teacher, center):
    target = F.softmax((teacher - center).float() / 0.04, dim=-1)
    return -(target * F.log_softmax(student.float() / 0.1, dim=-1)).sum(-1).mean()
