"""The part of a module that writes to the caller's tensors: when it does, what it gives back, and that no other text passes for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from mirage.codegen.writing_module import taken_apart, with_writes
from mirage.errors import EmissionRefused, ModuleUnreadable
from mirage.ir.writes import Writes
from mirage.source.functional_text import functional
from mirage.source.slice import Slice

USERS = '''import torch


def f(x, y, k=2.0):
    """Steps."""
    y.mul_(k).add_(x)
    x.sub_(y)
    return x * y, y
'''
WRITES = Writes((0, 1), (None, 1), "tuple")
FITS = """
def _fits(*tensors):
    CALLS.append("fits")
    return all(t.is_contiguous() and not (torch.is_grad_enabled() and t.requires_grad) for t in tensors)


def f_functional(x, y, k=2.0):
    CALLS.append("kernels")
    return _original_f_functional(x, y, k)
""".strip()


def part(name: str, text: str) -> str:
    return f"# mirage:begin {name}\n{text}\n# mirage:end {name}\n"


def module(users: str = USERS, writes: Writes = WRITES) -> str:
    """A module of the function on copies, whose kernels are played by the function itself."""
    text = functional(Slice(users, "f", ("torch", "f"), ""), ["x", "y"], writes).text
    own = text.replace("def f_functional", "def _original_f_functional").replace("import torch\n", "").strip("\n")
    return part("imports", "import torch") + part("launcher", FITS) + part("original", own)


TEXT = with_writes(module(), "f", "Steps.", ["x", "y"], WRITES)


def loaded(text: str = TEXT) -> tuple[Callable[..., Any], list[str]]:
    calls: list[str] = []
    space: dict[str, Any] = {"CALLS": calls}
    exec(text, space)
    return space["f"], calls


def users() -> Callable[..., Any]:
    space: dict[str, Any] = {}
    exec(USERS, space)
    found: Callable[..., Any] = space["f"]
    return found


def pair() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.arange(12.0).view(3, 4), torch.ones(3, 4)


def test_the_callers_tensors_are_written_and_given_back() -> None:
    f, calls = loaded()
    (x, y), (a, b) = pair(), pair()
    places = x.data_ptr(), y.data_ptr()
    out, same = f(x, y)
    want, _ = users()(a, b)
    assert "kernels" in calls and same is y and (x.data_ptr(), y.data_ptr()) == places
    assert torch.equal(out, want) and torch.equal(x, a) and torch.equal(y, b)
    assert f.__doc__ == "Steps."


BUFFER = torch.zeros(64)
ELSEWHERE: dict[str, Callable[[], tuple[torch.Tensor, ...]]] = {
    "one tensor twice": lambda: (torch.ones(3, 4),) * 2,
    "two views of the same memory": lambda: (BUFFER[:12].view(3, 4), BUFFER[:12].view(4, 3).view(3, 4)),
    "a parameter that is another number": lambda: (*pair(), 3.0),  # type: ignore[dict-item]
    "gaps": lambda: (torch.ones(4, 3).t(), torch.ones(3, 4)),
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_what_does_not_fit_runs_as_written(name: str) -> None:
    f, calls = loaded()
    mine, theirs = ELSEWHERE[name](), ELSEWHERE[name]()
    BUFFER.fill_(1.0)
    out, same = f(*mine)
    got = [out.clone(), mine[0].clone(), mine[1].clone()]
    BUFFER.fill_(1.0)
    want, _ = users()(*theirs)
    assert "kernels" not in calls and same is mine[1]
    assert all(map(torch.equal, got, [want, theirs[0], theirs[1]]))


def test_memory_beside_it_is_written_by_kernels() -> None:
    """The twin of the overlaps: neighbours that touch and do not overlap."""
    f, calls = loaded()
    buffer = torch.ones(24)
    f(buffer[:12].view(3, 4), buffer[12:].view(3, 4))
    assert "kernels" in calls


@pytest.mark.parametrize("make", [lambda: torch.ones(3, 4).requires_grad_(), lambda: inference()])
def test_what_may_not_be_written_raises_as_the_function_does(make: Callable[[], torch.Tensor]) -> None:
    f, calls = loaded()
    x = torch.ones(3, 4)
    with pytest.raises(RuntimeError):
        f(x, make())
    assert "kernels" not in calls and torch.equal(x, torch.ones(3, 4))
    with torch.inference_mode():
        f(x, make())
    assert "kernels" in calls


def inference() -> torch.Tensor:
    with torch.inference_mode():
        return torch.ones(3, 4)


def test_it_is_read_back() -> None:
    plain, found = taken_apart(TEXT)
    assert plain == module() and found is not None
    assert (found.function, found.inputs, found.writes) == ("f", ("x", "y"), WRITES)
    assert taken_apart(plain) == (plain, None)


EDITS = {
    "one write fewer": ("        x.copy_(new[1])\n", ""),
    "another value": ("y.copy_(new[2])", "y.copy_(new[1])"),
    "another tensor": ("x.copy_(new[1])", "y.copy_(new[1])"),
    "a write before the values are there": ("        new = f", "        x.zero_()\n        new = f"),
    "one write more": ("        return (new[0], y)", "        x.add_(1)\n        return (new[0], y)"),
    "a copy in the input's place": ("return (new[0], y)", "return (new[0], new[2])"),
    "no guard against overlaps": (" and _apart((0, 1), x, y)", ""),
    "a guard for one of two": ("_apart((0, 1), x, y)", "_apart((0,), x, y)"),
    "a guard that always holds": ("return False\n        first", "return True\n        first"),
    "no guard": ("_fits(x, y) and ", ""),
    "no parameter's value": ("k == 2.0 and ", ""),
    "says something else": ('"returned": [null, 1]', '"returned": [null, 0]'),
    "says fewer": ('"inputs": [0, 1], "returned"', '"inputs": [0], "returned"'),
    "a statement more": ("# mirage:end writes\n", "# mirage:end writes\nf = f_functional\n"),
    "a copy fewer in the function on copies": ("    y = y.clone()\n", ""),
    "no JSON": ("# writes: {", "# writes: ["),
}


@pytest.mark.parametrize("name", EDITS)
def test_no_other_text_passes_for_it(name: str) -> None:
    old, new = EDITS[name]
    assert old in TEXT
    with pytest.raises(ModuleUnreadable):
        taken_apart(TEXT.replace(old, new, 1))


def test_a_name_of_the_part_that_the_module_has_is_refused() -> None:
    with pytest.raises(EmissionRefused, match="_apart"):
        with_writes(
            module().replace("return _original", "_apart = 1\n    return _original"), "f", None, ["x", "y"], WRITES
        )
