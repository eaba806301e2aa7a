"""What is done with a random module: lines of a scenario, over the session `s` and its helper `take(n)`, which draws a call's inputs."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass


@dataclass(frozen=True)
class Sequence:
    """`lines`: statements; `pure`: only for a module without state or breaks."""

    name: str
    lines: str
    pure: bool


TEXT = """
twice:
    with torch.no_grad():
        s.call(*take(2))
        s.call(*take(2))
same_input:
    a = take(2)
    with torch.no_grad():
        s.call(*a)
        s.call(*a)
sizes:
    with torch.no_grad():
        for n in (2, 4, 1, 2, 3):
            s.call(*take(n))
tokens:
    with torch.no_grad():
        for t in (5, 3, 1, 5):
            s.call(*take(2, t))
empty:
    with torch.no_grad():
        s.call(*take(0))
        s.call(*take(2))
turned:
    x, *rest = take(2)
    with torch.no_grad():
        s.call(x.mT.contiguous().mT, *rest)
        s.call(x, *rest)
strided:
    x, *rest = take(2)
    big = x.repeat_interleave(2, -1)
    with torch.no_grad():
        s.call(big[..., ::2], *rest)
        s.call(big[..., 1::2], *rest)
offset:
    x, *rest = take(4)
    with torch.no_grad():
        s.call(x[1:3], *(None if r is None else r[1:3] for r in rest))
        s.call(x[2:], *(None if r is None else r[2:] for r in rest))
keywords:
    x, ids, m = take(2)
    with torch.no_grad():
        s.call(x, m=m, ids=ids)
        s.call(x=x, ids=ids, m=None)
evaluation:
    s.model.eval()
    with torch.no_grad():
        s.call(*take(2))
    s.model.train()
    with torch.no_grad():
        s.call(*take(2))
trained:
    for _ in range(2):
        s.backward(s.call(*take(2, grad=True)))
        s.sgd()
    with torch.no_grad():
        s.call(*take(2))
accumulated:
    a = take(2, grad=True)
    s.backward(s.call(*a))
    s.backward(s.call(*a))
    s.model.zero_grad()
retained:
    out = s.call(*take(2, grad=True))
    s.backward(out, retain_graph=True)
    s.backward(out)
    s.model.zero_grad()
weights_alone:
    s.backward(s.call(*take(2)))
    s.model.zero_grad()
changed:
    with torch.no_grad():
        s.call(*take(2))
        for p in s.model.parameters():
            p.mul_(0.75)
        s.call(*take(2))
swapped:
    with torch.no_grad():
        s.call(*take(2))
        for p in s.model.parameters():
            p.data = p.data.flip(0).clone() * 0.5
        s.call(*take(2))
loaded:
    with torch.no_grad():
        s.call(*take(2))
        found = {k: v * 0.5 if v.is_floating_point() else v for k, v in s.model.state_dict().items()}
        s.model.load_state_dict(found)
        s.call(*take(2))
assigned:
    with torch.no_grad():
        s.call(*take(2))
        s.model.load_state_dict({k: v.clone() + 1 for k, v in s.model.state_dict().items()}, assign=True)
        s.call(*take(2))
narrow:
    s.to(torch.bfloat16)
    x, *rest = take(2, dtype=torch.bfloat16)
    with torch.no_grad():
        s.call(x, *rest)
        s.call(x, *rest)
    s.to(torch.float32)
wide:
    s.to(torch.float64)
    x, *rest = take(2, dtype=torch.float64)
    with torch.no_grad():
        s.call(x, *rest)
    s.to(torch.float32)
copied:
    with torch.no_grad():
        s.call(*take(2))
        s.use(copy.deepcopy(s.model))
        s.call(*take(2))
pickled:
    with torch.no_grad():
        s.call(*take(2))
        s.use(pickle.loads(pickle.dumps(s.model)))
        s.call(*take(2))
written_output:
    with torch.no_grad():
        out = s.call(*take(2))
        for _, t in leaves(out, 'out'):
            if isinstance(t, torch.Tensor) and t.is_floating_point():
                t.add_(1)
        s.call(*take(2))
frozen:
    s.model.requires_grad_(False)
    s.backward(s.call(*take(2, grad=True)))
    s.call(*take(2))
    s.model.requires_grad_(True)
inference (pure):
    with torch.inference_mode():
        s.call(*take(2))
        s.call(*take(2))
threads (pure):
    s.in_threads(take(2), take(2), take(4))
vmapped (pure):
    x, ids, m = take(2)
    with torch.no_grad():
        s.call(x, ids, None)
        s.observe(lambda run: torch.func.vmap(lambda y: run(y, ids, None))(torch.stack([x, x * 2])), x)
differentiated (pure):
    x, ids, m = take(2)
    s.observe(lambda run: torch.func.grad(lambda y: total(run(y, ids, m)))(x), x)
"""

SEQUENCES = tuple(
    Sequence(name, textwrap.dedent(lines).rstrip(), bool(pure))
    for name, pure, lines in re.findall(r"(?m)^(\w+)( \(pure\))?:\n((?:    .*\n)+)", TEXT)
)
