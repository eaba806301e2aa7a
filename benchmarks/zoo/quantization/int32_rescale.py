"""The sums of an eight-bit product of OPT-6.7B brought back by the scales of token and channel, with the bias."""

import mirage

INPUTS = {"acc": ("int", -200000, 200000), "token_scale": ("positive", 0.01), "channel_scale": ("positive", 0.001)}


@mirage.optimize(inputs=[((2048, 4096), "int32"), ((2048, 1), "fp32"), ((4096,), "fp32"), ((4096,), "fp16")])
def int32_rescale(acc, token_scale, channel_scale, bias):
    return (acc.float() * token_scale * channel_scale).to(bias.dtype) + bias
