"""Which inputs a function writes to and what it returns of them; and that the function on copies leaves its inputs and gives the same."""

from __future__ import annotations

import pytest
import torch

from mirage.errors import InPlaceEdit
from mirage.ir.tensor_spec import TensorSpec
from mirage.ir.writes import Writes
from mirage.program.load_function import load
from mirage.program.written_inputs import written_inputs
from mirage.source.functional_text import functional
from mirage.source.slice import Slice

INPUTS = [TensorSpec("x", (6, 8), "fp32"), TensorSpec("w", (6, 4), "fp32"), TensorSpec("n", (3,), "int64")]
NAMES = [i.name for i in INPUTS]
HEAD = "import torch\nimport torch.nn.functional as F\n\n\n"


def text(body: str, parameters: str = "x, w, n") -> str:
    return f"{HEAD}def f({parameters}):\n" + "".join(f"    {line}\n" for line in body.split("; "))


FOUND = {
    "x.add_(w.sum())": ((0,), (), "nothing"),
    "x.mul_(2); return x": ((0,), (0,), "one"),
    "return x.sub_(1)": ((0,), (0,), "one"),
    "w *= 2; x += w.sum(); return x, w": ((0, 1), (0, 1), "tuple"),
    "x.copy_(x * 2); return x * 2": ((0,), (None,), "one"),
    "old = x.clone(); x.zero_(); return old, w": ((0,), (None, 1), "tuple"),
    "x[:, 2:4] = w[:, :2]; return x.sum(0)": ((0,), (None,), "one"),
    "x.view(-1)[3] = 0; return w + 1, x": ((0,), (None, 0), "tuple"),
    "y = x.detach(); y.T[1] = 5.0; return w + 1": ((0,), (None,), "one"),
    "y = x + 1; y.mul_(2); n.add_(1); return (y,)": ((2,), (None,), "tuple"),
    "torch.add(w, 1, out=w); return w": ((1,), (1,), "one"),
    "F.relu(x, inplace=True); return x, x": ((0,), (0, 0), "tuple"),
    "x.index_fill_(0, n * 0, 1.0); return x": ((0,), (0,), "one"),
    "x[x > 0] = 0.0; return x": ((0,), (0,), "one"),
}


@pytest.mark.parametrize("body", FOUND)
def test_what_is_written_is_found(body: str) -> None:
    assert written_inputs(text(body), "f", INPUTS) == Writes(*FOUND[body])  # type: ignore[arg-type]


@pytest.mark.parametrize("body", FOUND)
def test_on_copies_it_gives_the_same_and_leaves_its_inputs(body: str) -> None:
    writes = Writes(*FOUND[body])  # type: ignore[arg-type]
    part = functional(Slice(text(body), "f", ("torch", "F", "f"), ""), NAMES, writes)
    generator = torch.Generator().manual_seed(len(body))
    mine = [torch.randn(6, 8, generator=generator), torch.randn(6, 4, generator=generator), torch.tensor([1, 0, 2])]
    theirs, before = [t.clone() for t in mine], [t.clone() for t in mine]
    new = load(part.text, part.function)(*mine)
    value = load(text(body), "f")(*theirs)
    assert isinstance(new, tuple) and all(map(torch.equal, mine, before))
    listed = list(value) if isinstance(value, tuple) else [] if value is None else [value]
    own = [v for v, i in zip(listed, writes.returned, strict=True) if i is None]
    assert len(new) == len(own) + len(writes.inputs)
    assert all(map(torch.equal, new, [*own, *(theirs[i] for i in writes.inputs)]))
    assert all(v is theirs[i] for v, i in zip(listed, writes.returned, strict=True) if i is not None)
    assert Writes.from_dict(writes.to_dict()) == writes


NOT_FOLLOWED = {
    "x.data.add_(1); return x": "`x` is changed in place in a way that is not followed",
    "x.add_(1); w.data.mul_(2); return x": "`w` is changed in place in a way that is not followed",
    "return x + 1": "an input is changed in place in a way that is not followed",
    "x.add_(1); return x[0]": "`x` is changed in place, and a view of it is returned",
    "x.add_(1); return w, x.view(48)": "a view of it",
    "x.add_(1); return [x]": "returns list",
    "x.add_(1); return x, 3": "returns int",
    "x.t_(); return w": "another shape or other memory",
    "x.add_(1); w.resize_(2, 2); return x": "`w` gets another shape",
    "x.data = x + 1; return x": "`x` gets another shape or other memory",
}


@pytest.mark.parametrize("body", NOT_FOLLOWED)
def test_what_is_not_followed_is_refused(body: str) -> None:
    with pytest.raises(InPlaceEdit) as refused:
        written_inputs(text(body), "f", INPUTS)
    assert NOT_FOLLOWED[body] in refused.value.message


def test_parameters_are_handed_on() -> None:
    """Those that are no tensors, by name too; a parameter may have the name of the function's value."""
    given = text("made.mul_(scale).add_(w, alpha=k); return made * 2, made", "made, /, w, scale=2.0, *, k=3")
    writes = Writes((0,), (None, 0), "tuple")
    part = functional(Slice(given, "f", ("torch", "F", "f"), ""), ["made", "w"], writes)
    x, w = torch.ones(4), torch.arange(4.0)
    out, new = load(part.text, part.function)(x, w, 5.0, k=1)  # type: ignore[misc]
    assert torch.equal(new, 5 + w) and torch.equal(out, 2 * new) and torch.equal(x, torch.ones(4))


@pytest.mark.parametrize("body", ["_apart = 2; x.mul_(_apart)", "x.add_(1 if f is None else 2)"])
def test_names_that_the_module_needs_are_refused(body: str) -> None:
    with pytest.raises(InPlaceEdit, match="names"):
        functional(Slice(text(body), "f", ("torch", "F", "f"), ""), NAMES, Writes((0,), (), "nothing"))
