from torch import Tensor

import mirage

LR, B1, B2, WD = 1e-4, 0.9, 0.99, 0.01


@mirage.optimize(inputs=[((4096, 1024), "fp32"), ((4096, 1024), "fp32"), ((4096, 1024), "fp32")])
def lion_step_inplace(p: Tensor, grad: Tensor, exp_avg: Tensor) -> Tensor:
    p.mul_(1.0 - LR * WD)
    update = exp_avg.clone().mul_(B1).add_(grad, alpha=1 - B1).sign_()
    p.add_(update, alpha=-LR)
    exp_avg.mul_(B2).add_(grad, alpha=1.0 - B2)
    return p
