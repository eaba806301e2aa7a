"""A deterministic DDIM step from the predicted noise."""

import mirage

INPUTS = {"alpha": ("uniform", 0.3, 0.6), "alpha_next": ("uniform", 0.6, 0.9)}


@mirage.optimize(inputs=[((8, 4, 64, 64), "fp32"), ((8, 4, 64, 64), "fp32"), ((8,), "fp32"), ((8,), "fp32")])
def ddim_step(x, eps, alpha, alpha_next):
    a, b = alpha.view(-1, 1, 1, 1), alpha_next.view(-1, 1, 1, 1)
    x0 = (x - (1 - a).sqrt() * eps) / a.sqrt()
    return b.sqrt() * x0.clamp(-1, 1) + (1 - b).sqrt() * eps
