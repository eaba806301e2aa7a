"""The gate of LLaMA-2-7B's MLP after one product that makes gate and up side by side."""

import torch.nn.functional as F

import mirage


@mirage.optimize(inputs=[((4096, 22016), "fp16")])
def swiglu_activation(gate_up):
    gate, up = gate_up.chunk(2, dim=-1)
    return F.silu(gate) * up
