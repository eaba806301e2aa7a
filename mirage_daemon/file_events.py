"""File system notifications below a folder, by watchdog.

On Linux every folder is watched by itself, so that ignored ones (an environment has thousands) cost nothing; elsewhere
the system watches the whole tree at once.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, cast

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer

try:
    from watchdog.observers.inotify_c import CallbackId, InotifyConstants, InotifyEvent, InotifyFD

    SINGLE_FOLDERS = True
except ImportError:  # not Linux, or a watchdog that has no watches of single folders
    SINGLE_FOLDERS = False
if TYPE_CHECKING:
    from watchdog.observers.inotify_c import Mask, WatchDescriptor

Changed = Callable[[str, bool], None]  # (full path, whether it is a folder); called in a thread of watchdog's
Lost = Callable[[], None]  # the system dropped events: anything may have changed


class LimitReached(OSError):
    """The system gives no more watches."""


class Notifier(Protocol):
    """Tells of changes below a root, from `add` to `close`; `count` watches of the system are in use for it."""

    @property
    def count(self) -> int: ...
    def add(self, folder: str) -> None: ...
    def drop(self, folder: str) -> None: ...
    def close(self) -> None: ...


class WholeTree(FileSystemEventHandler):
    """One watch for a root and all that is below."""

    def __init__(self, root: str, changed: Changed, lost: Lost) -> None:
        self._changed, self._observer = changed, Observer()
        self._observer.schedule(self, root, recursive=True)
        self._observer.start()
        self.count = 1

    def add(self, folder: str) -> None:
        """Nothing to do: the tree is watched whole."""

    def drop(self, folder: str) -> None:
        """Nothing to do."""

    def on_any_event(self, event: FileSystemEvent) -> None:
        if event.event_type in ("opened", "closed_no_write"):
            return
        for path in (event.src_path, event.dest_path):
            if path:
                self._changed(os.fsdecode(path), event.is_directory)

    def close(self) -> None:
        self._observer.stop()
        self._observer.join()


class EachFolder:
    """One inotify watch for each folder that is added. `add` and `drop` come from one thread."""

    def __init__(self, root: str, changed: Changed, lost: Lost) -> None:
        self._changed, self._lost = changed, lost
        self._fd, self._id = InotifyFD.get_instance(), CallbackId(id(self))  # OSError: no more instances of inotify
        self._paths: dict[WatchDescriptor, str] = {}  # by watch
        self._watches: dict[str, WatchDescriptor] = {}
        c = InotifyConstants
        told = c.IN_CLOSE_WRITE | c.IN_CREATE | c.IN_DELETE | c.IN_MOVED_FROM | c.IN_MOVED_TO
        self._mask = cast("Mask", told | c.IN_ONLYDIR | c.IN_DONT_FOLLOW | c.IN_EXCL_UNLINK)

    @property
    def count(self) -> int:
        return len(self._watches)

    def add(self, folder: str) -> None:
        """Watch one folder, not what is below. LimitReached; nothing happens where it is gone or cannot be read."""
        if folder in self._watches or not os.access(folder, os.R_OK | os.X_OK):
            return
        try:
            watch = self._fd.add_callback(os.fsencode(folder), self._mask, self, self._id)
        except OSError as e:
            if e.errno in (errno.ENOSPC, errno.EMFILE):
                raise LimitReached(e.errno, "no more folders can be watched") from None
            return
        old = self._paths.pop(watch, None)  # the same folder under another name
        if old is not None:
            self._watches.pop(old, None)
        self._paths[watch], self._watches[folder] = folder, watch

    def drop(self, folder: str) -> None:
        """Watch a folder and all below no longer."""
        below = folder + os.sep
        gone = [path for path in self._watches if path == folder or path.startswith(below)]
        watches = [self._watches.pop(path) for path in gone]
        for watch in watches:
            self._paths.pop(watch, None)
        self._fd.remove_callbacks([(watch, self._id) for watch in watches])

    def close(self) -> None:
        watches = list(self._watches.values())
        self._paths.clear()
        self._watches.clear()
        self._fd.remove_callbacks([(watch, self._id) for watch in watches])

    # ---- called by watchdog's thread
    def on_event(self, event: InotifyEvent) -> None:
        folder = self._paths.get(event.wd)
        if folder is not None:
            self._changed(os.path.join(folder, os.fsdecode(event.name)), event.is_directory)

    def on_watch_deleted(self, wd: WatchDescriptor) -> None:
        path = self._paths.pop(wd, None)
        if path is not None and self._watches.get(path) == wd:
            self._watches.pop(path, None)
            self._changed(path, True)

    def on_queue_overflow(self) -> None:
        self._lost()


def notifier(root: str, changed: Changed, lost: Lost) -> Notifier:
    """The cheapest kind that this system has. OSError where it gives no more."""
    return EachFolder(root, changed, lost) if SINGLE_FOLDERS else WholeTree(root, changed, lost)
