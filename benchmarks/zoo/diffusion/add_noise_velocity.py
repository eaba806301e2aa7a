"""A training pair of Stable Diffusion 2: the noised latent and the velocity to predict."""

import mirage

INPUTS = {"alphas": ("uniform", 0.01, 0.99), "t": ("int", 0, 1000)}


@mirage.optimize(inputs=[((64, 4, 64, 64), "fp32"), ((64, 4, 64, 64), "fp32"), ((1000,), "fp32"), ((64,), "int64")])
def add_noise_velocity(x, noise, alphas, t):
    a = alphas[t].sqrt()[:, None, None, None]
    s = (1 - alphas[t]).sqrt()[:, None, None, None]
    return a * x + s * noise, a * noise - s * x
