"""Types of any call: a function, and the arguments that it is called with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]
Arguments = tuple[Any, ...]
Keywords = dict[str, Any]
