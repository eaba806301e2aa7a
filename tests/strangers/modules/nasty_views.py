"""Nasty modules about memory: views written in place, outputs that are inputs or each other, inputs that overlap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from strangers.modules.session import Session


class WritesItsInput(nn.Module):
    """The input is changed, and its old value is in the output."""

    def forward(self, x: Tensor) -> Tensor:
        old = torch.softmax(x * 2, -1)
        x.mul_(0.5).add_(1)
        return old + x

    @staticmethod
    def steps(s: Session) -> None:
        x = s.floats(4, 8)
        with torch.no_grad():
            for _ in range(3):
                s.call(x)


class WritesAViewOfItsInput(nn.Module):
    """A transposed slice of the input is written; the caller sees it in a tensor that holds the memory."""

    def forward(self, x: Tensor) -> Tensor:
        x.t()[1:3].add_(F.silu(x.t()[0:2]))
        return (x * x).sum(0)

    @staticmethod
    def steps(s: Session) -> None:
        base = s.floats(6, 10)
        with torch.no_grad():
            for _ in range(3):
                s.call(base[1:5, 2:8])
                s.observe(lambda run: base.clone(), base)


class ReturnsItsInput(nn.Module):
    """The output is the input itself, twice, beside a view of it."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return x, x, x.view(-1)[2:], torch.exp(x) - x

    @staticmethod
    def steps(s: Session) -> None:
        x, y = s.floats(3, 4), s.floats(3, 4, grad=True)
        with torch.no_grad():
            out = s.call(x)
            out[2].zero_()
            s.call(x)
        out = s.call(y)
        s.backward(out)


class ReturnsOneTensorTwice(nn.Module):
    """An intermediate, its view and its transposed view: three outputs, one memory; the caller writes one."""

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        h = F.gelu(x) * 3
        return {"h": h, "again": h, "flat": h.view(-1), "turned": h.t(), "row": h[1]}

    @staticmethod
    def steps(s: Session) -> None:
        x = s.floats(3, 5)
        with torch.no_grad():
            for _ in range(3):
                out = s.call(x)
                out["flat"].mul_(2)
                s.observe(lambda run, out=out: out, x)
        s.backward(s.call(s.floats(3, 5, grad=True)))


class OverlappingInputs(nn.Module):
    """Two inputs, apart in the first call and over one memory in the next; one is written."""

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        a.mul_(2)
        return torch.tanh(a) + torch.sigmoid(b)

    @staticmethod
    def steps(s: Session) -> None:
        base, other = s.floats(4, 6), s.floats(4, 6)
        with torch.no_grad():
            s.call(base, other)
            s.call(base, base)
            s.call(base[:2], base[:2])


class ShiftedInputs(nn.Module):
    """Inputs that share part of their memory from the first call on."""

    def forward(self, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        a.add_(1)
        c = b * torch.rsqrt(b.square().mean(-1, keepdim=True) + 1e-5)
        return c, a[0]

    @staticmethod
    def steps(s: Session) -> None:
        base = s.floats(6, 4)
        with torch.no_grad():
            for _ in range(2):
                s.call(base[:4], base[2:])


class ExpandedInput(nn.Module):
    """An input whose rows are one row in memory."""

    def forward(self, x: Tensor, w: Tensor) -> Tensor:
        return torch.softmax(x * w, -1) @ w.t()

    @staticmethod
    def steps(s: Session) -> None:
        row, w = s.floats(1, 8), s.floats(4, 8)
        with torch.no_grad():
            for _ in range(2):
                s.call(row.expand(4, 8), w)
            s.call(w, row.expand(4, 8))


class ExpandedIsReturned(nn.Module):
    """An output of stride 0 beside its dense copy."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        m = (x * 2 + 1).mean(0, keepdim=True)
        return m.expand(5, -1), m.expand(5, -1).contiguous()

    @staticmethod
    def steps(s: Session) -> None:
        with torch.no_grad():
            for _ in range(2):
                s.call(s.floats(3, 4))
        x = s.floats(3, 4, grad=True)
        s.backward(s.call(x))


class TransposedStridedOffset(nn.Module):
    """One module over inputs of one shape and ever other strides and offsets."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(6)

    def forward(self, x: Tensor) -> Tensor:
        return F.gelu(self.norm(x)) * x

    @staticmethod
    def steps(s: Session) -> None:
        big = s.floats(20, 20)
        with torch.no_grad():
            for x in (
                s.floats(4, 6),
                s.floats(6, 4).t(),
                big[::5, 1:7],
                big[3:7, 5:17:2],
                big.flatten()[7:31].view(4, 6),
                big.t()[2:6, 3:9],
                s.floats(4, 6),
            ):
                s.call(x)
                s.call(x)


class SliceAssignment(nn.Module):
    """A result put together by writing slices of a new tensor, one of them through a mask and one through indices."""

    def forward(self, x: Tensor, i: Tensor, m: Tensor) -> Tensor:
        out = torch.zeros_like(x)
        out[:, ::2] = torch.relu(x[:, ::2]) * 2
        out[:, 1::2] = x[:, 1::2] - x[:, :1]
        out[i] += 1
        out[m] = -1.0
        out[-1, -1] = x[0, 0]
        return out

    @staticmethod
    def steps(s: Session) -> None:
        for grad in (False, True, True):
            s.backward(s.call(s.floats(4, 6, grad=grad), torch.tensor([2, 0]), s.bools(4, 6)))


class ChunksWritten(nn.Module):
    """Views of one tensor by chunk, split and unbind, written before the whole is read."""

    def forward(self, x: Tensor) -> Tensor:
        h = torch.sigmoid(x) + x
        a, b = h.chunk(2, -1)
        a.mul_(b)
        for row in h.unbind(0)[1:]:
            row.sub_(h[0])
        p, q = h.split([1, 5], -1)
        return torch.cat([q * 2, p.exp()], -1)

    @staticmethod
    def steps(s: Session) -> None:
        for _ in range(2):
            with torch.no_grad():
                s.call(s.floats(3, 6))


class OutputsOfOneMemoryWithGradients(nn.Module):
    """Two views of one intermediate that need a gradient, written by the caller before it is taken."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h = torch.tanh(self.lin(x))
        return h[:, :2], h[:, 2:]

    @staticmethod
    def steps(s: Session) -> None:
        for _ in range(2):
            x = s.floats(3, 4, grad=True)
            a, b = s.call(x)
            s.backward((a * 2, b.exp()))


class WritesUnderGradient(nn.Module):
    """An input that is no leaf is written in place, and the gradient goes through it."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.linspace(-1, 1, 4))

    def forward(self, x: Tensor) -> Tensor:
        x.mul_(self.w)
        return F.silu(x) + x

    @staticmethod
    def steps(s: Session) -> None:
        for _ in range(2):
            x = s.floats(3, 4, grad=True)
            y = x * 1.5
            out = s.call(y)
            s.backward((out, y))


class Pair(NamedTuple):
    """Two tensors by name."""

    first: Tensor
    rest: Tensor


@dataclass
class Found:
    """What a model gives, as people hold it."""

    logits: Tensor
    hidden: Tensor | None = None
    extra: Any = None


class OutputsOfEveryForm(nn.Module):
    """Dataclass, named tuple, dict, list, None and numbers around tensors."""

    def forward(self, x: Tensor, mask: Tensor | None = None, *, scale: float = 1.0, give: bool = False) -> Found:
        h = torch.softmax(x * scale, -1)
        if mask is not None:
            h = h.masked_fill(mask, 0.0)
        return Found(h, x if give else None, {"pair": Pair(h[0], h[1:]), "many": [h.sum(), None, 3, "name"]})

    @staticmethod
    def steps(s: Session) -> None:
        x, m = s.floats(4, 5), s.bools(4, 5)
        with torch.no_grad():
            for _ in range(2):
                s.call(x)
                s.call(x, m, scale=0.5)
                s.call(x, mask=None, give=True)
                s.call(x, scale=2, mask=m)


class ResizesAView(nn.Module):
    """A view of an intermediate is made smaller behind a break."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h = x * 2 + 1
        v = h.view(-1)
        print("between")
        w = v[:3].clone().resize_(1)
        return h.sigmoid(), w

    @staticmethod
    def steps(s: Session) -> None:
        for _ in range(2):
            with torch.no_grad():
                s.call(s.floats(3, 4))


class IdentityDropout(nn.Module):
    """Dropout of evaluation gives its input itself: a write of the output is one of the input."""

    def __init__(self) -> None:
        super().__init__()
        self.drop = nn.Dropout(0.5)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = self.drop(x)
        y += 1
        return torch.exp(y) * y, self.drop(y)

    @staticmethod
    def steps(s: Session) -> None:
        s.model.eval()
        for _ in range(2):
            with torch.no_grad():
                s.call(s.floats(3, 4))


class FromInputsMemory(nn.Module):
    """`as_strided`, `unfold`, `real` parts and `diagonal`: views that few people write in place."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        h = torch.cos(x) * 2
        h.diagonal().fill_(1.0)
        u = h.unfold(1, 3, 1)
        a = h.as_strided((2, 3), (1, 5))
        return u.sum(-1), a * a, h.diagonal()

    @staticmethod
    def steps(s: Session) -> None:
        for _ in range(2):
            with torch.no_grad():
                s.call(s.floats(5, 5))


class ZeroAndOne(nn.Module):
    """Sizes of 0 and 1 through softmax, sums, products and norms."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        h = F.silu(self.lin(x)) * x
        return h, torch.softmax(h, 0), (h * h).sum(0) + 1

    @staticmethod
    def steps(s: Session) -> None:
        with torch.no_grad():
            for n in (3, 0, 1, 0, 3, 1):
                s.call(s.floats(n, 4))
        s.backward(s.call(s.floats(0, 4, grad=True)))


class ViewOfAnAliasedInput(nn.Module):
    """Two inputs over one memory, the second behind the first's start; a view of the second is returned after a write of the first."""

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        a.add_(100)
        return b[0]

    @staticmethod
    def steps(s: Session) -> None:
        for _ in range(2):
            base = s.floats(4, 6)
            with torch.no_grad():
                s.call(base, base[1:])
