"""An image's features cut into windows of seven by seven, as in Swin-T."""

import mirage


@mirage.optimize(inputs=[((16, 56, 56, 96), "fp16")])
def window_partition(x):
    b, h, w, c = x.shape
    x = x.view(b, h // 7, 7, w // 7, 7, c)
    return x.permute(0, 1, 3, 2, 4, 5).reshape(-1, 49, c)
