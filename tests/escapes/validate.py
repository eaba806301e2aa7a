"""Prints for each attempt whether it succeeds without a sandbox. Root tries as an ordinary user, then what only root can do.

    python -m tests.escapes.validate [--family NAME] [--name TEXT] [--folder FOLDER] [--verbose]

The exit status is 0: an attempt that does not succeed here is one that this host does not allow, and proves nothing.
"""

from __future__ import annotations

import argparse
import collections
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from .attempt import Attempt, Limits
from .corpus import CORPUS
from .harness import Settings, unconfined

# An identity that nobody has, so that what a user has little of is not taken from anybody.
ORDINARY = 54321
# A short deadline and small limits: attempts on them exceed what they are told, and a host is not to notice.
LIMITS = Limits(memory=128 << 20, disk=128 << 20, processes=48, inodes=1000, seconds=1.0)


def chosen(options: argparse.Namespace) -> list[Attempt]:
    return [
        a
        for a in CORPUS
        if (not options.family or a.family in options.family) and (not options.name or options.name in a.name)
    ]


def interpreter() -> str:
    """An interpreter that an ordinary user may run: this one if it can."""
    for python in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        try:
            done = subprocess.run([python, "-c", "import ctypes"], user=ORDINARY, group=ORDINARY, extra_groups=[])
        except OSError:
            continue
        if done.returncode == 0:
            return python
    raise SystemExit("no interpreter is here that an ordinary user may run")


def as_ordinary_user(arguments: list[str], folder: Path) -> int:
    """Run this command again without root's rights, with its arenas below a folder of that user's."""
    own = Path(tempfile.mkdtemp(prefix="ordinary", dir=folder))
    os.chown(own, ORDINARY, ORDINARY)
    root = Path(__file__).resolve().parents[2]
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(own), "TMPDIR": str(own), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [interpreter(), "-m", "tests.escapes.validate", *arguments, "--folder", str(own)]
    try:
        return subprocess.run(
            command, cwd=root, env=environment, user=ORDINARY, group=ORDINARY, extra_groups=[]
        ).returncode
    finally:
        subprocess.run(["rm", "-rf", str(own)], check=True)


def report(attempts: list[Attempt], settings: Settings, verbose: bool) -> None:
    """One line an attempt, and the counts by family."""
    counts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for attempt in attempts:
        result, text = unconfined(attempt, settings)
        word = "succeeds" if result.verdict == "escaped" else "proves nothing"
        counts[attempt.family][word] += 1
        print(f"{word:14}  {attempt.name}  ({result.reason[:110]})", flush=True)
        if verbose and word != "succeeds":
            print("\n".join(f"    {line[:160]}" for line in text.splitlines()[-6:]), flush=True)
    for family, count in counts.items():
        print(f"{family:26} {count['succeeds']:4} of {count.total()}")
    print(f"{'all':26} {sum(c['succeeds'] for c in counts.values()):4} of {len(attempts)}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", action="append", help="only this family; may be given several times")
    parser.add_argument("--name")
    parser.add_argument("--folder", type=Path, help="where the arenas are made")
    parser.add_argument("--verbose", action="store_true", help="the end of the output of what does not succeed")
    options = parser.parse_args()
    settings = Settings(LIMITS, options.folder)
    attempts = chosen(options)
    if os.geteuid() == 0:
        arguments = [a for family in options.family or [] for a in ("--family", family)]
        arguments += ["--name", options.name] if options.name else []
        status = as_ordinary_user(
            [*arguments, *["--verbose"][: options.verbose]], options.folder or Path(tempfile.gettempdir())
        )
        if status:
            return status
        attempts = [a for a in attempts if a.root]
        print("as root:")
    else:
        attempts = [a for a in attempts if not a.root]
    report(attempts, settings, options.verbose)
    return 0


if __name__ == "__main__":
    sys.exit(main())
