"""Flash decoding: the keys are split over programs, and a second kernel merges the parts by their log-sum-exp."""

import torch
import triton
import triton.language as tl


@triton.jit
def decode_stage1(
    Q, K, V, Mid_O, Mid_LSE, sm_scale, seq_len,
    G: tl.constexpr, G_PAD: tl.constexpr, D: tl.constexpr, SPLIT: tl.constexpr, BLOCK_N: tl.constexpr, NUM_SPLITS: tl.constexpr,
):  # fmt: skip
    cur_kv_head = tl.program_id(0)
    split = tl.program_id(1)
    offs_g = tl.arange(0, G_PAD)
    offs_d = tl.arange(0, D)
    q = tl.load(Q + (cur_kv_head * G + offs_g[:, None]) * D + offs_d[None, :], mask=offs_g[:, None] < G, other=0.0)
    e_max = tl.zeros([G_PAD], dtype=tl.float32) - float("inf")
    e_sum = tl.zeros([G_PAD], dtype=tl.float32)
    acc = tl.zeros([G_PAD, D], dtype=tl.float32)
    split_start = split * SPLIT
    split_end = tl.minimum(split_start + SPLIT, seq_len)
    for start_n in range(split_start, split_end, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        kv = cur_kv_head * seq_len * D + offs_n[:, None] * D + offs_d[None, :]
        k = tl.load(K + kv, mask=offs_n[:, None] < split_end, other=0.0)
        qk = tl.dot(q, tl.trans(k))
        qk *= sm_scale
        qk = tl.where(offs_n[None, :] < split_end, qk, float("-inf"))
        n_e_max = tl.maximum(tl.max(qk, 1), e_max)
        re_scale = tl.exp(e_max - n_e_max)
        p = tl.exp(qk - n_e_max[:, None])
        acc *= re_scale[:, None]
        v = tl.load(V + kv, mask=offs_n[:, None] < split_end, other=0.0)
        acc += tl.dot(p.to(v.dtype), v)
        e_sum = e_sum * re_scale + tl.sum(p, 1)
        e_max = n_e_max
    row = (cur_kv_head * G + offs_g) * NUM_SPLITS + split
    tl.store(Mid_O + row[:, None] * D + offs_d[None, :], acc / e_sum[:, None], mask=offs_g[:, None] < G)
    tl.store(Mid_LSE + row, e_max + tl.log(e_sum), mask=offs_g < G)


@triton.jit
def decode_stage2(Mid_O, Mid_LSE, O, D: tl.constexpr, NUM_SPLITS: tl.constexpr):
    head = tl.program_id(0)
    offs_d = tl.arange(0, D)
    e_max = -float("inf")
    e_sum = 0.0
    acc = tl.zeros([D], dtype=tl.float32)
    for split in range(0, NUM_SPLITS):
        tv = tl.load(Mid_O + (head * NUM_SPLITS + split) * D + offs_d)
        tlogic = tl.load(Mid_LSE + head * NUM_SPLITS + split)
        n_e_max = tl.maximum(tlogic, e_max)
        old_scale = tl.exp(e_max - n_e_max)
        exp_logic = tl.exp(tlogic - n_e_max)
        acc = acc * old_scale + exp_logic * tv
        e_sum = e_sum * old_scale + exp_logic
        e_max = n_e_max
    tl.store(O + head * D + offs_d, (acc / e_sum).to(tl.float16))


def gqa_decode(q, k, v):
    kv_heads, group, d = q.shape
    seq_len = k.shape[1]
    split = 128
    num_splits = triton.cdiv(seq_len, split)
    mid_o = torch.empty((kv_heads * group, num_splits, d), dtype=torch.float32, device=q.device)
    mid_lse = torch.empty((kv_heads * group, num_splits), dtype=torch.float32, device=q.device)
    out = torch.empty_like(q)
    decode_stage1[(kv_heads, num_splits)](
        q, k, v, mid_o, mid_lse, 1.0 / d**0.5, seq_len,
        G=group, G_PAD=16, D=d, SPLIT=split, BLOCK_N=32, NUM_SPLITS=num_splits,
    )  # fmt: skip
    decode_stage2[(kv_heads * group,)](mid_o, mid_lse, out, D=d, NUM_SPLITS=num_splits)
    return out
