"""A request as plain data, on its way from whoever asks to the worker that answers."""

from __future__ import annotations

from typing import Any

from mirage.ir.narrowing import Narrowing
from mirage.isolate.task_table import Value
from mirage.pipeline.request import Request
from mirage.search.engine import Bounds
from mirage.verify.proof.user_rules import load

FIELDS = ("text", "path", "function", "target", "trusted")


def from_payload(payload: Value, **more: Any) -> Request:
    """The request of a payload: FIELDS, and under "options" what `link.asked.Options` has. `more` are fields of Request.

    Raises RuleUnreadable and RuleFalse (with the line of the rules' text), BadSearchParameter.
    """
    asked = payload.get("options") or {}
    bounds = {name: asked[name] for name in ("kernels", "loops", "seconds") if asked.get(name)}
    rules = None
    if asked.get("rules"):
        rules = load(asked["rules"])
    return Request(
        **{name: payload[name] for name in FIELDS if name in payload},
        anyway=bool(asked.get("anyway", False)),
        bounds=Bounds(**bounds, given=Narrowing.of(**asked.get("given", {}))),
        rules=rules,
        **more,
    )
