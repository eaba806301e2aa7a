"""The walls that a process puts around itself, for good, before it becomes another program.

A worker holds no file of its user's that it did not bring along: it gets the function's text by its pipe.
Imports the standard library and its neighbours alone.
"""

from __future__ import annotations

import os
import resource
import signal
import sys

from mirage.isolate import landlock, linux_calls, private_view, seccomp
from mirage.isolate.launch_order import LANDLOCK, SECCOMP, LaunchOrder, ProcessLimits

LOCKS = "MIRAGE_LOCKS"  # the environment's name for the folder of the GPUs' locks
MAX_FILE = 1 << 30  # bytes of one file
# CUDA names its threads, and does not start where it may not: the threads of this process alone, since a rule is about a
# folder that is there (landlock(7)). Held open, also in the program that follows: the kernel forgets the folder, and with it
# the rule, once nobody knows it
_THREADS = "/proc/self/task"


def enter(order: LaunchOrder, *, private: bool, above: int) -> dict[str, bool]:
    """Everything that is not a namespace. `private`: a private view holds already. `above` is the process that supervises
    this one, which may not signal it. Gives what holds."""
    held = limit(order.bounds)
    held |= privileges(above)
    files = landlock.restrict(_rules(order, private)) if LANDLOCK in order.walls else 0
    calls = SECCOMP in order.walls and seccomp.restrict(unix=order.unix, private=private or order.within, spared=above)
    return {
        **held,
        "filesystem": private or files > 0,
        "landlock": files > 0,
        "signals": private or files >= 6,
        "network": private or calls,
        "calls": calls,
    }


def _rules(order: LaunchOrder, private: bool) -> list[tuple[str, int]]:
    rules = [(path, landlock.READ) for path in (*order.visible.read, "/proc")]
    rules += [(path, landlock.DEVICE) for path in order.visible.devices]
    rules += [(path, landlock.READ) for path in ("/dev",) if private]  # the list of the private one
    rules += [(path, landlock.LOCKS) for path in order.visible.locks]
    rules.append((order.folder, landlock.EVERYTHING))
    if private:
        rules += [(path, landlock.EVERYTHING) for path in (private_view.TMP, private_view.SHARED)]
    elif order.unix:
        # a pool of processes has its semaphores there: made, opened and removed, and nobody else's can be told apart
        rules.append((private_view.SHARED, landlock.EVERYTHING))
    if order.unix_below and (private or private_view.machine_is_read_only()):
        rules.append(
            ("/proc", landlock.THREADS)
        )  # no rule can be about processes to come, and their names pass this wall too
    elif order.unix and os.path.isdir(_THREADS):
        threads = os.open(_THREADS, os.O_PATH)
        os.set_inheritable(threads, True)
        rules.append((_THREADS, landlock.THREADS))
    return rules


def _lower(kind: int, value: int) -> bool:
    """Set soft and hard limit to `value`, or leave a smaller hard limit in force. Whether the kernel has this limit."""
    _, hard = resource.getrlimit(kind)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    try:
        resource.setrlimit(kind, (value, value))
    except (ValueError, OSError):
        return False
    return True


def limit(bounds: ProcessLimits) -> dict[str, bool]:
    """Limits of this process and of each of its children. Memory is RLIMIT_DATA (private writable memory): RLIMIT_AS would also
    count the address space that CUDA and the allocator reserve and never touch. Gives which hold."""
    linux = sys.platform.startswith("linux")
    held = {
        "memory": _lower(resource.RLIMIT_DATA, bounds.memory) and linux,
        "file_size": _lower(resource.RLIMIT_FSIZE, min(MAX_FILE, bounds.disk)),
        "no_core": _lower(resource.RLIMIT_CORE, 0),
    }
    if bounds.cpu:
        held["cpu"] = _lower(resource.RLIMIT_CPU, bounds.cpu)
    return held


def privileges(parent: int) -> dict[str, bool]:
    """It dies with its parent, gets no new privileges, and keeps none."""
    if not sys.platform.startswith("linux"):
        return {"no_new_privileges": False, "dies_with_parent": False, "no_capabilities": False}
    held = {}
    try:
        linux_calls.prctl(linux_calls.PR_SET_PDEATHSIG, int(signal.SIGKILL))
        held["dies_with_parent"] = os.getppid() == parent
        linux_calls.prctl(linux_calls.PR_SET_NO_NEW_PRIVS, 1)
        held["no_new_privileges"] = True
        linux_calls.drop_capabilities()
        held["no_capabilities"] = linux_calls.capabilities() == 0
    except OSError:
        return {"no_new_privileges": False, "dies_with_parent": False, "no_capabilities": False, **held}
    return held
