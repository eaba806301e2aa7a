import torch
from torch import Tensor

import mirage

BEAMS, EOS = 4, 2


@mirage.optimize(inputs=[((32, 16000), "fp32"), ((8, 4), "fp32"), ((8, 4), "bool")])
def beam_score_update(logits: Tensor, beam_scores: Tensor, finished: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    vocab = logits.size(-1)
    logp = logits.log_softmax(-1).view(-1, BEAMS, vocab)
    only_eos = torch.full((vocab,), -1e9, device=logits.device)
    only_eos[EOS] = 0.0
    logp = torch.where(finished[..., None], only_eos, logp)
    total = (beam_scores[..., None] + logp).view(-1, BEAMS * vocab)
    scores, flat = torch.topk(total, BEAMS, dim=1, largest=True, sorted=True)
    beam = torch.div(flat, vocab, rounding_mode="floor")
    token = flat % vocab
    done = finished.gather(1, beam) | (token == EOS)
    return scores, beam, token, done
