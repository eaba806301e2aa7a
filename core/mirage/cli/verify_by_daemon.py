"""`mirage verify` through a running daemon: its workers have imported PyTorch and Triton before they are asked."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from mirage.cli.judged_row import JudgedRow
from mirage.errors import DaemonBusy, DaemonReplaced, DaemonUnavailable, DeadlinePassed, ProtocolError, WorkerDied
from mirage.link.client import Client
from mirage.link.request_parameters import JudgedText
from mirage.link.version import package_version
from mirage.results.codec import structure
from mirage.results.verdict import Verdict

if TYPE_CHECKING:
    from mirage.cli.named_text import NamedText
    from mirage.cli.verify import MayDiffer

# Says nothing of what is judged: this process judges then
NO_JUDGE = (DaemonBusy, DaemonReplaced, DaemonUnavailable, DeadlinePassed, ProtocolError, WorkerDied)


def by_daemon(a: NamedText, b: NamedText, target: str, may: MayDiffer) -> JudgedRow | None:
    """The verdicts; None where no daemon of this version runs (none is started for it) or where it could not judge. What the judging
    itself raises is raised."""
    try:
        with Client.connect(start_daemon=False) as client:
            if client.welcome.package != package_version():
                return None
            left, right = (JudgedText(x.path, x.function, x.text, x.full) for x in (a, b))
            found = client.verify(left, right, target, may.overflow, may.undefined, sys.executable)
    except NO_JUDGE:
        return None
    rows = tuple((row["inputs"], structure(row["verdict"], Verdict)) for row in found["rows"])
    return JudgedRow(found["left"], found["right"], rows, tuple((x, side) for x, side in found["missing"]))
