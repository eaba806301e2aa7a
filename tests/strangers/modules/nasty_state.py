"""Nasty modules about state: buffers, caches, counters, tied and swapped parameters, copies and casts between calls."""

from __future__ import annotations

import copy
import pickle

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from strangers.modules.session import Session


class RunningMean(nn.Module):
    """A running mean in a buffer that is not saved, and a counter of calls."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(4), persistent=False)
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            self.count += 1
            self.mean.mul_(0.9).add_(x.detach().mean(0), alpha=0.1)
        return torch.tanh(x - self.mean) * 2

    @staticmethod
    def steps(s: Session) -> None:
        with torch.no_grad():
            for _ in range(3):
                s.call(s.floats(5, 4))
            s.model.eval()
            s.call(s.floats(5, 4))
            s.model.train()
            s.call(s.floats(5, 4))
        s.backward(s.call(s.floats(5, 4, grad=True)))


class KeyValueCache(nn.Module):
    """A cache of keys and values, written at a position that is a Python number of the module's."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(8, 8, bias=False) for _ in range(3))
        self.register_buffer("keys", torch.zeros(2, 6, 8), persistent=False)
        self.register_buffer("values", torch.zeros(2, 6, 8), persistent=False)
        self.at = 0

    def forward(self, x: Tensor) -> Tensor:
        n = self.at + x.shape[1]
        self.keys[:, self.at : n] = self.k(x)
        self.values[:, self.at : n] = self.v(x)
        self.at = n
        scores = self.q(x) @ self.keys[:, :n].mT * 8**-0.5
        return torch.softmax(scores, -1) @ self.values[:, :n]

    @staticmethod
    def steps(s: Session) -> None:
        with torch.no_grad():
            for n in (2, 1, 1, 1):
                s.call(s.floats(2, n, 8))


class CacheByIndexTensor(nn.Module):
    """A cache in a plain attribute, written at positions that are a tensor, and replaced by a new one from outside."""

    def __init__(self) -> None:
        super().__init__()
        self.cache = torch.zeros(5, 4)

    def forward(self, x: Tensor, at: Tensor) -> Tensor:
        self.cache[at] = torch.sigmoid(x) * 2
        return self.cache * 1.0 + self.cache.sum(0)

    @staticmethod
    def steps(s: Session) -> None:
        with torch.no_grad():
            for i in range(2):
                s.call(s.floats(1, 4), torch.tensor([i]))
            s.model.cache = torch.zeros(5, 4, dtype=s.model.cache.dtype)
            s.call(s.floats(2, 4), torch.tensor([3, 1]))


class CacheHandedIn(nn.Module):
    """The caller's list of caches grows by `cat` in each call and is returned too."""

    def forward(self, x: Tensor, past: list[Tensor] | None = None) -> tuple[Tensor, list[Tensor]]:
        k = torch.cat([past[0], x * 2], 1) if past else x * 2
        v = torch.cat([past[1], F.silu(x)], 1) if past else F.silu(x)
        return torch.softmax(x @ k.mT, -1) @ v, [k, v]

    @staticmethod
    def steps(s: Session) -> None:
        past = None
        with torch.no_grad():
            for _ in range(4):
                _, past = s.call(s.floats(2, 1, 4), past=past)


class TiedWeights(nn.Module):
    """One parameter is the embedding and the last product; it is trained and replaced."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.out = nn.Embedding(7, 6), nn.Linear(6, 7, bias=False)
        self.out.weight = self.embed.weight
        self.norm = nn.RMSNorm(6)

    def forward(self, i: Tensor) -> Tensor:
        return self.out(F.gelu(self.norm(self.embed(i))))

    @staticmethod
    def steps(s: Session) -> None:
        i = s.ints(7, 2, 3)
        for _ in range(2):
            s.backward(s.call(i))
            s.sgd()
        with torch.no_grad():
            s.call(i)
            s.model.embed.weight = nn.Parameter(s.floats(7, 6))
            s.call(i)
            s.model.out.weight = s.model.embed.weight
            s.call(i)


class DataSwapped(nn.Module):
    """`.data` of a parameter gets new memory, other values, then another shape."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.linspace(-1, 1, 4))

    def forward(self, x: Tensor) -> Tensor:
        return torch.softmax(x * self.w, -1) + self.w

    @staticmethod
    def steps(s: Session) -> None:
        x = s.floats(3, 4)
        with torch.no_grad():
            s.call(x)
            s.model.w.data = s.floats(4)
            s.call(x)
            s.model.w.data.mul_(3)
            s.call(x)
            s.model.w.data = s.floats(1)
            s.call(x)
        s.backward(s.call(x))


class LoadedState(nn.Module):
    """`load_state_dict`, copying and assigning, then a strict load that fails."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.register_buffer("shift", torch.ones(4))

    def forward(self, x: Tensor) -> Tensor:
        return F.silu(self.lin(x) + self.shift) * x

    @staticmethod
    def steps(s: Session) -> None:
        x = s.floats(3, 4)
        with torch.no_grad():
            s.call(x)
            other = {"lin.weight": s.floats(4, 4), "lin.bias": s.floats(4), "shift": s.floats(4)}
            s.model.load_state_dict(other)
            s.call(x)
            s.model.load_state_dict({k: v * 2 for k, v in other.items()}, assign=True)
            s.call(x)
            s.observe(lambda run: str(s.model.load_state_dict({"lin.bias": other["lin.bias"]})), x)
            s.call(x)


class CastBetween(nn.Module):
    """float32, then bfloat16, then float64, then float32 again."""

    def __init__(self) -> None:
        super().__init__()
        self.lin, self.norm = nn.Linear(6, 6), nn.LayerNorm(6)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(F.gelu(self.lin(x)) + x)

    @staticmethod
    def steps(s: Session) -> None:
        for dtype in (torch.float32, torch.bfloat16, torch.float64, torch.float32):
            s.to(dtype)
            with torch.no_grad():
                s.call(s.floats(3, 6, dtype=dtype))
                s.call(s.floats(3, 6, dtype=dtype))


class CopiedAndPickled(nn.Module):
    """A deep copy after a call, and an unpickled one: each has state of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.register_buffer("total", torch.zeros(4))

    def forward(self, x: Tensor) -> Tensor:
        h = torch.tanh(self.lin(x)) * x
        self.total += h.detach().sum(0)
        return h + self.total

    @staticmethod
    def steps(s: Session) -> None:
        x = s.floats(3, 4)
        with torch.no_grad():
            first = s.model
            s.call(x)
            s.use(copy.deepcopy(first))
            s.call(x)
            s.model.lin.weight.mul_(2)
            s.call(x)
            s.use(pickle.loads(pickle.dumps(first)))
            s.call(x)
            s.observe(lambda run: [first.total, s.model.total], x)


class BufferReassigned(nn.Module):
    """A buffer and an attribute are replaced in `forward`; the old one was handed out."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("state", torch.zeros(4))
        self.last = None

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        old = self.state
        self.state = self.state * 0.5 + torch.relu(x).sum(0)
        self.last = x * 2 + 1
        return old, self.state

    @staticmethod
    def steps(s: Session) -> None:
        with torch.no_grad():
            for _ in range(3):
                s.call(s.floats(3, 4))


class ParametersReplacedByCode(nn.Module):
    """A child, a list of children and an activation are swapped between calls."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))
        self.act = nn.GELU()

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = self.act(layer(x)) + x
        return x

    @staticmethod
    def steps(s: Session) -> None:
        x = s.floats(3, 4)
        like = next(s.model.parameters())
        with torch.no_grad():
            s.call(x)
            s.model.act = nn.SiLU()
            s.call(x)
            torch.manual_seed(1)
            s.model.layers.append(nn.Linear(4, 4, dtype=torch.float32).to(like.dtype))
            s.model.layers[2].weight.copy_(s.floats(4, 4))
            s.model.layers[2].bias.copy_(s.floats(4))
            s.call(x)
            s.model.layers[0] = nn.Identity()
            s.call(x)
            del s.model.layers[1]
            s.call(x)


class Statistics(nn.Module):
    """Batch and group norms: running statistics in training, their use in evaluation, one row that training refuses."""

    def __init__(self) -> None:
        super().__init__()
        self.batch, self.group = nn.BatchNorm1d(4), nn.GroupNorm(2, 4)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.batch(x)) + self.group(x)

    @staticmethod
    def steps(s: Session) -> None:
        for n in (5, 5, 1, 5):
            s.backward(s.call(s.floats(n, 4, grad=True)))
            s.model.zero_grad()
        s.model.eval()
        with torch.no_grad():
            s.call(s.floats(5, 4))
            s.call(s.floats(1, 4))


class Histories(nn.Module):
    """Lists and dicts of tensors in attributes, a Python counter that a branch reads."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Tensor] = []
        self.by_name: dict[str, Tensor] = {}
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        h = torch.exp(-x * x) * self.calls
        self.seen.append(h)
        self.by_name[f"call{self.calls}"] = x
        return h if self.calls % 2 else torch.stack(self.seen).sum(0)

    @staticmethod
    def steps(s: Session) -> None:
        with torch.no_grad():
            for _ in range(4):
                s.call(s.floats(2, 4))


class ShadowedChild(nn.Module):
    """Parameters frozen and thawed, and `requires_grad` of the input changed, between calls."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.b(F.silu(self.a(x)) * x)

    @staticmethod
    def steps(s: Session) -> None:
        for frozen in (False, True, False):
            s.model.a.requires_grad_(not frozen)
            for grad in (True, False):
                s.backward(s.call(s.floats(3, 4, grad=grad)))
        s.model.requires_grad_(False)
        s.call(s.floats(3, 4))
        s.backward(s.call(s.floats(3, 4, grad=True)))


class Hooked(nn.Module):
    """Hooks before, after and in the backward of a child, one of them taken off and one put on between calls."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.heard = 0

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(self.lin(x)) * 2

    @staticmethod
    def steps(s: Session) -> None:
        def doubled(module: nn.Module, args: tuple[Tensor], out: Tensor) -> Tensor:
            s.model.heard += 1
            return out * 2

        x = s.floats(3, 4)
        with torch.no_grad():
            s.call(x)
            hook = s.model.lin.register_forward_hook(doubled)
            s.call(x)
            before = s.model.register_forward_pre_hook(lambda m, args: (args[0] + 1,))
            s.call(x)
            hook.remove()
            s.call(x)
            before.remove()
            s.call(x)
        s.model.lin.weight.register_hook(lambda g: g * 3)
        s.backward(s.call(s.floats(3, 4, grad=True)))
