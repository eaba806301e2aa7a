"""Reading is quick enough for every keystroke."""

from __future__ import annotations

import time

from mirage.source.detect import find
from mirage.source.shapes import rows

FUNCTION = '''
@mirage.optimize(dims={{"b": (1, 8, 16)}})
def layer_{0}(x: Float16[Tensor, "b 4096"], g: Float16[Tensor, "4096"], w: Float16[Tensor, "4096 4096"]):
    """A normalized projection.

    More words about it.
    """
    y = _norm_{0}(x, g)
    return y @ w * SCALE_{0}


def _norm_{0}(x, g):
    # in float32
    z = x.float()
    r = torch.rsqrt(z.pow(2).mean(-1, keepdim=True) + EPS)
    return (z * r * g).to(x.dtype)


SCALE_{0} = 1.0 / ({0} + 1)
'''
CLASS = '''
class Block{0}:
    """Some class of a model file."""

    def __init__(self, a, b, c=3, *, d=None):
        super().__init__()
        self.a = a
        self.b = [b + i for i in range(c)]
        self.d = d or {{}}

    def forward(self, x, mask=None):
        if mask is not None:
            x = x.masked_fill(mask, float("-inf"))
        for layer in self.b:
            x = layer(x) + self.a(x)
        return torch.nn.functional.softmax(x, dim=-1)

'''


def test_two_thousand_lines_with_twenty_functions() -> None:
    head = "import mirage\nimport torch\nfrom torch import Tensor\nfrom jaxtyping import Float16\n\nEPS = 1e-6\n"
    text = head + "".join(FUNCTION.format(i) for i in range(20))
    while text.count("\n") < 2000:
        text += CLASS.format(text.count("\n"))
    times = []
    for _ in range(9):
        start = time.perf_counter()
        found = find(text)
        times.append(time.perf_counter() - start)
    assert [len(rows(f)) for f in found.functions] == [3] * 20
    assert found.problems == []
    assert min(times) < 4 * 0.005, f"{min(times) * 1e3:.1f} ms"  # 5 ms on an idle machine
