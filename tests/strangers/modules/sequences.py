"""What is done with a random module: lines of a scenario, over the session `s` and its helper `take(n)`, which draws a call's inputs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sequence:
    """`lines`: statements; `pure`: only for a module without state or breaks."""

    name: str
    lines: str
    pure: bool = False


SEQUENCES = (
    Sequence("twice", "with torch.no_grad():\n    s.call(*take(2))\n    s.call(*take(2))"),
    Sequence("same_input", "a = take(2)\nwith torch.no_grad():\n    s.call(*a)\n    s.call(*a)"),
    Sequence("sizes", "with torch.no_grad():\n    for n in (2, 4, 1, 2, 3):\n        s.call(*take(n))"),
    Sequence("tokens", "with torch.no_grad():\n    for t in (5, 3, 1, 5):\n        s.call(*take(2, t))"),
    Sequence("empty", "with torch.no_grad():\n    s.call(*take(0))\n    s.call(*take(2))"),
    Sequence("turned", "x, *rest = take(2)\nwith torch.no_grad():\n    s.call(x.mT.contiguous().mT, *rest)\n    s.call(x, *rest)"),
    Sequence("strided", "x, *rest = take(2)\nbig = x.repeat_interleave(2, -1)\nwith torch.no_grad():\n    s.call(big[..., ::2], *rest)\n    s.call(big[..., 1::2], *rest)"),
    Sequence("offset", "x, *rest = take(4)\nwith torch.no_grad():\n    s.call(x[1:3], *(None if r is None else r[1:3] for r in rest))\n    s.call(x[2:], *(None if r is None else r[2:] for r in rest))"),
    Sequence("keywords", "x, ids, m = take(2)\nwith torch.no_grad():\n    s.call(x, m=m, ids=ids)\n    s.call(x=x, ids=ids, m=None)"),
    Sequence("evaluation", "s.model.eval()\nwith torch.no_grad():\n    s.call(*take(2))\ns.model.train()\nwith torch.no_grad():\n    s.call(*take(2))"),
    Sequence("trained", "for _ in range(2):\n    s.backward(s.call(*take(2, grad=True)))\n    s.sgd()\nwith torch.no_grad():\n    s.call(*take(2))"),
    Sequence("accumulated", "a = take(2, grad=True)\ns.backward(s.call(*a))\ns.backward(s.call(*a))\ns.model.zero_grad()"),
    Sequence("retained", "out = s.call(*take(2, grad=True))\ns.backward(out, retain_graph=True)\ns.backward(out)\ns.model.zero_grad()"),
    Sequence("weights_alone", "s.backward(s.call(*take(2)))\ns.model.zero_grad()"),
    Sequence("changed", "with torch.no_grad():\n    s.call(*take(2))\n    for p in s.model.parameters():\n        p.mul_(0.75)\n    s.call(*take(2))"),
    Sequence("swapped", "with torch.no_grad():\n    s.call(*take(2))\n    for p in s.model.parameters():\n        p.data = p.data.flip(0).clone() * 0.5\n    s.call(*take(2))"),
    Sequence("loaded", "with torch.no_grad():\n    s.call(*take(2))\n    found = {k: v * 0.5 if v.is_floating_point() else v for k, v in s.model.state_dict().items()}\n    s.model.load_state_dict(found)\n    s.call(*take(2))"),
    Sequence("assigned", "with torch.no_grad():\n    s.call(*take(2))\n    s.model.load_state_dict({k: v.clone() + 1 for k, v in s.model.state_dict().items()}, assign=True)\n    s.call(*take(2))"),
    Sequence("narrow", "s.to(torch.bfloat16)\nx, *rest = take(2, dtype=torch.bfloat16)\nwith torch.no_grad():\n    s.call(x, *rest)\n    s.call(x, *rest)\ns.to(torch.float32)"),
    Sequence("wide", "s.to(torch.float64)\nx, *rest = take(2, dtype=torch.float64)\nwith torch.no_grad():\n    s.call(x, *rest)\ns.to(torch.float32)"),
    Sequence("copied", "with torch.no_grad():\n    s.call(*take(2))\n    s.use(copy.deepcopy(s.model))\n    s.call(*take(2))"),
    Sequence("pickled", "with torch.no_grad():\n    s.call(*take(2))\n    s.use(pickle.loads(pickle.dumps(s.model)))\n    s.call(*take(2))"),
    Sequence("written_output", "with torch.no_grad():\n    out = s.call(*take(2))\n    for _, t in leaves(out, 'out'):\n        if isinstance(t, torch.Tensor) and t.is_floating_point():\n            t.add_(1)\n    s.call(*take(2))"),
    Sequence("frozen", "s.model.requires_grad_(False)\ns.backward(s.call(*take(2, grad=True)))\ns.call(*take(2))\ns.model.requires_grad_(True)"),
    Sequence("inference", "with torch.inference_mode():\n    s.call(*take(2))\n    s.call(*take(2))", pure=True),
    Sequence("threads", "s.in_threads(take(2), take(2), take(4))", pure=True),
    Sequence("vmapped", "x, ids, m = take(2)\nwith torch.no_grad():\n    s.call(x, ids, None)\n    s.observe(lambda run: torch.func.vmap(lambda y: run(y, ids, None))(torch.stack([x, x * 2])), x)", pure=True),
    Sequence("differentiated", "x, ids, m = take(2)\ns.observe(lambda run: torch.func.grad(lambda y: total(run(y, ids, m)))(x), x)", pure=True),
)
