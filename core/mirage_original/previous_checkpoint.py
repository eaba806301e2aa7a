"""The files that `previous_checkpoint=` takes: a file of graphs that the original saved, or a checkpoint of this project's search.

Nothing in either is believed. Each graph is judged in a worker and, as it is planned here, once more; the parts of a
checkpoint give candidates, which are verified as all are.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mirage.errors import CannotWrite, MirageError, SavedFileUnreadable
from mirage.search.checkpoint import VERSION, Checkpoint
from mirage_original import saved_files
from mirage_original.hand_written import fitted
from mirage_original.judge_saved import Wanted, judged
from mirage_original.rebuild_saved import build

if TYPE_CHECKING:
    from mirage.search.engine import Search
    from mirage_original.found_mugraph import FoundMugraph
    from mirage_original.saved_files import SavedEntry
    from mirage_original.searched_graph import Searched


@dataclass(frozen=True)
class Previous:
    """A file to go on from; `entries`: the graphs in it, None for a checkpoint of this project's search. `begun`: there was
    no such file."""

    path: str
    entries: tuple[SavedEntry, ...] | None
    begun: bool = False


def opened(path: str) -> Previous:
    """The file, read. One that is not there is a checkpoint to be begun, unless it ends in .json as the original's do. Raises
    SavedFileUnreadable."""
    try:
        with open(path, "rb") as file:
            head = json.loads(file.readline(4096))
    except FileNotFoundError:
        if not path.endswith(".json"):
            return Previous(path, None, begun=True)
        head = None
    except (OSError, ValueError, RecursionError):
        head = None
    if isinstance(head, dict) and set(head) == {"version", "problem"}:
        return Previous(path, None)
    return Previous(path, tuple(saved_files.read(path)))


def checkpoint(path: str, search: Search) -> Checkpoint:
    """The checkpoint of this search. SavedFileUnreadable for another search's, which stays as it is."""
    file = Path(path)
    try:
        if file.exists():
            with file.open("rb") as f:
                head = json.loads(f.readline(4096))
            if head != {"version": VERSION, "problem": search.key}:
                raise SavedFileUnreadable(
                    "it is the checkpoint of another search, of other bounds, or of another version",
                    path=path,
                    next_step="name a file that does not exist: the search keeps its finished parts there",
                )
        else:
            file.touch()
    except OSError as e:
        raise CannotWrite(f"{path} cannot be written: {e.strerror}", path=path) from None
    return Checkpoint(file)


def found_in(previous: Previous, searched: Searched) -> list[FoundMugraph]:
    """The graphs of a file of the original that are accepted for what is searched. Says how many they are."""
    entries, path = previous.entries or (), previous.path
    wanted = Wanted(searched.program, searched.function.slice.text, searched.program.name)
    out = []
    for j in judged(entries, path, [wanted], target=searched.device.target):
        entry = entries[j.row.index]
        if not j.accepted or j.same_as is not None or entry.graph is None:
            continue
        try:
            found = fitted(build(entry.graph), searched, f"{Path(path).name}, graph {entry.index}")
        except MirageError:
            continue  # as it is planned it fits no device
        if found.searched.sound(found.mugraph):
            out.append(found)
    print(f"mirage: {len(out)} of the {len(entries)} graphs in {path} are verified and taken up", file=sys.stderr)
    return out
