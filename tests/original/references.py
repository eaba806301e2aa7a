"""The original's workloads as programs of plain operators, and its reference µGraphs written by hand for them.

Each builder is a function of sizes; its defaults are the original's. `SMALL` has sizes for quick tests.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

import mirage as mi

if TYPE_CHECKING:
    from forked_python import ForkedPython

Graph = Any


def inputs(*shapes: tuple[int, ...], dtype: Any = None) -> tuple[Graph, list[Any]]:
    g = mi.new_kernel_graph()
    return g, [g.new_input(dims=s, dtype=dtype or mi.float16) for s in shapes]


def block(grid: tuple[int, int, int], loop: int, dimx: int = 64) -> Any:
    return mi.new_threadblock_graph(grid_dim=grid, block_dim=(128, 1, 1), forloop_range=loop, reduction_dimx=dimx)


# ---- workloads: what is computed
def rmsnorm(m: int = 16, k: int = 4096, n: int = 6144) -> Graph:
    g, (X, W) = inputs((m, k), (k, n))
    g.mark_output(g.matmul(g.rms_norm(X, normalized_shape=(k,)), W))
    return g


def gated_mlp(m: int = 8, k: int = 4096, n: int = 4096) -> Graph:
    g, (X, W1, W2) = inputs((m, k), (k, n), (k, n))
    g.mark_output(g.mul(g.silu(g.matmul(X, W1)), g.matmul(X, W2)))
    return g


def lora(m: int = 16, k: int = 256, n: int = 4096, r: int = 16) -> Graph:
    g, (X, W, A, B) = inputs((m, k), (k, n), (k, r), (r, n))
    g.mark_output(g.add(g.matmul(X, W), g.matmul(g.matmul(X, A), B)))
    return g


def adapted_norm(m: int = 16, k: int = 4096, n: int = 28672, r: int = 16) -> Graph:
    g, (X, W, A, B) = inputs((m, k), (k, n), (k, r), (r, n))
    N = g.rms_norm(X, normalized_shape=(k,))
    g.mark_output(g.add(g.matmul(N, W), g.matmul(g.matmul(N, A), B)))
    return g


def attention(b: int = 2, q: int = 256, d: int = 64, t: int = 4096, norm: bool = False) -> Graph:
    g, (Q, K, V) = inputs((b, q, d), (b, d, t), (b, t, d))
    if norm:
        Q, V = g.rms_norm(Q, normalized_shape=(d,)), g.rms_norm(V, normalized_shape=(d,))
    E = g.exp(g.matmul(Q, K))
    g.mark_output(g.matmul(g.div(E, g.reduction(E, 2)), V))
    return g


def qknorm_gqa(b: int = 2, q: int = 256, d: int = 64, t: int = 4096) -> Graph:
    return attention(b, q, d, t, norm=True)


def norm_transformer(m: int = 8, n: int = 4096) -> Graph:
    g, (H, X, alpha) = inputs((m, n), (m, n), (m, n))
    step = g.mul(alpha, g.add(g.rms_norm(H, normalized_shape=(n,)), X))
    g.mark_output(g.rms_norm(g.add(X, step), normalized_shape=(n,)))
    return g


def moe(e: int = 8, m: int = 8, n: int = 4096) -> Graph:
    g, (X, A, B) = inputs((e, m, n), (e, n, n), (e, n, n))
    g.mark_output(g.matmul(g.exp(g.matmul(X, A)), B))
    return g


def mha(b: int = 32, q: int = 16, d: int = 64, t: int = 4096) -> Graph:
    return attention(b, q, d, t)


def mqa(b: int = 1, q: int = 1024, d: int = 64, t: int = 4096) -> Graph:
    return attention(b, q, d, t)


# ---- reference µGraphs: how it is computed
def rmsnorm_block(m: int = 16, k: int = 4096, n: int = 6144, grid: int = 64, loop: int = 64, **wrong: Any) -> Graph:
    g, (X, W) = inputs((m, k), (k, n))
    b = block((grid, 1, 1), loop)
    x = b.new_input(dtensor=X, input_map=(-1, -1, -1), forloop_dim=1)
    w = b.new_input(dtensor=W, input_map=wrong.get("w_map", (1, -1, -1)), forloop_dim=wrong.get("w_loop", 0))
    product = b.forloop_accum(b.matmul(x, w))
    b.new_output(stensor=b.div(product, b.forloop_accum(x, wrong.get("acc", "rms"))), output_map=(1, -1, -1))
    g.mark_output(g.customized([X, W], b)[0])
    return g


def gated_mlp_block(m: int = 16, k: int = 4096, n: int = 4096, grid: int = 64, loop: int = 32, **wrong: Any) -> Graph:
    g, (X, W1, W2) = inputs((m, k), (k, n), (k, n))
    b = block((grid, 1, 1), loop)
    x = b.new_input(X, (-1, -1, -1), 1)
    first, second = (b.matmul(x, b.new_input(w, (1, -1, -1), 0)) for w in (W1, W2))
    if wrong.get("early"):
        b.new_output(b.forloop_accum(b.mul(b.silu(first), second)), (1, -1, -1))
    else:
        b.new_output(b.mul(b.silu(b.forloop_accum(first)), b.forloop_accum(second)), (1, -1, -1))
    g.mark_output(g.customized([X, W1, W2], b)[0])
    return g


def gated_mlp_apart(m: int = 8, k: int = 4096, n: int = 4096, grid: int = 128, loop: int = 64, **wrong: Any) -> Graph:
    """Two outputs, multiplied by a kernel of its own."""
    g, (X, W1, W2) = inputs((m, k), (k, n), (k, n))
    b = block((grid, 1, 1), loop)
    x = b.new_input(X, (-1, -1, -1), 1)
    first, second = (b.forloop_accum(b.matmul(x, b.new_input(w, (1, -1, -1), 0))) for w in (W1, W2))
    b.new_output(b.silu(first), (1, -1, -1))
    b.new_output(second, (1, -1, -1))
    made = g.customized([X, W1, W2], b)
    g.mark_output(getattr(g, wrong.get("join", "mul"))(*made))
    return g


def lora_block(m: int = 16, k: int = 256, n: int = 4096, r: int = 16, grid: int = 64, **wrong: Any) -> Graph:
    g, (X, W, A, B) = inputs((m, k), (k, n), (k, r), (r, n))
    b = block((grid, 1, 1), 1)
    x, a = b.new_input(X, (-1, -1, -1), -1), b.new_input(A, (-1, -1, -1), -1)
    w, u = b.new_input(W, (1, -1, -1), -1), b.new_input(B, (1, -1, -1), -1)
    low = x if wrong.get("twice") else b.matmul(x, a)
    second = b.matmul(low, w if wrong.get("twice") else u)
    b.new_output(b.forloop_accum(b.add(b.matmul(x, w), second)), (1, -1, -1))
    reads = [X, A, W, B]
    g.mark_output(g.customized(reads, b)[0])
    return g


def lora_concat(m: int = 16, k: int = 256, n: int = 4096, r: int = 16, grid: int = 64, **wrong: Any) -> Graph:
    """[X, X A] times [W; B]."""
    g, (X, W, A, B) = inputs((m, k), (k, n), (k, r), (r, n))
    b = block((grid, 1, 1), 1)
    x, a = b.new_input(X, (-1, -1, -1), -1), b.new_input(A, (-1, -1, -1), -1)
    w, u = b.new_input(W, (1, -1, -1), -1), b.new_input(B, (1, -1, -1), -1)
    low = b.mul_scalar(b.matmul(x, a), wrong.get("scale", 1.0))
    both = b.matmul(b.concat(x, low, dim=1), b.concat(w, u, dim=0))
    b.new_output(b.forloop_accum(both), (1, -1, -1))
    g.mark_output(g.customized([X, W, A, B], b)[0])
    return g


def adapted_norm_block(
    m: int = 16, k: int = 4096, n: int = 28672, r: int = 16, grid: int = 448, loop: int = 64, **wrong: Any
) -> Graph:
    """Both products in each iteration: the form that scales to long rows."""
    g, (X, W, A, B) = inputs((m, k), (k, n), (k, r), (r, n))
    b = block((grid, 1, 1), loop)
    x, w = b.new_input(X, (-1, -1, -1), 1), b.new_input(W, (1, -1, -1), 0)
    a, u = b.new_input(A, (-1, -1, -1), 0), b.new_input(B, (1, -1, -1), -1)
    total = b.add(b.matmul(x, w), b.matmul(b.matmul(x, a), u))
    b.new_output(b.div(b.forloop_accum(total), b.forloop_accum(x, wrong.get("acc", "rms"))), (1, -1, -1))
    g.mark_output(g.customized([X, W, A, B], b)[0])
    return g


def attention_block(
    b: int = 2, q: int = 256, d: int = 64, t: int = 4096, grid: tuple[int, int, int] = (2, 16, 4), loop: int = 4,
    rows: int = 16, norm: bool = False, **wrong: Any,
) -> Graph:  # fmt: skip
    """Sums of parts of the keys, then a kernel that adds the parts."""
    g, (Q, K, V) = inputs((b, q, d), (b, d, t), (b, t, d))
    first = block(grid, loop, d)
    bQ = first.new_input(Q, (0, -1, 1), -1)
    bK = first.new_input(K, wrong.get("k_map", (0, 2, -1)), 2)
    bV = first.new_input(V, (0, 1, -1), 1)
    if norm:
        bQ, bV = first.rms_norm(bQ), first.rms_norm(bV)
    E = first.exp(first.matmul(bQ, bK))
    S = first.matmul(E, bV)
    first.new_output(first.forloop_accum(S), (0, 2, 1))
    first.new_output(first.forloop_accum(E, "sum"), (0, 2, 1))
    parts = g.customized([Q, K, V], first)
    second = block((grid[0], rows, 1), 1, d)
    top, below = (second.new_input(p, (0, 1, -1), -1) for p in parts)
    total = second.forloop_accum(top, "sum_todimx")
    second.new_output(second.div(total, second.forloop_accum(below, wrong.get("acc", "sum"))), (0, 1, -1))
    g.mark_output(g.customized(parts, second)[0])
    return g


def qknorm_block(**sizes: Any) -> Graph:
    return attention_block(**({"b": 8, "q": 128, "grid": (8, 16, 4)} | sizes), norm=True)


def attention_one_kernel(
    b: int = 2, q: int = 256, d: int = 64, t: int = 4096, rows: int = 16, loop: int = 16, **wrong: Any
) -> Graph:
    g, (Q, K, V) = inputs((b, q, d), (b, d, t), (b, t, d))
    k = block((b, 1, rows), loop, d)
    bQ, bK, bV = k.new_input(Q, (0, -1, 1), -1), k.new_input(K, (0, -1, -1), 2), k.new_input(V, (0, -1, -1), 1)
    E = k.exp(k.matmul(bQ, bK))
    below = k.forloop_accum(E, wrong.get("acc", "sum"))
    k.new_output(k.div(k.forloop_accum(k.matmul(E, bV)), below), (0, 2, 1))
    g.mark_output(g.customized([Q, K, V], k)[0])
    return g


def attention_rescaled(
    b: int = 2, q: int = 256, d: int = 64, t: int = 1024, grid: tuple[int, int, int] = (2, 16, 4), loop: int = 4,
    **wrong: Any,
) -> Graph:  # fmt: skip
    """The running maximum subtracted, in both kernels."""
    g, (Q, K, V) = inputs((b, q, d), (b, d, t), (b, t, d))
    k = block(grid, loop, d)
    bQ, bK, bV = k.new_input(Q, (0, -1, 1), -1), k.new_input(K, (0, 2, -1), 2), k.new_input(V, (0, 1, -1), 1)
    A = k.matmul(bQ, bK)
    top, change = k.reduction_max(A, dim=2)
    E = k.exp(k.sub(A, top))
    scale = change if wrong.get("scale") == "no exp" else k.exp(change)
    product = k.matmul(E, bV)
    if wrong.get("scale") == "none":
        k.new_output(k.forloop_accum(product), (0, 2, 1))
    else:
        k.new_output(k.forloop_accum_rescale(product, scale), (0, 2, 1))
    k.new_output(k.forloop_accum_rescale(E, scale, "sum"), (0, 2, 1))
    k.new_output(k.forloop_accum_max(top), (0, 2, 1))
    parts = g.customized([Q, K, V], k)
    c = block((grid[0], 1, grid[2]), grid[1], d)
    above, below, local = (c.new_input(p, (0, -1, 1), 2) for p in parts)
    top, change = c.reduction_max(local, dim=2)
    moved, scale = c.exp(c.sub(local, top)), c.exp(change)
    above = c.forloop_accum_rescale(c.mul(above, moved), scale)
    below = c.forloop_accum_rescale(c.mul(below, moved), scale, "sum")
    c.new_output(c.div(above, below), (0, -1, 1))
    g.mark_output(g.customized(parts, c)[0])
    return g


def mha_kernels(b: int = 32, q: int = 16, d: int = 64, t: int = 4096, **wrong: Any) -> Graph:
    """PyTorch's products and an exponential between kernels, then a block graph that divides."""
    g, (Q, K, V) = inputs((b, q, d), (b, d, t), (b, t, d))
    E = g.exp(g.matmul(Q, K))
    S = g.matmul(E, V)
    k = block((b, 1, 1), 1, d)
    below = k.forloop_accum(k.new_input(E, (0, -1, -1), -1), wrong.get("acc", "sum"))
    k.new_output(k.div(k.forloop_accum(k.new_input(S, (0, -1, -1), -1)), below), (0, -1, -1))
    g.mark_output(g.customized([E, S], k)[0])
    return g


def norm_transformer_block(m: int = 8, n: int = 4096, **wrong: Any) -> Graph:
    g, (H, X, alpha) = inputs((m, n), (m, n), (m, n))
    b = block((m, 1, 1), 1)
    h, x, a = (b.new_input(t, (0, -1, -1), -1) for t in (H, X, alpha))
    h, x, a = (b.forloop_accum(t) for t in (h, x, a))
    h = h if wrong.get("norm") == "once" else b.rms_norm(h)
    b.new_output(b.rms_norm(b.add(x, b.mul(a, b.add(h, x)))), (0, -1, -1))
    g.mark_output(g.customized([H, X, alpha], b)[0])
    return g


@dataclass(frozen=True)
class Reference:
    """A reference µGraph: its builder and program, the sizes of the original where they are not the defaults, sizes for
    quick tests, and a mistake that verification rejects."""

    build: Callable[..., Graph]
    program: Callable[..., Graph]
    small: dict[str, Any]
    wrong: dict[str, Any]
    sizes: tuple[dict[str, Any], ...] = ({},)
    own: frozenset[str] = field(default=frozenset({"grid", "loop", "rows"}))

    def wanted(self, sizes: dict[str, Any]) -> Graph:
        return self.program(**{k: v for k, v in sizes.items() if k not in self.own})


_ATT = {"b": 2, "q": 32, "d": 16, "t": 128}
REFERENCES = {
    "rmsnorm": Reference(
        rmsnorm_block, rmsnorm, {"m": 16, "k": 128, "n": 96, "grid": 4, "loop": 4}, {"acc": "mean"},
        ({"n": 4096}, {"m": 2, "grid": 256, "loop": 32}, {"grid": 256, "loop": 4}, {"m": 32, "loop": 32},
         {"m": 8, "n": 6144, "grid": 192, "loop": 32}, {"m": 8, "n": 28672, "grid": 448, "loop": 32},
         {"m": 8, "n": 12288, "grid": 384, "loop": 32}, {"m": 8, "n": 22016, "grid": 344, "loop": 32}),
    ),
    "gated_mlp": Reference(
        gated_mlp_block, gated_mlp, {"m": 16, "k": 64, "n": 64, "grid": 2, "loop": 2}, {"early": True},
        ({"m": 16}, {"m": 8, "loop": 16}),
    ),
    "gated_mlp in two kernels": Reference(
        gated_mlp_apart, gated_mlp, {"m": 8, "k": 64, "n": 64, "grid": 2, "loop": 2}, {"join": "add"}
    ),
    "lora": Reference(lora_block, lora, {"m": 16, "k": 32, "n": 64, "r": 16, "grid": 2}, {"twice": True}, ({}, {"grid": 128})),
    "lora by concat": Reference(lora_concat, lora, {"m": 16, "k": 32, "n": 64, "r": 16, "grid": 2}, {"scale": 2.0}),
    "lora with a norm": Reference(
        adapted_norm_block, adapted_norm, {"m": 16, "k": 64, "n": 64, "r": 16, "grid": 2, "loop": 2}, {"acc": "sum"}
    ),
    "attention": Reference(
        attention_block, attention, {**_ATT, "grid": (2, 2, 2), "loop": 2, "rows": 2}, {"acc": "mean"},
        ({}, {"grid": (2, 8, 16)}, {"b": 16, "grid": (16, 16, 4)}, {"b": 32, "grid": (32, 16, 2)}),
    ),
    "attention with norms": Reference(
        qknorm_block, qknorm_gqa, {**_ATT, "grid": (2, 2, 2), "loop": 2, "rows": 2}, {"acc": "mean"},
        ({"b": 8, "q": 128}, {"b": 32, "q": 64, "grid": (32, 16, 1)}),
    ),
    "attention in one kernel": Reference(
        attention_one_kernel, attention, {**_ATT, "rows": 2, "loop": 4}, {"acc": "mean"},
    ),
    "attention, rescaled": Reference(
        attention_rescaled, attention, {**_ATT, "grid": (2, 2, 2), "loop": 2}, {"scale": "no exp"}, ({"t": 1024},)
    ),
    "attention by library products": Reference(mha_kernels, mha, _ATT, {"acc": "mean"}),
    "norm_transformer": Reference(norm_transformer_block, norm_transformer, {"m": 4, "n": 64}, {"norm": "once"}),
}  # fmt: skip
WORKLOADS: dict[str, tuple[Callable[..., Graph], dict[str, Any]]] = {
    "rmsnorm": (rmsnorm, {"m": 2}),
    "gated_mlp": (gated_mlp, {}),
    "lora": (lora, {}),
    "gqa": (attention, {}),
    "qknorm_gqa": (qknorm_gqa, {}),
    "norm_transformer": (norm_transformer, {}),
    "mha": (mha, {}),
    "mqa": (mqa, {}),
    "moe": (moe, {}),
}


# ---- running
RUN = """
import importlib.util, sys, torch
from mirage.codegen.interpreter import float_interpreter
for path in sys.argv[1:]:
    given, want = torch.load(path + ".pt")
    spec = importlib.util.spec_from_file_location("generated", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with float_interpreter():
        got = module._run(*given).double()
    assert (got - want).abs().max() < 6e-3 * want.abs().max(), path
    print("equal", path)
"""


def interpreted(folder: Path, cases: Sequence[tuple[Any, Graph]], python: ForkedPython) -> tuple[int, str]:
    """Runs the kernels of each found graph in Triton's interpreter against its program in float64: how many are equal, and
    what was said."""
    paths = []
    for i, (found, program) in enumerate(cases):
        paths.append(str(folder / f"kernels{i}.py"))
        with open(paths[-1], "w") as file:
            file.write(found.text)
        names, given = {}, [torch.randn(*t.shape).half() * 0.3 for t in program.inputs]
        exec(program.plain(), names)
        want = names["program"](*(x.double() for x in given))
        own = {p.name: x for p, x in zip(found.searched.program.inputs, given, strict=True)}
        torch.save(([own[t.name] for t in found.mugraph.inputs], want), paths[-1] + ".pt")
    done = python.run("-c", RUN, *paths, env={"TRITON_INTERPRET": "1", "PATH": ""})
    return done.stdout.count("equal"), done.stderr
