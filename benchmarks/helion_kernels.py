"""Three workloads in Helion, as its own examples write such things: one loop over the reduced axis, sums in float32."""

import helion
import helion.language as hl
import torch


@helion.kernel(static_shapes=True)  # type: ignore[untyped-decorator]
def rmsnorm_linear(x: torch.Tensor, g: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    m, k = x.size()
    n = w.size(0)
    out = torch.empty([m, n], dtype=x.dtype, device=x.device)
    for tile_m, tile_n in hl.tile([m, n]):
        acc = hl.zeros([tile_m, tile_n], dtype=torch.float32)
        squares = hl.zeros([tile_m], dtype=torch.float32)
        for tile_k in hl.tile(k):
            rows = x[tile_m, tile_k]
            wide = rows.to(torch.float32)
            squares = squares + (wide * wide).sum(-1)
            acc = torch.addmm(acc, rows * g[tile_k][None, :], w[tile_n, tile_k].T)
        out[tile_m, tile_n] = (acc * torch.rsqrt(squares / k + 1e-6)[:, None]).to(out.dtype)
    return out


@helion.kernel(static_shapes=True)  # type: ignore[untyped-decorator]
def gated_mlp(x: torch.Tensor, w1: torch.Tensor, w2: torch.Tensor) -> torch.Tensor:
    m, k = x.size()
    n = w1.size(1)
    out = torch.empty([m, n], dtype=x.dtype, device=x.device)
    for tile_m, tile_n in hl.tile([m, n]):
        gate = hl.zeros([tile_m, tile_n], dtype=torch.float32)
        up = hl.zeros([tile_m, tile_n], dtype=torch.float32)
        for tile_k in hl.tile(k):
            rows = x[tile_m, tile_k]
            gate = torch.addmm(gate, rows, w1[tile_k, tile_n])
            up = torch.addmm(up, rows, w2[tile_k, tile_n])
        out[tile_m, tile_n] = (gate * torch.sigmoid(gate) * up).to(out.dtype)
    return out


@helion.kernel(static_shapes=True)  # type: ignore[untyped-decorator]
def gqa_rows(q_in: torch.Tensor, k_in: torch.Tensor, v_in: torch.Tensor) -> torch.Tensor:
    rows = q_in.size(-2)
    keys = k_in.size(-2)
    dim = hl.specialize(q_in.size(-1))
    q = q_in.reshape([-1, rows, dim])
    k = k_in.reshape([-1, keys, dim]).transpose(1, 2)
    v = v_in.reshape([-1, keys, dim])
    out = torch.empty_like(q)
    scale = dim**-0.5 * 1.44269504
    for tile_b, tile_m in hl.tile([q.size(0), rows]):
        most = hl.full([tile_b, tile_m], float("-inf"), dtype=torch.float32)
        total = torch.full_like(most, 1.0)
        acc = hl.zeros([tile_b, tile_m, dim], dtype=torch.float32)
        queries = q[tile_b, tile_m, :]
        for tile_n in hl.tile(keys):
            scores = torch.bmm(queries, k[tile_b, :, tile_n])
            higher = torch.maximum(most, torch.amax(scores, -1) * scale)
            weights = torch.exp2(scores * scale - higher[:, :, None])
            less = torch.exp2(most - higher)
            total = total * less + torch.sum(weights, -1)
            values = v[tile_b, tile_n, :]
            acc = torch.baddbmm(acc * less[:, :, None], weights.to(values.dtype), values)
            most = higher
        out[tile_b, tile_m, :] = (acc / total[:, :, None]).to(out.dtype)
    return out.view(q_in.size())


KERNELS = {"rmsnorm_linear": rmsnorm_linear, "gated_mlp": gated_mlp, "gqa_rows": gqa_rows}
