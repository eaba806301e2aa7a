"""Four tokens of an image become one of four times the width, as InternVL brings patches to the language model."""

import mirage


@mirage.optimize(inputs=[((4, 32, 32, 1024), "bf16")])
def pixel_shuffle_tokens(x):
    n, w, h, c = x.shape
    x = x.view(n, w, h // 2, c * 2).permute(0, 2, 1, 3).contiguous()
    return x.view(n, h // 2, w // 2, c * 4).permute(0, 2, 1, 3)
