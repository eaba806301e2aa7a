"""What the client may say in `initializationOptions`. Unknown keys are ignored; a wrong type means the default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Settings:
    """`trusted`: code of the workspace may run (in the daemon's workers). Only a plain true says so.
    `target`: the architecture. `debounce_ms`: quiet time after a keystroke. `interpreter`: the project's Python.
    `auto`: optimize on opening and on changes. `start_daemon`: start one when none runs.
    `states`: tell the client how every function stands, by the notification `mirage/states`."""

    trusted: bool = False
    auto: bool = True
    target: str = "sm_90"
    debounce_ms: int = 300
    interpreter: str = ""
    start_daemon: bool = True
    states: bool = False

    @staticmethod
    def read(options: Any) -> Settings:
        given: Mapping[str, Any] = options if isinstance(options, Mapping) else {}
        words = {"debounce_ms": "debounceMs", "start_daemon": "startDaemon"}
        defaults = Settings()
        chosen: dict[str, Any] = {}
        for name in Settings.__dataclass_fields__:
            default = getattr(defaults, name)
            value = given.get(words.get(name, name), default)
            chosen[name] = value if type(value) is type(default) else default
        chosen["debounce_ms"] = max(0, min(chosen["debounce_ms"], 10_000))
        return Settings(**chosen)
