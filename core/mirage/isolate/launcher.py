"""Starts one program in the sandbox: `python -I -S launcher.py ORDER`, by the interpreter of whoever asks, never a project's.

Started so, the interpreter reads no `.pth` file and no `sitecustomize`; the walls stand before the project's own interpreter runs its
first line. Imports the standard library and its neighbours alone, past the packages' own `__init__`, which need more.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import types

_MIRAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if __name__ == "__main__":
    for _name, _folder in (("mirage", _MIRAGE), ("mirage.isolate", os.path.join(_MIRAGE, "isolate"))):
        sys.modules[_name] = types.ModuleType(_name)
        sys.modules[_name].__path__ = [_folder]

from mirage.isolate import linux_calls, private_view, process_tree, sandbox, supervisor  # noqa: E402
from mirage.isolate.launch_order import IN_NO_VIEW, IN_VIEW, NAMESPACES, REFUSED, TOKEN, LaunchOrder  # noqa: E402


class _Report:
    """Lines of JSON for whoever asked; the program that is started has no part in it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        os.set_inheritable(descriptor, False)

    def say(self, **facts: object) -> None:
        try:
            os.write(self._descriptor, json.dumps(facts).encode() + b"\n")
        except OSError:  # whoever asked has gone, and this process goes with it
            os._exit(REFUSED)


def main(text: str) -> int:
    order = LaunchOrder.read(text)
    report = _Report(order.report)
    if sys.platform.startswith("linux"):
        linux_calls.prctl(linux_calls.PR_SET_PDEATHSIG, int(signal.SIGKILL))
    if os.getppid() != order.parent:
        return REFUSED  # whoever asked died before this process could ask to die with it
    tried = NAMESPACES in order.walls and not order.within  # in a sandbox none can be made
    report.say(namespaces=order.within)
    status = _in_private_view(order, report) if tried else None
    if status is None:
        status = _in_this_view(order, report)
    return _end_like(status)


def _in_private_view(order: LaunchOrder, report: _Report) -> int | None:
    """The program's wait status; None where there is no private view on this machine, and nothing was started."""
    if not linux_calls.known():
        report.say(namespaces=False, why="not for this system")
        return None
    uid, gid = os.getuid(), os.getgid()
    answer, told = os.pipe()
    try:
        first = linux_calls.clone(private_view.NEW)
    except OSError as e:
        report.say(namespaces=False, why=str(e))
        os.close(answer)
        os.close(told)
        return None
    if first == 0:
        os.close(answer)
        _first_process(order, report, told, uid, gid)
    os.close(told)
    with os.fdopen(answer, "rb") as file:
        said = file.read()  # to its end, which is that of the namespaces
    os.waitpid(first, 0)
    if not said:
        return None
    return int(said[1:] or int(signal.SIGKILL))  # without a word, somebody killed it


def _first_process(order: LaunchOrder, report: _Report, told: int, uid: int, gid: int) -> None:
    """The first process of the namespaces: all others end with it. It does not return."""
    try:
        linux_calls.prctl(linux_calls.PR_SET_PDEATHSIG, int(signal.SIGKILL))
        private_view.map_user(uid, gid)
        private_view.enter(order)
    except OSError as e:
        report.say(namespaces=False, why=str(e))
        os._exit(REFUSED)
    report.say(namespaces=True)
    os.write(told, b"+")
    child = os.fork()
    if child == 0:
        _become(order, report, private=True, above=1)
    status = supervisor.supervise(child, order, lambda why: report.say(over=why), private=True)
    os.write(told, str(status).encode())
    os._exit(0)


def _in_this_view(order: LaunchOrder, report: _Report) -> int:
    """Without namespaces: this process is the one to whom everything below it comes back."""
    if sys.platform.startswith("linux"):
        linux_calls.prctl(linux_calls.PR_SET_CHILD_SUBREAPER, 1)
    me = os.getpid()
    child = os.fork()
    if child == 0:
        _become(order, report, private=False, above=me)
    status = supervisor.supervise(child, order, lambda why: report.say(over=why), private=False)
    process_tree.kill_below(me)
    return status


def _become(order: LaunchOrder, report: _Report, *, private: bool, above: int) -> None:
    """The walls, then the program. It does not return."""
    try:
        os.setsid()
        os.chdir(order.folder)
        os.environ[TOKEN] = IN_VIEW if private or order.within else IN_NO_VIEW
        held = sandbox.enter(order, private=private, above=above)
        report.say(held=held)
        missing = [name for name in order.required if not held[name]]
        if missing:
            report.say(refused=missing)
            os._exit(REFUSED)
        for descriptor in order.keep:
            os.set_inheritable(descriptor, True)
        os.execv(order.command[0], order.command)
    except OSError as e:
        report.say(failed=str(e.strerror or e))
    finally:
        os._exit(REFUSED)


def _end_like(status: int) -> int:
    """The exit status of the program, or this process's end by the same signal."""
    if not os.WIFSIGNALED(status):
        return os.WEXITSTATUS(status)
    number = os.WTERMSIG(status)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    return 128 + number


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
