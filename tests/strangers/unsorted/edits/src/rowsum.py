import torch
import torch.nn.functional as F
import mirage


@mirage.optimize(inputs=[((8, 20000), "fp32")])
def rowsum(x):
    return (x * x).mean(-1)
