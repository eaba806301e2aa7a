"""The step of LAMB for a weight of BERT-large, scaled by the ratio of norms."""

import mirage

INPUTS = {"v": ("positive",)}


@mirage.optimize(inputs=[((4096, 1024), "fp32"), ((4096, 1024), "fp32"), ((4096, 1024), "fp32")])
def lamb_trust_ratio(p, m, v):
    update = m / (v.sqrt() + 1e-6) + 0.01 * p
    ratio = p.norm() / update.norm()
    return p - 1e-3 * ratio * update
