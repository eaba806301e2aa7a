"""The words that people read in one line: code lens titles, progress messages. Pure functions of an entry."""

from __future__ import annotations

from mirage.results.baselines import BASELINES, TRUSTED
from mirage.results.details import RangeDetails
from mirage.results.result import Result
from mirage.results.verdict import Verdict
from mirage_lsp.document import FunctionEntry
from mirage_lsp.reading import ReadBlock

_STATES = {
    "idle": "ready to optimize",
    "away": "the daemon is away",
    "untrusted": "nothing known yet, and the workspace is not trusted: nothing runs",
    "cancelled": "stopped",
}
# Counts in the order in which they are shown: (key, one, many).
_COUNTS = (
    ("values", "value", "values"),
    ("mugraphs", "µGraph", "µGraphs"),
    ("checked", "checked", "checked"),
)
LONGEST = 72  # characters of a reason or an error in a lens: its commands stand behind it


def progress(entry: FunctionEntry) -> str:
    """`searching · 9 values, 14 µGraphs`, `verifying`, `tuning · 120 µGraphs, 34 checked`, ..."""
    counts = entry.counts.told()
    word = _STATES.get(entry.state, entry.state)
    shown = [f"{counts[k]} {one if counts[k] == 1 else many}" for k, one, many in _COUNTS if k in counts]
    return " · ".join(filter(None, [word, ", ".join(shown), f"best {entry.best}" if entry.best else ""]))


def lens(entry: FunctionEntry) -> str:
    """The title of a function's code lens."""
    if entry.error is not None and not entry.running:
        return f"Mirage: {entry.error.code} {_shortened(entry.error.message)}"
    if entry.result is not None and (entry.state in ("done", "kept") or not entry.running):
        colon = ":" if entry.result.answer == "keep" else ""
        return f"Mirage{colon} {short(entry.result)}{' · stale' if entry.stale else ''}"
    if entry.result is not None:
        return f"Mirage: {progress(entry)} · before: {short(entry.result)}"
    return f"Mirage: {progress(entry)}"


def by_hand(block: ReadBlock) -> str:
    """Of a replaced function whose code a person changed: how that code stands. No ratio, because none was measured of it."""
    return f"Mirage: edited by hand, {'verdict void' if block.edited else f'{block.edited_word.lower()} since'}"


def short(result: Result) -> str:
    """`1.8x est. · tested`, `2.1x · trusted, not verified`, or `keep yours · <reason>`: what fits beside a lens's commands."""
    if result.answer == "keep":
        return f"keep yours · {_shortened((result.reason or 'nothing better was found').rstrip('.'))}"
    estimate = result.estimate
    faster = "" if estimate is None or not estimate.us else f"{estimate.baseline_us / estimate.us:.1f}x"
    if faster and estimate is not None and not estimate.measured:
        faster += " est."
    if result.answer != "kernel":
        return " · ".join(filter(None, [faster, TRUSTED]))
    return " · ".join(filter(None, [faster, "" if result.verdict is None else result.verdict.word.lower()]))


def overflows(verdict: Verdict) -> bool:
    """Whether the kernels may overflow on inputs on which the function does not."""
    return any(isinstance(e.details, RangeDetails) and e.details.narrower for e in verdict.evidence)


def _shortened(text: str) -> str:
    """At most `LONGEST` characters, up to a word's end; the hover has them all."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST].rpartition(' ')[0] or text[:LONGEST]} …"


def headline(result: Result) -> str:
    """`1.8x (estimated for sm_90) · PROVED (all sizes)`, `2.1x on H200 · torch.compile (default), PyTorch's own: trusted, not
    verified`, or `keep yours · <reason>`."""
    if result.answer == "keep":
        return f"keep yours · {(result.reason or 'nothing better was found').rstrip('.')}"
    if result.answer != "kernel":
        return " · ".join(filter(None, [ratio(result), f"{instead(result)}, {TRUSTED}"]))
    verdict = "" if result.verdict is None else result.verdict.headline
    return " · ".join(filter(None, [ratio(result), share(result), verdict]))


def instead(result: Result) -> str:
    """What takes the function's place."""
    return BASELINES[result.baseline].words if result.baseline in BASELINES else "the kernel"


def ratio(result: Result) -> str:
    """How many times faster, and whether that was measured."""
    estimate = result.estimate
    if estimate is None or not estimate.us:
        return ""
    how = f"on {estimate.device}" if estimate.measured else f"(estimated for {target(result)})"
    return f"{estimate.baseline_us / estimate.us:.1f}x {how}"


def share(result: Result) -> str:
    """`86% of speed of light`"""
    estimate = result.estimate
    if estimate is None or not estimate.us:
        return ""
    part = estimate.speed_of_light_us / estimate.us
    return f"{part:.0%} of speed of light" if part >= 0.01 else "less than 1% of speed of light"


def age(entry: FunctionEntry) -> str:
    return " · stale: the text has changed since" if entry.stale else ""


def target(result: Result) -> str:
    """The architecture for which the kernels were compiled."""
    named = next((k.target for k in result.kernels if k.target), "")
    return named or ("the target" if result.estimate is None else result.estimate.device)
