"""One AdamW step that also writes the bfloat16 copy of the weights, for an expert of Mixtral-8x7B."""

import mirage

INPUTS = {"v": ("positive",)}


@mirage.optimize(
    inputs=[((14336, 4096), "fp32"), ((14336, 4096), "bf16"), ((14336, 4096), "fp32"), ((14336, 4096), "fp32")]
)
def adamw_mixed(p, g, m, v):
    g = g.float()
    m = m.mul(0.9).add(g, alpha=0.1)
    v = v.mul(0.999).addcmul(g, g, value=0.001)
    p = p.mul(1 - 1e-5).addcdiv(m, v.sqrt().add(1e-8), value=-1e-4)
    return p, p.bfloat16(), m, v
