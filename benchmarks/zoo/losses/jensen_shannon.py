"""The symmetric divergence between three views of an image, as robust training of ResNet-50 uses it."""

import mirage


@mirage.optimize(inputs=[((1024, 1000), "fp32"), ((1024, 1000), "fp32"), ((1024, 1000), "fp32")])
def jensen_shannon(clean, aug1, aug2):
    p, q, r = clean.softmax(1), aug1.softmax(1), aug2.softmax(1)
    m = ((p + q + r) / 3.0).clamp(1e-7, 1.0).log()
    kl = sum((t * (t.clamp_min(1e-7).log() - m)).sum(1).mean() for t in (p, q, r))
    return 12.0 * kl / 3.0
