"""Random modules as people write them: the text of a file with a class and its scenario, from a seed."""

from __future__ import annotations

import hashlib
import importlib.util
import random
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from torch import nn

from strangers.modules.fragments import KINDS, Fragment
from strangers.modules.sequences import SEQUENCES, Sequence

FORMS = {
    "tensor": "return h",
    "pair": "return h, extra",
    "dict": "return {'h': h, **extra}",
    "list": "return [h, *extra.values(), None]",
    "dataclass": "return Output(h, extra)",
    "named_tuple": "return Named(h, h.sum(-1), extra)",
    "with_input": "return x, h, h.view(-1), extra",
    "views": "return h[:, :1], h[..., 1:], h.mT, extra",
    "in_place": "x.mul_(0.5).add_(0.1)\nreturn h + x",
    "twice": "return h, h, {'h': h, 'extra': extra}",
}
WRITING = ("in_place",)  # forms that write the input, which is then no leaf

TEXT = '''"""{name}: {parts}; {done}."""

import copy
import pickle
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from strangers.modules.record import leaves

D = {width}


@dataclass
class Output:
    h: Tensor
    extra: dict[str, Any] = field(default_factory=dict)


class Named(NamedTuple):
    h: Tensor
    total: Tensor
    extra: dict[str, Any]


def doubled(module, args, out):
    return out * 2


def total(value):
    """The sum of all floating tensors of an output."""
    found = [t for _, t in leaves(value, "out") if isinstance(t, Tensor) and t.is_floating_point()]
    return sum(t.sum() for t in found)


class M(nn.Module):
    def __init__(self):
        super().__init__()
{made}

    def forward(self, x, ids, m=None):
        h, extra = x, {{}}
{run}

    @staticmethod
    def steps(s):
        def take(n, t={tokens}, grad=False, dtype={dtype}):
            return s.floats(n, t, D, dtype=dtype, grad=grad){written}, s.ints(16, n, t), {mask}

        s.to({dtype})
{steps}
'''


@dataclass(frozen=True)
class Plan:
    """A random module before it is text. `parts`: numbered fragments; `form`: what is returned; `done`: the scenario."""

    name: str
    parts: tuple[tuple[int, Fragment], ...]
    form: str
    done: tuple[Sequence, ...]
    width: int
    tokens: int
    dtype: str
    mask: str

    def text(self) -> str:
        """The file."""
        run = [f.run.replace("$", f"p{i}") for i, f in self.parts] + [FORMS[self.form]]
        made = [f.made.replace("$", f"p{i}") for i, f in self.parts if f.made] or ["self.none = None"]
        return TEXT.format(
            name=self.name,
            parts=", ".join(f.name for _, f in self.parts),
            done=", ".join(q.name for q in self.done),
            width=self.width,
            tokens=self.tokens,
            dtype=self.dtype,
            written=" * 1.0" if self.form in WRITING else "",
            mask=self.mask,
            made=textwrap.indent("\n".join(made), " " * 8),
            run=textwrap.indent("\n".join(run), " " * 8),
            steps=textwrap.indent("\n".join(q.lines for q in self.done), " " * 8),
        )

    def smaller(self) -> Iterator[Plan]:
        """Without one of its fragments or sequences; with the plainest output."""
        for i in range(len(self.done)):
            if len(self.done) > 1:
                yield replace(self, done=self.done[:i] + self.done[i + 1 :])
        for i in range(len(self.parts)):
            yield replace(self, parts=self.parts[:i] + self.parts[i + 1 :])
        for form in ("tensor", "pair"):
            if self.form not in ("tensor", form):
                yield replace(self, form=form)


def drawn(seed: int) -> Plan:
    """The module of a seed: three to seven fragments, the scenario's first sequence two calls. Two in five are pure."""
    draw = random.Random(seed)
    pure = draw.random() < 0.4
    kinds = draw.choices(KINDS, weights=(3, 4, 3, 2, 2, 3), k=draw.randint(3, 7))
    parts = [draw.choice([f for f in kind if f.pure or not pure]) for kind in kinds]
    form = draw.choice(list(FORMS))
    some = [q for q in SEQUENCES[1:] if not q.pure or (all(f.pure for f in parts) and form not in WRITING)]
    narrow = draw.random()
    return Plan(
        name=f"seed {seed}",
        parts=tuple(enumerate(parts)),
        form=form,
        done=(SEQUENCES[0], *draw.sample(some, draw.randint(1, 3))),
        width=draw.choice((4, 6, 8, 16)),
        tokens=draw.choice((1, 2, 3, 5, 8)),
        dtype="torch.bfloat16" if narrow < 0.08 else "torch.float64" if narrow < 0.16 else "torch.float32",
        mask=draw.choice(("None", "s.bools(n, t)")),
    )


def shrunk(plan: Plan, wrong: Callable[[Plan], bool]) -> Plan:
    """The plan without what is not needed for `wrong` to hold."""
    for other in plan.smaller():
        if wrong(other):
            return shrunk(other, wrong)
    return plan


def loaded(plan: Plan, folder: Path) -> type[nn.Module]:
    """The class of a plan, from a file of the folder, so that it has a text and can be pickled."""
    text = plan.text()
    name = f"stranger_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    path = folder / f"{name}.py"
    path.write_text(text, "utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    found: type[nn.Module] = module.M
    return found
