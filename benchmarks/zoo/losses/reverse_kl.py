"""The divergence from a reference policy in reinforcement learning of a model with LLaMA-2's words."""

import mirage

INPUTS = {"logp": ("log_probability",), "ref_logp": ("log_probability",)}


@mirage.optimize(inputs=[((2048, 32000), "fp32"), ((2048, 32000), "fp32")])
def reverse_kl(logp, ref_logp):
    return (logp.exp() * (logp - ref_logp)).sum(-1)
