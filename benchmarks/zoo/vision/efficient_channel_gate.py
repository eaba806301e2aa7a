"""The gate of squeeze and excitation in SE-ResNet-50 applied to a block's output with its shortcut."""

import torch.nn.functional as F

import mirage


@mirage.optimize(inputs=[((16, 512, 28, 28), "fp16"), ((16, 512), "fp16"), ((16, 512, 28, 28), "fp16")])
def efficient_channel_gate(x, gate, shortcut):
    return F.relu(x * gate.sigmoid().unsqueeze(-1).unsqueeze(-1) + shortcut)
