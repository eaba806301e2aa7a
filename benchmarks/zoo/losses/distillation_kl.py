"""The divergence of a student's words from its teacher's at temperature two, as DistilBERT learned."""

import torch.nn.functional as F

import mirage


@mirage.optimize(inputs=[((4096, 30522), "fp16"), ((4096, 30522), "fp16")])
def distillation_kl(student, teacher):
    p = F.log_softmax(student.float() / 2.0, dim=-1)
    q = F.softmax(teacher.float() / 2.0, dim=-1)
    return F.kl_div(p, q, reduction="batchmean") * 4.0
