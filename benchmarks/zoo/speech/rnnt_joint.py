"""The joint network of a transducer: encoder and predictor are added for each pair, and projected to words."""

import torch
import torch.nn.functional as F

import mirage

INPUTS = {"w": ("weight", 1)}


@mirage.optimize(inputs=[((2, 200, 640), "fp16"), ((2, 40, 640), "fp16"), ((1024, 640), "fp16"), ((1024,), "fp16")])
def rnnt_joint(enc, pred, w, b):
    h = torch.tanh(enc[:, :, None] + pred[:, None])
    return torch.log_softmax(F.linear(h, w, b).float(), dim=-1)
