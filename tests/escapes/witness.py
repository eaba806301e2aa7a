"""The witnesses: each decides, from outside the worker, whether an attempt did what it set out to do."""

from __future__ import annotations

import ctypes
import fcntl
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from .arena import Arena
from .attempt import Outcome, WitnessName
from .observer import Observer, marked
from .victim import read

# How late a job may end: its deadline, and the time to kill and to tidy.
SLACK = 3.0
SWOLLEN = 64 << 20
LOOKS = 8


def host() -> dict[str, str]:
    """What a privileged worker could change of the host."""
    buffer = ctypes.create_string_buffer(1 << 20)
    length = ctypes.CDLL(None, use_errno=True).klogctl(3, buffer, len(buffer))
    return {
        "domain": read("/proc/sys/kernel/domainname"),
        "mounts": read("/proc/self/mountinfo"),
        "kernel's log": buffer.raw[: max(length, 0)].decode("latin-1"),
    }


@dataclass(frozen=True)
class State:
    """Everything that is compared before and after a job."""

    files: Mapping[str, str]
    victim: Mapping[str, str]
    own: Mapping[str, str]
    objects: Mapping[str, str]
    terminal: str
    host: Mapping[str, str]

    @staticmethod
    def of(arena: Arena) -> State:
        return State(
            arena.files(), arena.victim.full(), arena.own_state(), arena.objects.seen(), arena.terminal(), host()
        )


@dataclass(frozen=True)
class Trial:
    """One run of an attempt: what was there before and after, what was seen meanwhile, what the job let out."""

    arena: Arena
    before: State
    after: State
    seen: Observer
    outcome: Outcome
    seconds: float


def changed(before: Mapping[str, str], after: Mapping[str, str]) -> str | None:
    """The names whose values differ, or None."""
    names = sorted(n for n in {*before, *after} if before.get(n) != after.get(n))
    return ", ".join(f"{n}: {before.get(n, 'absent')[:60]} -> {after.get(n, 'absent')[:60]}" for n in names[:4]) or None


def leaked(trial: Trial) -> str | None:
    places = {"the job's output": trial.outcome.text}
    places |= {f"the listener {name}": data.decode("latin-1") for name, data in trial.arena.listeners.heard}
    for what, secret in trial.arena.secrets().items():
        for place, text in places.items():
            if secret in text:
                return f"{what} is in {place}"
    return None


def reached(trial: Trial) -> str | None:
    pipe = trial.arena.inherited.heard()
    heard = [name for name, data in trial.arena.listeners.heard if trial.arena.token.encode() in data]
    heard += ["an inherited pipe"] if trial.arena.token.encode() in pipe else []
    return f"reached {', '.join(heard)}" if heard else None


def survivor(trial: Trial) -> str | None:
    # One that begins anew all the time is missed by a single look.
    looks = (marked(trial.arena.token, "s") for _ in range(LOOKS if trial.seen.witness == "survivor" else 1))
    alive = next(filter(None, looks), [])
    return f"{len(alive)} processes outlive the job" if alive else None


def victim(trial: Trial) -> str | None:
    meanwhile = "; ".join(f"{k} was {v}" for k, v in trial.seen.victim.items())
    return changed(trial.before.victim, trial.after.victim) or meanwhile or None


def beyond(value: int, limit: int, what: str) -> str | None:
    return f"{value:,} {what}, {limit:,} promised" if value > limit else None


def terminal(trial: Trial) -> str | None:
    written = trial.arena.written()
    if trial.arena.token.encode() in written:
        return "text appeared on the terminal"
    if trial.before.terminal != trial.after.terminal:
        return f"the terminal was changed: {trial.before.terminal[-60:]} -> {trial.after.terminal[-60:]}"
    return None


def left(trial: Trial) -> str | None:
    found = trial.arena.left_files()
    for folder in trial.seen.folders:
        try:
            found += [f"{folder}/{n}" for n in os.listdir(folder) if n.startswith(trial.arena.token)]
        except FileNotFoundError:
            continue
        except PermissionError:
            found.append(folder)
    return f"left behind: {', '.join(found[:3])}" if found else None


def lock(trial: Trial) -> str | None:
    with open(Path(str(trial.arena.constants["LOCK"])), "rb+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return "the lock is held after the job's end"
    return None


def overdue(trial: Trial) -> str | None:
    allowed = trial.arena.limits.seconds + SLACK
    return f"the job took {trial.seconds:.1f} s, {allowed:.1f} allowed" if trial.seconds > allowed else None


SEEN_BY: dict[WitnessName, Callable[[Trial], str | None]] = {
    "leaked": leaked,
    "tree": lambda t: changed(t.before.files, t.after.files),
    "victim": victim,
    "harness": lambda t: changed(t.before.own, t.after.own),
    "reached": reached,
    "served": lambda t: "served" if t.arena.token.encode() in t.seen.served else None,
    "survivor": survivor,
    "ipc": lambda t: changed(t.before.objects, t.after.objects),
    "memory": lambda t: beyond(t.seen.memory, t.arena.limits.memory, "bytes of memory"),
    "disk": lambda t: beyond(t.seen.disk, t.arena.limits.disk, "bytes of files"),
    "inodes": lambda t: beyond(t.seen.inodes, t.arena.limits.inodes, "files"),
    "processes": lambda t: beyond(t.seen.processes, t.arena.limits.processes, "processes and threads"),
    "starved": lambda t: t.seen.starved,
    "overdue": overdue,
    "swollen": lambda t: beyond(t.seen.resident - t.seen.first_resident, SWOLLEN, "bytes in the caller"),
    "forged": lambda t: "accepted" if t.outcome.accepted else None,
    "terminal": terminal,
    "setuid": lambda t: ", ".join(t.seen.setuid) or None,
    "left": left,
    "lock": lock,
    "system": lambda t: changed(t.before.host, {**t.after.host, **unless(t)}),
}

# Whatever an attempt was for, these hold after every job.
ALWAYS: tuple[WitnessName, ...] = ("leaked", "tree", "victim", "reached", "survivor", "ipc", "forged")


def unless(trial: Trial) -> dict[str, str]:
    """The kernel's log grows by itself: it counts only if the attempt's name is in it."""
    grown = trial.arena.token in trial.after.host["kernel's log"]
    return {} if grown else {"kernel's log": trial.before.host["kernel's log"]}


def evidence(trial: Trial, own: WitnessName) -> str | None:
    """What shows that an attempt succeeded, by its own witness first; None if it was held."""
    for name in (own, *(n for n in ALWAYS if n != own)):
        found = SEEN_BY[name](trial)
        if found:
            return f"{name}: {found}"
    return None
