"""Settings from `initializationOptions`, and later from `mirage` in the client's configuration.

Unknown keys are ignored; a wrong type means the default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

_WORDS = {
    "debounce_ms": "debounceMs",
    "start_daemon": "startDaemon",
    "inlay_hints": "inlayHints",
    "code_lens": "codeLens",
    "command_links": "commandLinks",
}
# What a running server takes from the client's configuration. Not `trusted`: configuration can come from the workspace.
LIVE = ("auto", "target", "debounce_ms", "interpreter", "inlay_hints", "code_lens")


LONGEST_QUIET_MS = 10_000


@dataclass(frozen=True)
class Settings:
    """`trusted`: code of the workspace may run (in the daemon's workers). Only a plain true says so.
    `target`: the architecture. `debounce_ms`: quiet time after a keystroke. `interpreter`: the project's Python.
    `auto`: optimize on opening and on changes. `start_daemon`: start one when none runs.
    `states`: tell the client how every function stands, by the notification `mirage/states`.
    `command_links`: the client follows links to commands in a hover.
    `compares`: it has a command `mirage.diff` that shows the function beside its kernel, to accept or reject."""

    trusted: bool = False
    auto: bool = True
    target: str = "sm_90"
    debounce_ms: int = 300
    interpreter: str = ""
    start_daemon: bool = True
    states: bool = False
    inlay_hints: bool = True
    code_lens: bool = True
    command_links: bool = False
    compares: bool = False

    @staticmethod
    def read(options: object) -> Settings:
        defaults = Settings()
        given = options if isinstance(options, Mapping) else {}
        return _with(defaults, given, defaults, tuple(Settings.__dataclass_fields__))

    def changed(self, given: Mapping[str, object]) -> Settings:
        """These settings with what a configuration says of those that may change while the server runs."""
        return _with(self, given, Settings(), LIVE)


def _with(base: Settings, given: Mapping[str, object], defaults: Settings, fields: tuple[str, ...]) -> Settings:
    chosen: dict[str, object] = {}
    for name in fields:
        word = _WORDS.get(name, name)
        if word in given:
            default, value = getattr(defaults, name), given[word]
            chosen[name] = value if type(value) is type(default) else default
    changed = replace(base, **chosen)  # type: ignore[arg-type]  # each has its default's type
    return replace(changed, debounce_ms=max(0, min(changed.debounce_ms, LONGEST_QUIET_MS)))
