"""Nasty modules about control: breaks, branches on data, exceptions, modes, transforms, threads, casts, changing shapes."""

from __future__ import annotations

import torch
import torch.nn.functional as F
import torch.utils.checkpoint
from torch import Tensor, nn

from strangers.modules.session import Session


class PrintsBetween(nn.Module):
    """A print between two graphs over values that both use."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        h = torch.tanh(self.lin(x)) * x
        v = h.view(-1)
        print("between", tuple(h.shape))
        v[::2] *= 2
        return F.silu(h) + x

    @staticmethod
    def steps(s: Session) -> None:
        with torch.no_grad():
            for _ in range(3):
                s.call(s.floats(3, 4))
        x = s.floats(3, 4, grad=True)
        for _ in range(2):
            s.backward(s.call(x))


class BranchesOnData(nn.Module):
    """`.item()` chooses the way, and the value itself enters as a number."""

    def forward(self, x: Tensor) -> Tensor:
        top = x.abs().max().item()
        h = torch.exp(x / (top + 1.0)) * 2
        if x.sum() > 0:
            h = h - h.mean(-1, keepdim=True)
        return torch.where(h > 0.5, h, h * 0.1)

    @staticmethod
    def steps(s: Session) -> None:
        with torch.no_grad():
            for shift in (2.0, -2.0, 2.0, -2.0):
                s.call(s.floats(3, 4) + shift)


class SizesOfData(nn.Module):
    """Shapes that depend on values: `nonzero`, boolean indexing, `unique`."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        kept = x[x > 0]
        return torch.exp(kept) * 2, (x > 0).nonzero(), torch.unique((x * 2).round())

    @staticmethod
    def steps(s: Session) -> None:
        with torch.no_grad():
            for _ in range(3):
                s.call(s.floats(4, 4))


class Raises(nn.Module):
    """An exception after a buffer was written: the write stays, and the next call goes on."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        self.count += 1
        h = torch.sigmoid(x) * 2
        if x.shape[0] == 3:
            raise ValueError("three rows")
        if x.shape[0] == 2 and h.sum().item() > 0:
            raise KeyError("two rows")
        return h + self.count

    @staticmethod
    def steps(s: Session) -> None:
        with torch.no_grad():
            for n in (4, 3, 4, 2, 2, 4, 3):
                s.call(s.floats(n, 4))


class CatchesItsOwn(nn.Module):
    """An exception inside, caught inside; and one of the wrong shape that is not."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        try:
            if y.shape[-1] == 3:
                raise IndexError("three")
            h = x * y + 1
        except IndexError:
            h = x * 2 - 1
        return torch.relu(h) @ x.t()

    @staticmethod
    def steps(s: Session) -> None:
        with torch.no_grad():
            for y in (s.floats(3, 4), s.floats(3, 3), s.floats(2, 4), s.floats(3, 4)):
                s.call(s.floats(3, 4), y)


class NoGradInside(nn.Module):
    """Parts without a gradient: `no_grad`, `detach`, and a branch that is only weights."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        with torch.no_grad():
            scale = self.a(x).abs().mean() + 1
        h = self.b(x) / scale
        return h * torch.sigmoid(h.detach()), scale * 2

    @staticmethod
    def steps(s: Session) -> None:
        for grad in (True, False, True):
            s.backward(s.call(s.floats(3, 4, grad=grad)))
        with torch.no_grad():
            s.call(s.floats(3, 4))


class EnablesGradInside(nn.Module):
    """Gradients switched on inside a call without them, and the gradient taken inside."""

    def forward(self, x: Tensor) -> Tensor:
        with torch.enable_grad():
            y = x.detach().requires_grad_()
            (g,) = torch.autograd.grad((torch.tanh(y) * y).sum(), y)
        return x - 0.1 * g

    @staticmethod
    def steps(s: Session) -> None:
        with torch.no_grad():
            for _ in range(2):
                s.call(s.floats(3, 4))


class Autocast(nn.Module):
    """bfloat16 by autocast inside, and around."""

    def __init__(self) -> None:
        super().__init__()
        self.lin, self.norm = nn.Linear(8, 8), nn.LayerNorm(8)

    def forward(self, x: Tensor) -> Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            h = F.gelu(self.lin(self.norm(x)))
            y = h @ h.mT
        return y.to(x.dtype) * 0.5 + x

    @staticmethod
    def steps(s: Session) -> None:
        with torch.no_grad():
            for _ in range(2):
                s.call(s.floats(8, 8))
            with torch.autocast("cpu", dtype=torch.bfloat16):
                s.call(s.floats(8, 8))
            s.call(s.floats(8, 8))
        s.backward(s.call(s.floats(8, 8, grad=True)))


class AutocastOfTheCaller(nn.Module):
    """The same module with autocast and without: two graphs, two dtypes."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        return F.silu(self.lin(x)) * self.lin(x)

    @staticmethod
    def steps(s: Session) -> None:
        x = s.floats(4, 8)
        with torch.no_grad():
            for on in (False, True, True, False):
                with torch.autocast("cpu", dtype=torch.bfloat16, enabled=on and not s.wide):
                    s.observe(lambda run: run(x).to(x.dtype), x)


class InferenceMode(nn.Module):
    """Under `inference_mode`, then without it, with a buffer that is written."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.register_buffer("steps_done", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        self.steps_done += 1
        return torch.softmax(self.lin(x), -1) * self.steps_done

    @staticmethod
    def steps(s: Session) -> None:
        x = s.floats(3, 4)
        with torch.inference_mode():
            s.call(x)
            made = s.call(x)
        with torch.no_grad():
            s.call(x)
            s.call(made)
        s.call(x)
        s.backward(s.call(s.floats(3, 4, grad=True)))


class Vmapped(nn.Module):
    """`vmap`, `grad` and both, around the call."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return (torch.tanh(self.lin(x)) * x).sum(-1)

    @staticmethod
    def steps(s: Session) -> None:
        x = s.floats(3, 4)
        with torch.no_grad():
            s.call(x)
        for _ in range(2):
            s.observe(lambda run: torch.func.vmap(run)(x), x)
            s.observe(lambda run: torch.func.grad(lambda y: run(y).sum())(x), x)
            s.observe(lambda run: torch.func.vmap(torch.func.grad(run))(x), x)
            s.observe(lambda run: torch.func.jvp(run, (x,), (x * 2,)), x)


class TransformsInside(nn.Module):
    """`vmap` and `grad` inside `forward`."""

    def forward(self, x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
        rows = torch.func.vmap(lambda r: torch.softmax(r * w, -1))(x)
        slope = torch.func.grad(lambda v: (torch.sin(v) * x).sum())(w)
        return rows, slope

    @staticmethod
    def steps(s: Session) -> None:
        with torch.no_grad():
            for _ in range(2):
                s.call(s.floats(3, 4), s.floats(4))


class FromTwoThreads(nn.Module):
    """Four threads at once, of two shapes, before and after a first call."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(6, 6)

    def forward(self, x: Tensor) -> Tensor:
        return F.gelu(self.lin(x)) + torch.softmax(x, -1)

    @staticmethod
    def steps(s: Session) -> None:
        for _ in range(2):
            s.in_threads(*((s.floats(n, 6),) for n in (3, 3, 5, 3)))
            with torch.no_grad():
                s.call(s.floats(3, 6))


class ShapesChange(nn.Module):
    """Many sizes: static, then symbolic, 1 and 0 among them."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(8, 24)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.qkv(x).chunk(3, -1)
        return torch.softmax(q @ k.mT / x.shape[1], -1) @ v

    @staticmethod
    def steps(s: Session) -> None:
        with torch.no_grad():
            for b, n in ((2, 3), (2, 3), (2, 5), (4, 5), (1, 7), (2, 3), (2, 1), (2, 3)):
                s.call(s.floats(b, n, 8))


class DtypesChange(nn.Module):
    """float32, float64, bfloat16, float16 and integers into one function."""

    def forward(self, x: Tensor) -> Tensor:
        return (x * 3 + 1) / (x * x + 2)

    @staticmethod
    def steps(s: Session) -> None:
        with torch.no_grad():
            for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.float32):
                s.call(s.floats(3, 4, dtype=dtype))
                s.call(s.floats(3, 4, dtype=dtype))
            s.call(s.ints(9, 3, 4))


class NarrowChain(nn.Module):
    """A long chain in bfloat16, each step rounded in eager."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h = x
        for i in range(6):
            h = h * 0.9 + torch.sin(h) * (i + 1) * 0.1
        return h, torch.softmax(h, -1)

    @staticmethod
    def steps(s: Session) -> None:
        with torch.no_grad():
            for _ in range(2):
                s.call(s.floats(4, 64, dtype=torch.bfloat16))
        s.backward(s.call(s.floats(4, 64, dtype=torch.bfloat16, grad=True)))


class NotFinite(nn.Module):
    """Infinities, NaN and signed zeros through softmax, masks, maxima and divisions."""

    def forward(self, x: Tensor, m: Tensor) -> dict[str, Tensor]:
        masked = x.masked_fill(m, float("-inf"))
        return {
            "soft": torch.softmax(masked, -1),
            "norm": x / x.abs().amax(-1, keepdim=True),
            "zero": torch.copysign(torch.ones_like(x), x * 0.0),
            "pick": torch.maximum(x, masked).clamp(-1, 1),
            "log": torch.log1p(x.clamp(min=-1)),
        }

    @staticmethod
    def steps(s: Session) -> None:
        x = s.floats(4, 4)
        x[0, 0], x[1, 1], x[2, 2], x[3] = float("inf"), float("nan"), float("-inf"), 0.0
        m = s.bools(4, 4)
        m[1] = True
        with torch.no_grad():
            for _ in range(2):
                s.call(x, m)


class RetainedGraph(nn.Module):
    """A graph kept for a second backward, gradients that add up, and a third that is refused."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return torch.softmax(self.lin(x), -1) * x

    @staticmethod
    def steps(s: Session) -> None:
        x = s.floats(3, 4, grad=True)
        out = s.call(x)
        s.backward(out, retain_graph=True)
        s.backward(out)
        s.backward(out)
        s.backward(s.call(x))
        s.sgd()
        s.backward(s.call(x))


class Checkpointed(nn.Module):
    """Activations recomputed in the backward."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(6, 6), nn.Linear(6, 6)

    def forward(self, x: Tensor) -> Tensor:
        h = torch.utils.checkpoint.checkpoint(lambda y: F.gelu(self.a(y)) * y, x, use_reentrant=False)
        return self.b(h) + x

    @staticmethod
    def steps(s: Session) -> None:
        for _ in range(2):
            s.backward(s.call(s.floats(3, 6, grad=True)))
        with torch.no_grad():
            s.call(s.floats(3, 6))


class TwiceDifferentiated(nn.Module):
    """A gradient of a gradient from outside: what eager gives, or the same refusal as PyTorch's own backend."""

    def forward(self, x: Tensor) -> Tensor:
        return (torch.tanh(x) * x).sum()

    @staticmethod
    def steps(s: Session) -> None:
        def twice(run):  # type: ignore[no-untyped-def]
            x = s.widened(torch.linspace(-1, 1, 4)).requires_grad_()
            (g,) = torch.autograd.grad(run(x), x, create_graph=True)
            return torch.autograd.grad(g.sum(), x)[0]

        s.observe(twice)


class OwnFunction(torch.autograd.Function):
    """Twice the input; its backward is three times the gradient, on purpose."""

    @staticmethod
    def forward(ctx, x):  # type: ignore[no-untyped-def]
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, g):  # type: ignore[no-untyped-def]
        (x,) = ctx.saved_tensors
        return g * 3 + x


class UsesOwnFunction(nn.Module):
    """A function with a backward of its own that is not its derivative."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.sigmoid(OwnFunction.apply(torch.sin(x)))

    @staticmethod
    def steps(s: Session) -> None:
        with torch.no_grad():
            s.call(s.floats(3, 4))
        for _ in range(2):
            s.backward(s.call(s.floats(3, 4, grad=True)))


class IntegersAndMasks(nn.Module):
    """Embedding, integer arithmetic with negative divisors, masks, `gather`, `scatter_add_`, sorting."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(9, 5, padding_idx=0)

    def forward(self, i: Tensor, m: Tensor) -> tuple[Tensor, ...]:
        e = self.table(i) * m.unsqueeze(-1)
        pooled = e.sum(1) / m.sum(1, keepdim=True).clamp(min=1)
        j = (i - 4) // -3 + (i - 4) % 3
        bins = torch.zeros(9, dtype=i.dtype).scatter_add_(0, i.flatten(), torch.ones_like(i).flatten())
        best = torch.argmax(pooled, -1)
        return (
            e,
            pooled,
            j,
            bins,
            best,
            pooled.gather(-1, best[:, None]),
            i.sort(dim=-1, descending=True, stable=True)[1],
        )

    @staticmethod
    def steps(s: Session) -> None:
        for _ in range(2):
            with torch.no_grad():
                s.call(s.ints(9, 2, 4), s.bools(2, 4))
        s.backward(s.call(s.ints(9, 2, 4), s.bools(2, 4)))


class NumbersAsInputs(nn.Module):
    """Python numbers, strings and tuples in the arguments, other ones in each call; a default that is a tensor's size."""

    def forward(self, x: Tensor, k: int = 2, f: float = 1.0, how: str = "a", dims: tuple[int, ...] = (-1,)) -> Tensor:
        h = torch.exp(x * f) if how == "a" else torch.relu(x) - f
        return h.sum(dims, keepdim=True) * k + x

    @staticmethod
    def steps(s: Session) -> None:
        x = s.floats(3, 4)
        with torch.no_grad():
            for k in range(1, 5):
                s.call(x, k, 0.5 * k)
            for f in (0.0, -0.0, float("inf"), 1):
                s.call(x, f=f, how="b")
            s.call(x, dims=(0, 1))
            s.call(x, True, how="a", dims=(0,))


class MovesItself(nn.Module):
    """A method other than `forward`, a property, a class attribute and a closure take part."""

    scale = 2.0

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.shift = 1.0

    @property
    def total(self) -> float:
        return self.scale + self.shift

    def mixed(self, x: Tensor) -> Tensor:
        return torch.tanh(x) * self.total

    def forward(self, x: Tensor) -> Tensor:
        add = lambda y: y + self.shift  # noqa: E731
        return add(self.mixed(self.lin(x))) * x

    @staticmethod
    def steps(s: Session) -> None:
        x = s.floats(3, 4)
        with torch.no_grad():
            s.call(x)
            s.model.shift = 3.0
            s.call(x)
            s.model.scale = -1.0
            s.call(x)
            s.call(x)


class DefaultsChange(nn.Module):
    """The default dtype, and tensors made inside, differ between calls."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.ones(4) * 3 + torch.arange(4) / 2 + torch.sigmoid(x).sum()

    @staticmethod
    def steps(s: Session) -> None:
        x, before = s.floats(3), torch.get_default_dtype()
        try:
            with torch.no_grad():
                s.call(x)
                torch.set_default_dtype(torch.float64)
                s.call(x)
        finally:
            torch.set_default_dtype(before)
        with torch.no_grad():
            s.call(x)


class GlobalOfTheFile(nn.Module):
    """A global tensor and a global number of the file are changed between calls."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.exp(x * SETTINGS["scale"]) + SETTINGS["shift"]

    @staticmethod
    def steps(s: Session) -> None:
        x = s.floats(3, 4)
        with torch.no_grad():
            for scale, shift in ((1.0, 0.0), (2.0, 1.0), (0.5, -1.0)):
                SETTINGS.update(scale=scale, shift=s.widened(torch.tensor([shift])))
                s.call(x)
                s.call(x)


SETTINGS: dict[str, object] = {"scale": 1.0, "shift": torch.zeros(1)}
