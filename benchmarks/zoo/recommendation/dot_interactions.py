"""The pairwise products of DLRM's embeddings: the lower triangle beside the dense features."""

import torch

import mirage


@mirage.optimize(inputs=[((8192, 128), "fp16"), ((8192, 26, 128), "fp16")])
def dot_interactions(dense, sparse):
    x = torch.cat((dense.unsqueeze(1), sparse), dim=1)
    z = torch.bmm(x, x.transpose(1, 2))
    i, j = torch.tril_indices(x.shape[1], x.shape[1], -1, device=x.device)
    return torch.cat((dense, z[:, i, j]), dim=1)
