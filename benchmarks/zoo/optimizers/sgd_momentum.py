"""SGD with Nesterov momentum and weight decay for ResNet-50's largest convolution."""

import mirage


@mirage.optimize(inputs=[((512, 512, 3, 3), "fp32"), ((512, 512, 3, 3), "fp32"), ((512, 512, 3, 3), "fp32")])
def sgd_momentum(p, g, buf):
    g = g + 1e-4 * p
    buf = 0.9 * buf + g
    return p - 0.1 * (g + 0.9 * buf), buf
