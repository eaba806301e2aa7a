"""Each validity rule rejects what breaks it, and says so by name. Every row changes a valid µGraph in one place."""

from __future__ import annotations

import pytest
from workloads.hand import BUILDERS, real, small

from mirage.errors import InvalidMugraph
from mirage.mugraph.check import RULES, Limits, broken_rule, check
from mirage.mugraph.parse import parse
from mirage.mugraph.text import to_text

# (µGraph, what stands in its text, what takes its place, the rule that then breaks)
BROKEN = [
    # names, tensors, dims
    ("rmsnorm_linear", "axes m=19", "axes m=0", "names"),
    ("rmsnorm_linear", "input G fp16 [k]", "input X fp16 [k]", "names"),
    ("rmsnorm_linear", "input G fp16 [k]", "input G fp99 [k]", "tensors"),
    ("rmsnorm_linear", "input G fp16 [k]", "input G fp16 [j]", "tensors"),
    ("rmsnorm_linear", "input G fp16 [k]", "input G fp16 [k] sizes [3, 4]", "tensors"),
    ("rmsnorm_linear", "dim k (k) loop tile 32", "dim k (k) loop tile 24", "dims"),
    ("rmsnorm_linear", "dim n (n) grid", "dim n (m) grid", "dims"),
    ("rmsnorm_linear", "warps 4", "warps 3", "dims"),
    ("cluster_linear", "cluster 2", "cluster 3", "dims"),
    ("attention_split", "dim d (d) resident tile 32", "dim d (d) resident tile 16", "dims"),
    ("attention_split", "dim h (h) grid tile 1", "dim h (h) grid tile 1 splits t parts 2", "dims"),
    # groups: they divide the blocks, of a grid dim before another, of one, beside no tail
    ("gated_mlp", "dim m (m) grid tile 16", "dim m (m) grid tile 16 group 3", "groups"),
    ("gated_mlp", "dim n (n) grid tile 16", "dim n (n) grid tile 16 group 3", "groups"),
    ("gated_mlp", "dim k (k) loop tile 32", "dim k (k) loop tile 32 group 1", "groups"),
    ("gated_mlp", "dim m (m) grid tile 16", "dim m (m) grid tile 16 group 2", "groups"),
    ("attention_split", "dim h (h) grid tile 1\n    dim q (q) grid tile 16",
     "dim h (h) grid tile 1 group 1\n    dim q (q) grid tile 16 group 1", "groups"),
    ("attention_tail", "dim h (h) grid tile 1", "dim h (h) grid tile 1 group 1", "groups"),
    # splits and tails
    ("attention_split", "splits t parts 3", "splits t parts 4", "splits"),
    ("attention_split", "splits t parts 3", "splits e parts 3", "splits"),
    ("attention_split", "dim s (s) split tile 1", "dim s (s) split tile 2", "splits"),
    ("attention_tail", "dim s (s) resident tile 4\n", "dim s (s) split tile 1 splits e parts 3\n", "splits"),
    ("attention_tail", "  tail cluster 1:\n    dim h (h) grid tile 1\n    dim q (q) grid tile 16",
     "  tail cluster 1:\n    dim h (h) grid tile 1\n    dim q (q) grid tile 8", "tails"),
    ("attention_tail", "tail cluster 1", "tail cluster 2", "tails"),
    # scope
    ("rmsnorm_linear", "xg[m, k] = mul(x, g)", "xg[m, k] = mul(x, gg)", "scope"),
    ("rmsnorm_linear", "mean[m] = div(ss, count)", "mean[m] = div(ss_part, count)", "scope"),
    ("rmsnorm_linear", "g[k] = load G[k]", "x[k] = load G[k]", "scope"),
    ("rmsnorm_linear", "      ss[m] += ss_part\n", "", "scope"),
    ("rmsnorm_linear", "mean[m] = div(ss, count)", "mean[m] = div(ss@old, count)", "scope"),
    ("attention_split", "m[h, q] max= m_part\n      shift[h, q] = finite(m)",
     "shift[h, q] = finite(m)\n      m[h, q] max= m_part", "scope"),
    # tiles
    ("rmsnorm_linear", "x[m, k] = load X[m, k]", "x[m, n] = load X[m, k]", "tiles"),
    ("rmsnorm_linear", "x[m, k] = load X[m, k]", "x[m, k] = load Y[m, k]", "tiles"),
    ("rmsnorm_linear", "x[m, k] = load X[m, k]", "x[m, k] = load X[m, k, 0]", "tiles"),
    ("rmsnorm_linear", "x[m, k] = load X[m, k]", "x[m, k] = load X[m, k+1]", "tiles"),
    ("rmsnorm_linear", "x[m, k] = load X[m, k]", "x[m, k] = load X[k, m]", "tiles"),
    ("rmsnorm_linear", "x2[m, k] = mul(x, x)", "x2[k] = mul(x, x)", "tiles"),
    ("rmsnorm_linear", "x2[m, k] = mul(x, x)", "x2[m, k] = cube(x, x)", "tiles"),
    ("rmsnorm_linear", "scale[m] = rsqrt(shifted)", "scale[m] = rsqrt(shifted, eps)", "tiles"),
    ("rmsnorm_linear", "sum(x2; dim=k)", "sum(x2; dim=n)", "tiles"),
    ("rmsnorm_linear", "y_part[m, n] = dot(xg, w; dim=k)", "y_part[n, k] = dot(xg, w; dim=k)", "tiles"),
    ("rmsnorm_linear", "scale[m] = rsqrt(shifted)", "bad[m] = sum(y; dim=n)\n    scale[m] = rsqrt(shifted)", "tiles"),
    ("rmsnorm_linear", "size(axis=k)", "size(axis=j)", "tiles"),
    ("rmsnorm_linear", "const(value=1/1000000)", "const(value=1/0)", "tiles"),
    ("rmsnorm_linear", "const(value=1/1000000)", "const(value=small)", "tiles"),
    ("rmsnorm_linear", "ss[m] += ss_part", "ss[m, n] += ss_part", "tiles"),
    ("rmsnorm_linear", "store O[m, n] = o", "store O[m, n] = scale", "tiles"),
    ("attention_split", "in_t[t] = mask(dim=t)", "in_t[q, t] = mask(dim=t)", "tiles"),
    # descriptors: more in tests/verify/test_copied_tiles.py
    ("gated_mlp", "load X[m, k]", "load X[m, k] by descriptor", "descriptors"),  # rows of 140 bytes
    ("attention_tail", "load Lp[s, h, q]", "load Lp[s, h, q] by descriptor", "descriptors"),
    # loops, accumulators, savers
    ("rmsnorm_linear", "for k:", "for n:", "loops"),
    ("rmsnorm_linear", "mean[m] = div(ss, count)", "mean[m] = div(ss, count)\n    late[k] = load G[k]", "loops"),
    ("rmsnorm_linear", "y[m, n] += y_part", "y[m, n] += y_part\n      z[m, k] += xg", "accumulators"),
    ("rmsnorm_linear", "y[m, n] += y_part", "y[m, n] += y_part\n      z[m] += ss", "accumulators"),
    ("rmsnorm_linear", "y[m, n] += y_part",
     "y[m, n] += y_part\n      five[m] = const(value=5)\n      z[m] += five", "accumulators"),
    ("attention_split", "l[h, q] += l_part carrying rescale*@self", "l[h, q] += l_part", "accumulators"),
    ("attention_split", "m[h, q] max= m_part\n      shift",
     "m[h, q] max= m_part\n      m2[h, q] max= m_part carrying m@old*@self\n      shift", "accumulators"),
    ("rmsnorm_linear", "xg[m, k] = mul(x, g)", "xg[m, k] = mul(x, ss_part)", "partials"),
    ("rmsnorm_linear", "ss[m] += ss_part", "root[m] = sqrt(ss_part)\n      ss[m] += root", "partials"),
    ("rmsnorm_linear", "ss[m] += ss_part", "root[m] = mul(ss_part, ss_part)\n      ss[m] += root", "partials"),
    ("rmsnorm_linear", "ss[m] += ss_part",
     "two[] = const(value=2)\n      more[m] = add(ss_part, two)\n      ss[m] += more", "partials"),
    ("rmsnorm_linear", "ss[m] += ss_part", "ss[m] max= ss_part", "partials"),
    ("rmsnorm_linear", "xg[m, k] = mul(x, g)", "s2[m, k] = mul(ss_part)\n      xg[m, k] = mul(x, g)", "partials"),
    ("attention_split", "m_part[h, q] = max(seen; dim=t)", "m_part[h, q] = sum(seen; dim=t)", "partials"),
    ("attention_split", "l_part carrying rescale*@self", "l_part carrying m_part*@self", "partials"),
    ("rmsnorm_linear", "y[m, n] += y_part", "y[m, n] += y_part\n      store O[m, n] = y_part", "savers"),
    # device tensors
    ("rmsnorm_linear", "store O[m, n] = o", "store G[m, n] = o", "tiles"),
    ("cluster_linear", "output O fp16 [m, n]", "input O fp16 [m, n]\noutput P fp16 [m, n]", "once"),
    ("attention_split", "store Lp[s, h, q] = l", "store Lp[0, h, q] = l", "once"),
    ("attention_split", "store O[h, q, e] = out", "store O[0, q, e] = out", "tiles"),
    ("attention_split", "store Mp[s, h, q] = m", "store Mp[s, h, q] = m\n    store Mp[s, h, q] = l", "cover"),
    ("attention_split", "    store Lp[s, h, q] = l\n", "", "cover"),
    ("attention_split", "output O fp16 [h, q, e]", "output O fp16 [h, q, e] sizes [_, _, 40]", "cover"),
    ("attention_split", "ls[s, h, q] = load Lp[s, h, q]\n",
     "ls[s, h, q] = load Lp[s, h, q]\n    lo[h, q, e] = load O[h, q, e]\n", "order"),
    # padding
    ("layernorm_linear", "d[m, k] = mul(centred, in_k)", "d[m, k] = mul(centred, count)", "padding"),
    ("rmsnorm_linear", "x[m, k] = load X[m, k]", "x[m, k] = load X[m, k] pad 1.0", "padding"),
    ("attention_split", "p[h, q, t] = mul(ez, in_t)", "p[h, q, t] = mul(ez, one)", "padding"),
    ("attention_split", "m_part[h, q] = max(seen; dim=t)", "m_part[h, q] = max(score; dim=t)", "padding"),
    ("attention_split", "load Mp[s, h, q] pad -inf", "load Mp[s, h, q]", "padding"),
    ("attention_split", "v[h, t, e] = load V[h, t, e]", "v[h, t, e] = load V[h, t, e] pad inf", "padding"),
]  # fmt: skip


def _broken(name: str, old: str, new: str) -> str:
    text = to_text(small()[name].mugraph)
    assert text.count(old) >= 1, "the row does not fit the µGraph"
    return text.replace(old, new, 1)


@pytest.mark.parametrize(("name", "old", "new", "rule"), BROKEN)
def test_a_broken_mugraph_is_rejected_by_its_rule(name: str, old: str, new: str, rule: str) -> None:
    found = broken_rule(parse(_broken(name, old, new)))
    assert found is not None
    assert found[0] == rule, found[1].message


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("ss[m] += ss_part", "two[] = const(value=2)\n      twice[m] = mul(ss_part, two)\n      ss[m] += twice"),
        ("ss[m] += ss_part", "twice[m] = add(ss_part, ss_part)\n      ss[m] += twice"),
        ("ss[m] += ss_part", "two[] = const(value=2)\n      half[m] = div(ss_part, two)\n      ss[m] += half"),
    ],
)
def test_partial_sums_may_be_added_and_scaled(old: str, new: str) -> None:
    check(parse(_broken("rmsnorm_linear", old, new)))


def test_every_rule_has_a_row_that_breaks_it() -> None:
    elsewhere = {"capacity", "group", "library"}  # below
    assert {rule for *_, rule in BROKEN} | elsewhere == set(RULES)


def test_the_error_names_kernel_statement_and_rule() -> None:
    text = _broken("attention_split", "p[h, q, t] = mul(ez, in_t)", "p[h, q, t] = mul(ez, one)")
    with pytest.raises(InvalidMugraph) as error:
        check(parse(text))
    message = str(error.value)
    assert "attention_split.partial" in message
    assert "l_part[h, q] = sum(p; dim=t)" in message
    assert "(rule padding)" in message and "`mirage docs mugraph`" in message


@pytest.mark.parametrize("name", sorted(BUILDERS))
def test_capacity_takes_its_limits_from_the_caller(name: str) -> None:
    m = real(name).mugraph
    check(m, Limits(shared=232_448))
    found = broken_rule(m, Limits(shared=20_000))
    assert found is not None and found[0] == "capacity"


def test_a_tile_that_no_block_holds_is_refused() -> None:
    found = broken_rule(BUILDERS["rmsnorm_linear"](m=9000, n=9000, tm=4096, tn=4096).mugraph)
    assert found is not None and found[0] == "capacity"


def test_a_tail_may_read_its_own_group_only() -> None:
    text = _broken("attention_tail", "store Mp[s, h, q] = m", "store Mp[s, q, h] = m").replace(
        "temp Mp fp32 [s, h, q]", "temp Mp fp32 [s, q, h]"
    )
    check(parse(text.replace("load Mp[s, h, q]", "load Mp[s, q, h]")))
    # the same axis in another place of the store: the tail would read what other groups store
    square = text.replace("axes h=2 q=21", "axes h=21 q=21")
    found = broken_rule(parse(square))
    assert found is not None and found[0] == "group"


TWO_OUTPUTS = """    store O[m, n] = o
    store R[m] = scale first n
"""


def _two_outputs(stores: str) -> str:
    text = _broken("rmsnorm_linear", "    store O[m, n] = o\n", stores)
    return text.replace("output O fp16 [m, n]", "output O fp16 [m, n]\noutput R fp32 [m]")


def test_the_first_block_may_store_what_all_blocks_hold() -> None:
    check(parse(_two_outputs(TWO_OUTPUTS)))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (" first n", ""),
        (" first n", " first m"),
        (" first n", " first k"),
        (" first n", " first n z"),
        ("store O[m, n] = o", "store O[m, n] = o first n"),
    ],
)
def test_first_is_for_grid_dims_along_which_blocks_agree(old: str, new: str) -> None:
    found = broken_rule(parse(_two_outputs(TWO_OUTPUTS.replace(old, new))))
    assert found is not None and found[0] == "once"


LIBRARY = """mugraph two
axes m=5 k=6 n=7
input X fp16 [m, k]
input W fp16 [k, n]
temp Y fp16 [m, n]
output O fp16 [m, n]
library first: Y = matmul(X, W)
kernel second warps 4 stages 1:
  block cluster 1:
    dim m (m) grid tile 2
    dim n (n) grid tile 4
    y[m, n] = load Y[m, n]
    o[m, n] = exp(y)
    store O[m, n] = o
"""


def test_library_kernels_stand_beside_custom_ones() -> None:
    check(parse(LIBRARY))


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("matmul(X, W)", "matmul(X, V)", "library"),
        ("Y = matmul(X, W)", "X = matmul(X, W)", "library"),
        ("matmul(X, W)", "matmul(Y, W)", "order"),
        ("library first: Y", "library first: O", "cover"),
    ],
)
def test_library_kernels_are_checked(old: str, new: str, rule: str) -> None:
    found = broken_rule(parse(LIBRARY.replace(old, new)))
    assert found is not None and found[0] == rule
