"""Graphs as the original's search leaves them in a file: one program in every grid, loop and order that divides, and with
each of them wrong ones, in which one operator, map or operand is another."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import pytest
import torch

import mirage as mi
from mirage.errors import MirageError
from mirage_original import rebuild_saved, saved_files
from mirage_original.export_2025 import describe, form
from mirage_original.graph_builder import KNGraph
from mirage_original.operator_names import BLOCK

NO = (-1, -1, -1)
ROOM = 96 << 10


@dataclass(frozen=True)
class Workload:
    """The program as text, what makes a graph of it (for sizes, options and a twist), its options, and the twists that make
    it wrong ("" is none)."""

    source: str
    make: Callable[..., KNGraph]
    options: dict[str, tuple[Any, ...]]
    twists: tuple[str, ...]

    def graphs(self, twist: str = "") -> Iterator[list[Any]]:
        """The data of each graph whose blocks fit: the original counts every tile, and has room for 96 KB."""
        for values in product(*self.options.values()):
            g = self.make(twist=twist, **dict(zip(self.options, values, strict=True)))
            saved = describe(g)
            tiles = [sum(2 * prod(t.shape) for t in o.block.tensors) for o in saved.ops if o.block is not None]
            if max(tiles) <= ROOM:
                yield form([saved])[0]


def block(grid, loop):
    return mi.new_threadblock_graph(grid_dim=grid, block_dim=(128, 1, 1), forloop_range=loop, reduction_dimx=64)


# ---- silu(X W1) * (X W2)
def mlp(m, k, n):
    def make(grid, loop, rows, swapped, how, twist):
        g = mi.new_kernel_graph()
        x, w1, w2 = g.new_input(dims=(m, k)), g.new_input(dims=(k, n)), g.new_input(dims=(k, n))
        b = block((grid, rows, 1), loop)
        X = b.new_input(x, (-1, 0, -1), 1)
        W = [b.new_input(w, (1, -1, -1), 0) for w in ((w2, w1) if twist == "weights swapped" else (w1, w2))]
        if twist == "one weight twice":
            W[1] = W[0]
        C, D = (b.forloop_accum(b.matmul(X, w)) for w in W)
        act = {"another activation": b.gelu, "no activation": lambda t: t}.get(twist, b.silu)
        join = {"add for mul": b.add, "div for mul": b.div}.get(twist, b.mul)
        C = act(C)
        if twist == "squared":
            D = b.square(D)
        if twist == "silu of both":
            D = b.silu(D)
        omap = (1, 0, -1)
        if how == "fused":
            b.new_output(join(D, C) if swapped else join(C, D), omap)
            (out,) = g.customized([x, w1, w2], b)
        else:
            b.new_output(C, omap)
            b.new_output(D, omap)
            c, d = g.customized([x, w1, w2], b)
            last = {"add for mul": g.add, "div for mul": g.div}.get(twist, g.mul)
            out = last(d, c) if swapped else last(c, d)
        g.mark_output(out)
        return g

    source = f"""import torch
import torch.nn.functional as F

import mirage


@mirage.optimize(inputs=[(({m}, {k}), "fp16"), (({k}, {n}), "fp16"), (({k}, {n}), "fp16")])
def gated_mlp(x, w1, w2):
    return F.silu(x @ w1) * (x @ w2)
"""
    options = {
        "grid": tuple(x for x in (4, 8, 16, 32, 64, 96, 128, 256) if n % x == 0 and n // x >= 16),
        "loop": tuple(x for x in (4, 8, 16, 32, 64, 128) if k % x == 0 and k // x >= 16),
        "rows": (1, 2),
        "swapped": (False, True),
        "how": ("fused", "two kernels"),
    }
    twists = (
        "weights swapped", "one weight twice", "another activation", "no activation", "add for mul", "div for mul",
        "squared", "silu of both",
    )  # fmt: skip
    return Workload(source, make, options, twists)


# ---- rms_norm(X) W
def rms(m, k, n):
    def make(grid, loop, how, twist):
        g = mi.new_kernel_graph()
        x, w = g.new_input(dims=(m, k)), g.new_input(dims=(k, n))
        b = block((grid, 1, 1), loop)
        X, W = b.new_input(x, NO, 1), b.new_input(w, (1, -1, -1), 0)
        M = b.forloop_accum(b.matmul(X, W))
        acc = {"mean for rms": "mean", "sum for rms": "sum"}.get(twist, "rms")
        if how == "root outside" and not twist:
            total = b.forloop_accum(b.square(X), "mean")
            R = b.sqrt(total)
        else:
            R = b.forloop_accum(X, acc)
        if twist == "no norm":
            O = b.mul_scalar(M, 1.0)
        elif twist == "upside down":
            O = b.mul(M, R)
        elif twist == "norm of the product":
            O = b.rms_norm(M)
        elif twist == "twice":
            O = b.div(b.div(M, R), R)
        else:
            O = b.div(M, R)
        b.new_output(O, (1, -1, -1))
        (out,) = g.customized([x, w], b)
        g.mark_output(out)
        return g

    source = f"""import torch
import torch.nn.functional as F

import mirage


@mirage.optimize(inputs=[(({m}, {k}), "fp16"), (({k}, {n}), "fp16")])
def rms_linear(x, w):
    return F.rms_norm(x, ({k},), eps=0.0) @ w
"""
    options = {
        "grid": tuple(x for x in (4, 8, 16, 32, 48, 64, 96, 128, 192, 256, 384) if n % x == 0 and n // x >= 16),
        "loop": tuple(x for x in (2, 4, 8, 16, 32, 64, 128, 256) if k % x == 0 and k // x >= 16),
        "how": ("rms", "root outside"),
    }
    twists = ("mean for rms", "sum for rms", "no norm", "upside down", "norm of the product", "twice")
    return Workload(source, make, options, twists)


# ---- attention without a shift, in one kernel and a division, or with the keys in parts and a second kernel
def attention(h, q, d, t):
    def make(rows, parts, loop, second, twist):
        g = mi.new_kernel_graph()
        Q, K, V = g.new_input(dims=(h, q, d)), g.new_input(dims=(h, d, t)), g.new_input(dims=(h, t, d))
        b = block((h, q // rows, parts), loop)
        bQ = b.new_input(Q, (0, 1, -1), -1)
        bK = b.new_input(K, (0, -1, 2), 2)
        bV = b.new_input(V, (0, -1, 1), 1)
        S = b.matmul(bQ, bK)
        E = {"no exp": lambda x: x, "silu for exp": b.silu, "exp twice": lambda x: b.exp(b.exp(x))}.get(twist, b.exp)(S)
        total = b.forloop_accum(
            b.square(E) if twist == "squares summed" else E, "mean" if twist == "a mean for the sum" else "sum"
        )
        values = b.forloop_accum(b.matmul(E, bV))
        if parts == 1:
            b.new_output(total, (0, 1, -1))
            b.new_output(values, (0, 1, -1))
            s, o = g.customized([Q, K, V], b)
            out = g.div(s, o) if twist == "upside down" else g.mul(o, s) if twist == "mul for div" else g.div(o, s)
        else:
            b.new_output(total, (0, 1, 2))
            b.new_output(values, (0, 1, 2))
            s, o = g.customized([Q, K, V], b)
            c = mi.new_threadblock_graph(
                grid_dim=(h, q // rows, 1), block_dim=(128, 1, 1), forloop_range=second, reduction_dimx=d
            )
            bs, bo = c.new_input(s, (0, 1, -1), 2), c.new_input(o, (0, 1, -1), 2)
            S, O = c.forloop_accum(bs, "sum"), c.forloop_accum(bo, "sum_todimx")
            R = c.div(S, O) if twist == "upside down" else c.mul(O, S) if twist == "mul for div" else c.div(O, S)
            c.new_output(R, (0, 1, -1))
            (out,) = g.customized([s, o], c)
        g.mark_output(out)
        return g

    source = f"""import torch

import mirage


@mirage.optimize(inputs=[(({h}, {q}, {d}), "fp16"), (({h}, {d}, {t}), "fp16"), (({h}, {t}, {d}), "fp16")])
def attention(q, k, v):
    e = torch.exp(q @ k)
    return (e / e.sum(-1, keepdim=True)) @ v
"""
    options = {
        "rows": tuple(x for x in (16, 32, 64) if q % x == 0),
        "parts": tuple(x for x in (1, 4, 8, 16) if t % x == 0 and t // x >= 32),
        "loop": tuple(x for x in (2, 4, 8, 16) if t % x == 0),
        "second": (1, 2, 4),
    }
    twists = (
        "no exp",
        "exp twice",
        "silu for exp",
        "squares summed",
        "a mean for the sum",
        "mul for div",
        "upside down",
    )
    return Workload(source, make, options, twists)


# ---- random changes
def claims(rows: list[Any]) -> None:
    """The sizes that a changed graph states, as they now follow, so far as one can build it: a liar is found by its lies
    alone, and these graphs are to be judged by what they compute."""
    (entry,) = saved_files.entries([rows], "changed")
    if entry.graph is None:
        return
    with pytest.MonkeyPatch.context() as m:
        m.setattr(rebuild_saved, "_same", lambda *_: None)
        try:
            rows[:] = form([describe(rebuild_saved.build(entry.graph))])[0]
        except MirageError:
            return


def changed(rows: list[Any], r: random.Random) -> list[Any]:
    """A copy with one thing changed inside a block: an operator, a map, the loop's dim, the grid, an operand."""
    rows = json.loads(json.dumps(rows))
    b = r.choice([o["bgraph"] for o in rows if "bgraph" in o])
    ops = b["operators"]
    o = r.choice(ops)
    what = r.choice(["operator", "grid", "map", "loop", "operand", "operand"])
    if what == "operator" and o["op_type"] not in ("tb_input_op", "tb_output_op"):
        takes = len(o["input_tensors"])
        o["op_type"] = r.choice([k for k, x in BLOCK.items() if (x.takes, x.gives, x.needs) == (takes, 1, ())])
    elif what == "grid":
        b["grid_dim"][r.choice("xyz")] = r.choice([1, 2, 4, 8])
    elif what == "map":
        key = next((k for k in ("input_map", "output_map") if k in o), None)
        if key is not None:
            o[key][r.choice("xyz")] = r.choice([-1, 0, 1, 2])
    elif what == "loop" and "forloop_dim" in o:
        o["forloop_dim"] = r.choice([-1, 0, 1, 2])
    elif o["input_tensors"]:
        made = [t for x in ops[: ops.index(o)] for t in x["output_tensors"]]
        if made:
            o["input_tensors"][r.randrange(len(o["input_tensors"]))] = r.choice(made)
    claims(rows)
    return rows


def computes(graph: KNGraph, source: str, seed: int) -> bool:
    """Does a graph compute what the program does, in float64 on random inputs? Both run as PyTorch on whole tensors."""
    own: dict[str, Any] = {}
    theirs: dict[str, Any] = {}
    exec(graph.plain(), own)
    exec(source, theirs)
    name = source.split("def ")[1].split("(")[0]
    g = torch.Generator().manual_seed(seed)
    inputs = [0.5 * torch.randn(t.shape, generator=g, dtype=torch.float64) + 0.1 for t in graph.inputs]
    got, want = own["program"](*inputs), theirs[name](*inputs)
    return got.shape == want.shape and torch.allclose(got, want, rtol=1e-6, atol=1e-8)
