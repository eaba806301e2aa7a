"""The names that tiles get from what computes them: which, for whom alike, and that nothing of a µGraph but names changes."""

from __future__ import annotations

import builtins
import keyword
import re
from dataclasses import replace

import pytest
from workloads import hand

from mirage.mugraph import rename
from mirage.mugraph.grammar import Accumulate, Compute, CustomKernel, Load, Loop, MuGraph
from mirage.mugraph.parse import parse
from mirage.mugraph.readable_names import ReadableNames, readable
from mirage.mugraph.structure import canonical
from mirage.mugraph.text import to_text

CASES = hand.small()

NORM = """\
mugraph norm
axes k=64 m=16 n=32
input X fp16 [m, k]
input W fp16 [k, n]
output O fp16 [m, n]
kernel main warps 4 stages 3:
  block cluster 1:
    dim m (m) grid tile 16
    dim n (n) grid tile 16
    dim k (k) loop tile 32
    for k:
      x[m, k] = load X[m, k]
      v[m, k] = mul(x, x)
      t[m] = sum(v; dim=k)
      acc[m] += t
      w[k, n] = load W[k, n]
      t_2[m, n] = dot(x, w; dim=k)
      acc_2[m, n] += t_2
    s[] = size(axis=k)
    v_2[m] = div(acc, s)
    c[] = const(value=1/1000000)
    v_3[m] = add(v_2, c)
    v_4[m] = rsqrt(v_3)
    v_5[m, n] = mul(v_4, acc_2)
    store O[m, n] = v_5
"""
NORM_NAMES = {
    "v": "x_sq", "t": "sum_sq_tile", "acc": "sum_sq", "t_2": "acc_o_tile", "acc_2": "acc_o", "v_2": "mean_sq",
    "v_3": "mean_sq_eps", "v_4": "rstd", "v_5": "o", "x": "x", "w": "w",
}  # fmt: skip
SOFTMAX = """\
mugraph softmax
axes m=16 n=64
input X fp16 [m, n]
output O fp16 [m, n]
kernel main warps 4 stages 3:
  block cluster 1:
    dim m (m) grid tile 1
    dim n (n) resident tile 64
    a[m, n] = load X[m, n]
    b[m, n] = mask(dim=n)
    c[] = const(value=-inf)
    d[m, n] = where(b, a, c)
    e[m] = max(d; dim=n)
    f[m, n] = sub(a, e)
    g[m, n] = exp(f)
    h[m, n] = mul(b, g)
    i[m] = sum(h; dim=n)
    j[m, n] = div(g, i)
    store O[m, n] = j
"""
SOFTMAX_NAMES = {
    "a": "x", "d": "x_masked", "e": "row_max", "f": "shifted", "g": "weights", "h": "weights_masked", "i": "row_sum",
    "j": "o",
}  # fmt: skip


def tiles(m: MuGraph) -> list[list[str]]:
    """The names of each block's tiles, in order."""
    found = []
    for block in (b for k in m.kernels if isinstance(k, CustomKernel) for b in (k.block, k.tail) if b is not None):
        every = [s for item in block.body for s in (item.body if isinstance(item, Loop) else (item,))]
        found.append([s.out for s in every if isinstance(s, Load | Compute | Accumulate)])
    return found


@pytest.mark.parametrize(("text", "want"), [(NORM, NORM_NAMES), (SOFTMAX, SOFTMAX_NAMES)], ids=["norm", "softmax"])
def test_a_tile_is_called_by_what_computes_it(text: str, want: dict[str, str]) -> None:
    m = parse(text)
    named = dict(zip(tiles(m)[0], tiles(readable(m))[0], strict=True))
    assert {x: named[x] for x in want} == want


@pytest.mark.parametrize("name", sorted(CASES))
def test_nothing_but_names_changes(name: str) -> None:
    m = CASES[name].mugraph
    assert canonical(readable(m)) == canonical(m)
    assert parse(to_text(readable(m))) == readable(m)
    assert all(len(set(block)) == len(set(old)) for block, old in zip(tiles(readable(m)), tiles(m), strict=True))


@pytest.mark.parametrize("name", sorted(CASES))
def test_names_do_not_depend_on_the_names_before(name: str) -> None:
    m = CASES[name].mugraph

    def same(x: str) -> str:
        return x

    other = rename.rename(m, rename.Renaming(same, same, same, same, lambda x: f"{x}_other"))
    assert tiles(other) != tiles(m)
    assert readable(other) == readable(m) == readable(readable(m))


def test_another_operator_gets_another_name() -> None:
    changed = readable(parse(NORM.replace("mul(x, x)", "add(x, x)")))
    assert "sum_sq" not in tiles(changed)[0] and "row_sum" in tiles(changed)[0]


@pytest.mark.parametrize("tensor", ["print", "Class", "tl", "TRITON", "lambda_", "x" * 99, "_", "__import__", "exec"])
def test_a_tensor_gives_a_tile_no_name_that_python_or_triton_has(tensor: str) -> None:
    """Names of tensors come from wherever a µGraph does."""
    m = parse(NORM.replace(" X ", f" {tensor} ").replace("load X[", f"load {tensor}["))
    for name in tiles(readable(m))[0]:
        assert re.fullmatch(r"[a-z][a-z0-9_]{0,50}", name)
        assert not keyword.iskeyword(name) and not hasattr(builtins, name) and name not in ("tl", "triton", "torch")


def test_a_loop_that_binds_a_name_again_keeps_it_one() -> None:
    """What one name meant, one name means."""
    m = parse(NORM)
    block = m.kernels[0].block  # type: ignore[union-attr]
    loop = block.body[0]
    twice = replace(block, body=(loop, loop, *block.body[1:]))
    again = readable(replace(m, kernels=(replace(m.kernels[0], block=twice),)))  # type: ignore[arg-type]
    first, second = again.kernels[0].block.body[:2]  # type: ignore[union-attr]
    assert first == second


def test_bodies_that_are_shared_are_named_as_each_by_itself() -> None:
    """Launches of other sizes share a body, whose statements are named once; one that is equal but for an operator shares nothing."""
    names, m = ReadableNames(), parse(NORM)
    block = m.kernels[0].block  # type: ignore[union-attr]
    wide = replace(block, dims=tuple(replace(d, tile=2 * d.tile) for d in block.dims))
    assert wide.body is block.body
    launches = [replace(m, kernels=(replace(m.kernels[0], block=b),)) for b in (block, wide)]  # type: ignore[arg-type]
    launches += [parse(NORM.replace("mul(x, x)", "add(x, x)")), parse(NORM.replace("rsqrt(", "sqrt("))]
    found = [names.of(x) for x in launches]
    assert found == [readable(x) for x in launches]
    first, second, *others = (x.kernels[0].block for x in found)  # type: ignore[union-attr]
    assert first.body is second.body and first.dims != second.dims
    assert all(x.body != first.body for x in others)
