"""How much the jobs that are queued or running may hold, in all and of one client (a process, however many connections it has)."""

from __future__ import annotations

from collections import Counter

from mirage.errors import DaemonBusy

# A client's own share is at most half of all.
MOST_JOBS, JOBS_OF_CLIENT = 4000, 1000
MOST_TEXTS, TEXTS_OF_CLIENT = 512 << 20, 256 << 20  # characters, which lie in the journal while a job waits


class Admission:
    """Counts jobs and the characters of their texts."""

    def __init__(self) -> None:
        self._jobs, self._texts = Counter[int](), Counter[int]()

    def check(self, process: int) -> None:
        """DaemonBusy where another job of this client does not fit in."""
        for count, most, own, words in (
            (self._jobs, MOST_JOBS, JOBS_OF_CLIENT, "jobs are queued or running"),
            (self._texts, MOST_TEXTS, TEXTS_OF_CLIENT, "characters of text are queued"),
        ):
            if count[process] >= own:
                raise DaemonBusy(f"{count[process]} {words} for this client, which is its share")
            if count.total() >= most:
                raise DaemonBusy(f"{count.total()} {words}")

    def enter(self, process: int, characters: int) -> None:
        self._jobs[process] += 1
        self._texts[process] += characters

    def leave(self, process: int, characters: int) -> None:
        self._texts[process] -= characters
        self._jobs[process] -= 1
        if not self._jobs[process]:
            del self._jobs[process], self._texts[process]
