from torch import Tensor

import mirage


@mirage.optimize(inputs=[((512, 1024), "fp32"), ((512, 1024), "fp32")])
def muon_newton_schulz(grad: Tensor, momentum: Tensor) -> tuple[Tensor, Tensor]:
    a, b, c = (3.4445, -4.7750, 2.0315)
    buf = 0.95 * momentum + grad
    X = grad.add(buf, alpha=0.95)
    X = X / (X.norm() + 1e-7)
    for _ in range(3):
        A = X @ X.mT
        B = b * A + c * A @ A
        X = a * X + B @ X
    return X * max(1, grad.size(-2) / grad.size(-1)) ** 0.5, buf
