"""One Adam step for a projection of LLaMA-2-7B, moments in float32."""

import mirage

INPUTS = {"v": ("positive",)}


@mirage.optimize(
    inputs=[((11008, 4096), "fp32"), ((11008, 4096), "fp32"), ((11008, 4096), "fp32"), ((11008, 4096), "fp32")]
)
def adam_step(p, g, m, v):
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g * g
    m_hat, v_hat = m / (1 - 0.9**10), v / (1 - 0.999**10)
    return p - 3e-4 * m_hat / (v_hat.sqrt() + 1e-8), m, v
