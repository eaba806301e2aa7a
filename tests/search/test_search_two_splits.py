"""Two kernels that split one axis, each into parts of its own: proved, unless the numbers of parts are read as values."""

import pytest
from workloads.terms import problem

from mirage.mugraph.parse import parse
from mirage.verify.proof.opinion import proof_opinion

TEXT = """mugraph two_splits
axes k=4096 k_here=4 k_there=2 m=16 n=64
input X fp16 [m, k]
input W fp16 [k, n]
temp S fp32 [k_here, m]
temp Y fp32 [k_there, m, n]
temp T fp32 [m]
output O fp16 [m, n]
kernel squares warps 4 stages 3:
  block cluster 1:
    dim k_here (k_here) split tile 1 splits k parts 4
    dim m (m) grid tile 16
    dim k (k) loop tile 64
    for k:
      x[m, k] = load X[m, k]
      x2[m, k] = mul(x, x)
      part[m] = sum(x2; dim=k)
      acc[m] += part
    store S[k_here, m] = acc
  tail cluster 1:
    dim m (m) grid tile 16
    dim k_here (k_here) resident tile 4
    s[k_here, m] = load S[k_here, m]
    t[m] = sum(s; dim=k_here)
    store T[m] = t
kernel main warps 4 stages 3:
  block cluster 1:
    dim k_there (k_there) split tile 1 splits k parts 2
    dim m (m) grid tile 16
    dim n (n) grid tile 64
    dim k (k) loop tile 64
    for k:
      x[m, k] = load X[m, k]
      w[k, n] = load W[k, n]
      y[m, n] = dot(x, w; dim=k)
      acc[m, n] += y
    store Y[k_there, m, n] = acc
  tail cluster 1:
    dim m (m) grid tile 16
    dim n (n) grid tile 64
    dim k_there (k_there) resident tile 2
    ys[k_there, m, n] = load Y[k_there, m, n]
    y[m, n] = sum(ys; dim=k_there)
    squares[m] = load T[m]
    count[] = size(axis=k)
    eps[] = const(value=1/1000000)
    mean[m] = div(squares, count)
    shifted[m] = add(mean, eps)
    scale[m] = rsqrt(shifted)
    o[m, n] = mul(scale, y)
    store O[m, n] = o
"""


def proved(text: str) -> bool:
    p = problem("rmsnorm_linear")
    proof = proof_opinion(p.t, {o.tensor: (o.term, o.dims) for o in p.outputs}, parse(text))
    return proof is not None and proof.word == "PROVED"


def test_parts_of_their_own_are_proved():
    assert proved(TEXT)
    assert proved(
        TEXT.replace("k_there", "k_here").replace("k_here=4 k_here=2", "k_here=4").replace("parts 2", "parts 4")
    )


SCALED = TEXT.replace("    store T[m] = t", "    n[] = size(axis=k_here)\n    u[m] = mul(t, n)\n    store T[m] = u")


@pytest.mark.parametrize(
    "wrong",
    [
        TEXT.replace("x2[m, k] = mul(x, x)", "x2[m, k] = mul(x, x, x)"),
        TEXT.replace("t[m] = sum(s; dim=k_here)", "t[m] = max(s; dim=k_here)"),
        SCALED,
        # times the parts of one kernel, divided by those of the other: equal only where these happen to be as many
        SCALED.replace("squares[m] = load T[m]", "more[m] = load T[m]").replace(
            "    count[] =", "    n[] = size(axis=k_there)\n    squares[m] = div(more, n)\n    count[] ="
        ),
    ],
)
def test_what_is_wrong_is_not(wrong):
    assert wrong != TEXT
    assert not proved(wrong)
