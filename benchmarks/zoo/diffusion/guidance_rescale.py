"""Guidance of which the deviation is brought back to the prompt's own."""

import mirage


@mirage.optimize(inputs=[((8, 4, 128, 128), "fp16"), ((8, 4, 128, 128), "fp16")])
def guidance_rescale(uncond, cond):
    guided = uncond + 7.5 * (cond - uncond)
    std_cond = cond.float().std(dim=(1, 2, 3), keepdim=True)
    std = guided.float().std(dim=(1, 2, 3), keepdim=True)
    return (0.7 * guided * (std_cond / std) + 0.3 * guided).to(cond.dtype)
