"""AdaLN of DiT-XL/2: a norm without parameters, shifted and scaled for each image."""

import torch.nn.functional as F

import mirage


@mirage.optimize(inputs=[((8, 256, 1152), "bf16"), ((8, 1152), "bf16"), ((8, 1152), "bf16")])
def adaln_modulate(x, shift, scale):
    x = F.layer_norm(x, (x.shape[-1],), eps=1e-6)
    return x * (1 + scale.unsqueeze(1)) + shift.unsqueeze(1)
