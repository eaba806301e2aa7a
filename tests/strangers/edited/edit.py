"""An edit of a module's text, and how it shows."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Edit:
    """`changes`: (old, new), each of which has to be there, all occurrences; `why`: what then differs; `shows`: statements with the
    function `f`, the original `wanted` and `inputs`, which raise AssertionError where they differ ("" for a comparison on drawn
    inputs, after `setup`); `right`: nothing differs. `scope`: it differs only beyond what these words of a verdict leave in."""

    name: str
    changes: tuple[tuple[str, str], ...]
    why: str
    shows: str = ""
    setup: str = ""
    right: bool = False
    scope: str = ""

    def applied(self, text: str) -> str:
        """The edited text. ValueError where a line to change is missing."""
        for old, new in self.changes:
            if old not in text:
                raise ValueError(f"{self.name}: the module does not hold {old!r}")
            text = text.replace(old, new)
        return text


# Edits of the launcher, which every module has
OTHER_SHAPES = """
y = f(*(torch.cat([x, x]) for x in inputs))
assert torch.allclose(y.float(), wanted(*(torch.cat([x, x]) for x in inputs)).float(), atol=1e-2)
"""
GRADIENT = """
given = [x.clone().requires_grad_() for x in inputs]
assert f(*given).requires_grad
"""
STRIDED = """
given = [torch.stack([x, x], -1)[..., 0] for x in inputs]
assert torch.allclose(f(*given).float(), wanted(*given).float(), atol=1e-2)
"""
TWICE = """
first = f(*inputs)
kept = first.clone()
f(*(x * 0.5 for x in inputs))
assert torch.equal(first, kept)
"""
AGAIN = """
for _ in range(4):
    found = f(*inputs)
assert torch.allclose(found.float(), wanted(*inputs).float(), atol=1e-2)
"""
GUARDS = (
    Edit(
        "any_gradient",
        ((" or (grad and t.requires_grad)", ""),),
        "no gradient where one is needed",
        GRADIENT,
        scope="gradient",
    ),
    Edit(
        "any_strides",
        (("not t.is_contiguous() or ", ""),),
        "views are read as if they were contiguous",
        STRIDED,
        scope="contiguous",
    ),
)
