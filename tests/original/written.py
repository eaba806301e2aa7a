"""Saved graphs as each version of the original writes them, put together by hand: what the reader is tested with."""

from __future__ import annotations

import json
import math

STYLES = {  # version -> (prefix of accumulators, code of float16, fields of a kernel graph's input)
    "2024-05": (None, 921, {}),
    "2024-12": ("tb_accum", 921, {"input_map": {"x": -1, "y": -1, "z": -1}}),
    "2025": ("tb_forloop_accum", 941, {"input_map": {"x": -1, "y": -1, "z": -1}}),
}


def xyz(a, b=-1, c=-1):
    return {"x": a, "y": b, "z": c}


class Kernels:
    """A kernel graph in the form of one version. Tensors are dicts, as in the file."""

    def __init__(self, style="2025"):
        self.prefix, self.code, self.more = STYLES[style]
        self.style, self.rows, self.guid = style, [], 1000

    def tensor(self, shape, layout="DmemRowMajor", **more):
        self.guid += 1
        dim = [*shape, *[0] * (4 - len(shape))]
        return {"guid": self.guid, "dim": dim, "num_dims": len(shape), "data_type": self.code, "layout": layout, **more}

    def row(self, op, args, outs, **fields):
        self.rows.append({"op_type": op, "input_tensors": list(args), "output_tensors": list(outs), **fields})
        return outs[0] if outs else None

    def input(self, *shape, strides=None, layout="DmemRowMajor"):
        more = dict(self.more)
        if more:
            more["input_strides"] = strides or [math.prod(shape[i + 1 :]) for i in range(len(shape))]
        return self.row("kn_input_op", [], [self.tensor(shape, layout)], **more)

    def op(self, name, args, shape, **fields):
        return self.row(f"kn_{name}_op", args, [self.tensor(shape)], **fields)

    def output(self, t):
        if self.style != "2024-05":
            shape = t["dim"][: t["num_dims"]]
            strides = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
            self.row("kn_output_op", [t], [], output_strides=strides, output_map=xyz(-1))
        return self

    def custom(self, block):
        bgraph = {
            "graph_level": "thread_block_graph", "grid_dim": block.grid, "block_dim": xyz(128, 1, 1),
            "forloop_range": block.range, "operators": block.rows, "smem_offset": 0,
        }  # fmt: skip
        more = {"plan": {"ops": []}} if self.style == "2024-05" else {}
        if self.style != "2024-05":
            bgraph["reduction_dimx"] = 64
        self.row("kn_customized_op", block.sources, block.results, bgraph=bgraph, **more)
        return block.results


class Block:
    """A threadblock graph of `kernels`."""

    def __init__(self, kernels, grid, forloop_range):
        self.k, self.grid, self.range = kernels, xyz(*grid), forloop_range
        self.rows, self.sources, self.results = [], [], []

    def tensor(self, shape, after=False):
        more = {} if self.k.style == "2024-05" else {"after_accum": after}
        return {**self.k.tensor(shape, "SmemRowMajor"), "smem_offset": 0, **more}

    def input(self, source, shape, imap, loop):
        self.sources.append(source)
        t = self.tensor(shape)
        row = {"op_type": "tb_input_op", "input_tensors": [], "output_tensors": [t], "dtensor": source}
        self.rows.append({**row, "input_map": xyz(*imap), "forloop_dim": loop})
        return t

    def op(self, name, args, shape, after=False, **fields):
        t = self.tensor(shape, after)
        self.rows.append({"op_type": f"tb_{name}_op", "input_tensors": args, "output_tensors": [t], **fields})
        return t

    def accum(self, t, kind="nored", shape=None):
        t2 = self.tensor(shape or t["dim"][: t["num_dims"]], after=True)
        self.rows.append({"op_type": f"{self.k.prefix}_{kind}_op", "input_tensors": [t], "output_tensors": [t2]})
        return t2

    def output(self, t, shape, omap):
        result = self.k.tensor(shape)
        outs = [self.tensor(t["dim"][: t["num_dims"]])] if self.k.style == "2024-05" else []
        row = {"op_type": "tb_output_op", "input_tensors": [t], "output_tensors": outs, "dtensor": result}
        self.rows.append({**row, "output_map": xyz(*omap)})
        self.results.append(result)
        return result


def rms_linear(style="2025", grid=4, loop=4, m=4, k=64, n=64, rms="red_ld_rms"):
    """x / rms(x) @ w in one kernel, n over the grid and k over the loop."""
    g = Kernels(style)
    x, w = g.input(m, k), g.input(k, n)
    b = Block(g, (grid, 1, 1), loop)
    bx, bw = b.input(x, (m, k // loop), (-1,), 1), b.input(w, (k // loop, n // grid), (1,), 0)
    root = b.accum(bx, rms, (m, 1))
    y = b.accum(b.op("matmul", [bx, bw], (m, n // grid)))
    b.output(b.op("div", [y, root], (m, n // grid), after=True), (m, n), (1,))
    return g.output(g.custom(b)[0]).rows


def attention(style="2024-05", h=2, q=32, d=16, t=64, grid=2, loop=4):
    """exp(QK) V over its sum: one kernel with two outputs, and a library division, as in the files of May 2024."""
    g = Kernels(style)
    Q, K, V = g.input(h, q, d), g.input(h, d, t, layout="DmemColumnMajor"), g.input(h, t, d, layout="DmemColumnMajor")
    b = Block(g, (h, grid, 1), loop)
    bq = b.input(Q, (1, q // grid, d), (0, 1), -1)
    bk, bv = b.input(K, (1, d, t // loop), (0,), 2), b.input(V, (1, t // loop, d), (0,), 1)
    e = b.op("exp", [b.op("matmul", [bq, bk], (1, q // grid, t // loop))], (1, q // grid, t // loop))
    s = b.op("reduction_2", [e], (1, q // grid, 1), reduce_dim=2, reduce_size=1)
    o = b.op("matmul", [e, bv], (1, q // grid, d))
    if style != "2024-05":
        s, o = b.accum(s), b.accum(o)
    b.output(s, (h, q, 1), (0, 1))
    b.output(o, (h, q, d), (0, 1))
    total, values = g.custom(b)
    return g.output(g.op("div", [values, total], (h, q, d))).rows


def lora(m=4, k=64, r=16, n=64, grid=2, loop=1, swapped=False):
    """[X, XA] by [W; B] in one kernel, by two concats, as in the files of May 2024."""
    g = Kernels("2024-05")
    X, W, A, B = g.input(m, k), g.input(k, n), g.input(k, r), g.input(r, n)
    b = Block(g, (grid, 1, 1), loop)
    x, w = b.input(X, (m, k), (-1,), -1), b.input(W, (k, n // grid), (1,), -1)
    a, c = b.input(A, (k, r), (-1,), -1), b.input(B, (r, n // grid), (1,), -1)
    left = b.op("concat_1", [x, b.op("matmul", [x, a], (m, r))], (m, k + r), concat_dim=1)
    right = b.op("concat_0", [c, w] if swapped else [w, c], (k + r, n // grid), concat_dim=0)
    b.output(b.op("matmul", [left, right], (m, n // grid)), (m, n), (1,))
    g.custom(b)
    return g.rows


def softmax_product(h=2, q=32, d=16, t=64):
    """exp(QK) over its sum, times V, as library operators."""
    g = Kernels("2024-05")
    Q, K, V = g.input(h, q, d), g.input(h, d, t), g.input(h, t, d)
    e = g.op("exp", [g.op("matmul", [Q, K], (h, q, t))], (h, q, t))
    total = g.op("reduction_2", [e], (h, q, 1))
    g.op("matmul", [g.op("div", [e, total], (h, q, t)), V], (h, q, d))
    return g.rows


def checkpoint(*graphs, program=()):
    """The object of May 2024."""
    return {
        "best_graph": None, "best_profile_result": {"run_time": 1000.0}, "callstack": [], "computation_graph": list(program),
        "config": {"frange_to_explore": [1, 4]}, "generated_graphs": list(graphs), "num_total_kernel_graphs": 7,
        "num_total_random_tests": 1, "num_valid_kernel_graphs": 1,
    }  # fmt: skip


def save(path, data):
    path.write_text(json.dumps(data))
    return str(path)
