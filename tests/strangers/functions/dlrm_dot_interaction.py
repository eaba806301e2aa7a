import torch
from torch import Tensor

import mirage


@mirage.optimize(inputs=[((1024, 64), "fp32"), ((26, 1000, 64), "fp32"), ((1024, 26), "int64")])
def dlrm_dot_interaction(dense: Tensor, tables: Tensor, sparse_ids: Tensor) -> Tensor:
    field = torch.arange(26, device=dense.device)
    emb = tables[field, sparse_ids]
    T = torch.cat([dense.unsqueeze(1), emb], dim=1)
    Z = torch.bmm(T, T.transpose(1, 2))
    li, lj = torch.tril_indices(27, 27, offset=-1, device=dense.device)
    return torch.cat([dense, Z[:, li, lj]], dim=1)
