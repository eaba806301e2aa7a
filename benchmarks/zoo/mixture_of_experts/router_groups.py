"""The choice of four groups of experts in DeepSeek-V3 by the sum of the two best in each."""

import mirage

INPUTS = {"scores": ("uniform",)}


@mirage.optimize(inputs=[((4096, 256), "fp32")])
def router_groups(scores):
    groups = scores.view(scores.shape[0], 8, -1)
    group_scores = groups.topk(2, dim=-1)[0].sum(dim=-1)
    kept = group_scores >= group_scores.topk(4, dim=-1)[0][:, -1:]
    return (groups * kept.unsqueeze(-1)).flatten(1)
