"""Images in bytes brought to the mean and deviation that ImageNet's models expect."""

import mirage

INPUTS = {"images": ("int", 0, 256), "std": ("positive", 0.25)}


@mirage.optimize(inputs=[((64, 3, 224, 224), "int32"), ((3,), "fp32"), ((3,), "fp32")])
def image_normalize(images, mean, std):
    x = images.float() / 255.0
    return ((x - mean.view(3, 1, 1)) / std.view(3, 1, 1)).half()
