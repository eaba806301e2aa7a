"""What the traced text calls its values: names of its local variables, put on the nodes that PyTorch recorded for them."""

from __future__ import annotations

import sys
from types import FrameType
from typing import TYPE_CHECKING

from mirage.program.text_frames import FILE

if TYPE_CHECKING:
    import torch

NAME = "mirage_name"  # a recorded node's: how deep in the text's calls it was bound, and the name
Bound = tuple[int, str]


class LocalNames:
    """Looks at the local variables of the text while it runs. A variable may be bound again, so it is looked at before each call of
    PyTorch; the last ones are seen by the frames that were kept."""

    def __init__(self) -> None:
        self._frames: dict[int, tuple[int, FrameType]] = {}  # by depth, of the calls of the text that were last seen

    def look(self) -> None:
        """Before a call of PyTorch."""
        frames = []
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if frame.f_code.co_filename == FILE:
                frames.append(frame)
            frame = frame.f_back
        for depth, seen in enumerate(reversed(frames)):
            self._frames[depth] = depth, seen
        self._name()

    def end(self) -> None:
        """When the text has returned: what it bound last."""
        self._name()
        self._frames.clear()

    def _name(self) -> None:
        import torch

        for depth, frame in self._frames.values():
            for name, value in frame.f_locals.items():
                if isinstance(value, torch.Tensor) and (node := _node(value)) is not None:
                    known: Bound = node.meta.get(NAME, (depth, name))
                    node.meta[NAME] = (depth, name) if depth < known[0] else known


def _node(value: torch.Tensor) -> torch.fx.Node | None:
    """The recorded node of a tensor; None of one that was not recorded."""
    from torch.fx.experimental.proxy_tensor import get_proxy_mode, get_proxy_slot

    mode = get_proxy_mode()
    if mode is None:
        return None
    found: torch.fx.Node | None = get_proxy_slot(value, mode.tracer, None, lambda p: p.proxy.node)
    return found


def name_of(node: torch.fx.Node) -> str:
    """What the text calls a node's value: the outermost function's name of it, the first one there; "" without one."""
    bound: Bound = node.meta.get(NAME, (0, ""))
    return bound[1]
