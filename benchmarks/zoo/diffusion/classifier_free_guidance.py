"""Guidance of Stable Diffusion: the prompt's prediction is pushed away from the empty one's."""

import mirage


@mirage.optimize(inputs=[((16, 4, 128, 128), "fp16")])
def classifier_free_guidance(noise):
    uncond, cond = noise.chunk(2)
    return uncond + 7.5 * (cond - uncond)
