"""The functions of a module that run PyTorch's own answers: a baseline has one text, whatever the function is."""

from __future__ import annotations

from mirage.codegen.line_layout import INDENT
from mirage.errors import EmissionRefused
from mirage.results.baselines import BASELINES


def run_blocks(name: str, private: str) -> list[list[str]]:
    """The functions that run a baseline; `private` is that function's name."""
    row = BASELINES[name]
    if row.mode:
        return [
            [
                "@functools.cache",
                f"def _made_by_{name}():",
                f"{INDENT}return torch.compile({private}, dynamic=False, mode={row.mode!r})".replace("'", '"'),
            ],
            [
                f"def _run_{name}(*given, **named):",
                f'{INDENT}"""The function as written by PyTorch\'s compiler, made at the first call."""',
                f"{INDENT}return _made_by_{name}()(*given, **named)",
            ],
        ]
    if row.backend:
        return [
            [
                f"def _run_{name}(*given, **named):",
                f'{INDENT}"""The function as written, its attention by one backend of PyTorch."""',
                f"{INDENT}with sdpa_kernel(SDPBackend.{row.backend}):",
                f"{INDENT * 2}return {private}(*given, **named)",
            ]
        ]
    raise EmissionRefused(f"{row.words} needs no module")
