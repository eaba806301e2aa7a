"""The process between a daemon and Ray: it gives each search to a node as a Ray task, and what a GPU has to choose to a node with such a
GPU, and passes on what that finds.

It speaks with the daemon in the messages of `mirage.isolate`: calls "search", "measure" and "cancel" come in; events and one answer
for each of the former go out, and under the number 0 how many processors and which nodes the cluster has. It ends with the daemon's
end of the pipe, and Ray then ends its tasks.
"""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from collections.abc import Callable
from typing import Any

from mirage.errors import ClusterFault, MirageError, ProtocolError, WorkerDied
from mirage.isolate import worker_messages
from mirage.isolate.listening import WITH_ONE_OF_MANY
from mirage.isolate.task_table import Value
from mirage.isolate.worker_messages import CallMessage, FromWorker
from mirage_daemon import cluster_node
from mirage_daemon.worker_pool import FinishedParts

PROBE_S = 5.0  # until a host has to take a connection
COUNT_EVERY_S = 2.0  # how often the cluster is asked for its processors
KIND = "accelerator_type:"  # a node has a resource with this and its GPU's name, which Ray finds out
LITTLE = 0.001  # of such a resource: it chooses the node, and is not what a GPU is shared by
GPU_SHARE = 0.125  # of a GPU for one task: its worker has the GPU's lock while it times, and works on the processor most of the time
LOST = 3  # nodes that one job may lose: one that takes every node down with it has to end somewhere
INSTALL = "run `pip install 'mirage-superoptimizer[cluster]'` in the daemon's environment"
JOIN = "start Ray here too (`ray start --address=HOST:PORT --num-cpus=0`): a node of the cluster has to run on this machine"
Send = Callable[[FromWorker], None]


def connected(address: str) -> Any:
    """Ray, connected; ClusterFault where it is not installed, or the cluster cannot be reached."""
    try:
        import ray
    except ImportError:
        raise ClusterFault("Ray is not installed", next_step=INSTALL) from None
    if address != "auto":
        _probe(address)
    try:
        ray.init(address=address, log_to_driver=False, configure_logging=False)
    except Exception as e:  # Ray's own family, and many others
        first = next(iter(str(e).strip().splitlines()), type(e).__name__)
        raise ClusterFault(f"Ray does not reach {address}: {first}", next_step=JOIN) from None
    return ray


def _probe(address: str) -> None:
    """Whether anybody listens there: Ray itself waits for minutes."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), PROBE_S).close()
    except (OSError, OverflowError) as e:
        raise ClusterFault(f"nobody answers at {address} ({e})") from None


class ClusterDriver:
    """The searches under way. `ray` is the connected library; what happens here happens in one event loop."""

    def __init__(self, ray: Any, send: Send) -> None:
        self._ray, self._send = ray, send
        # Lost nodes are made up for here and not by Ray: it would begin a task again from what that was given at first
        options = {"num_cpus": 1, "max_retries": 0, "num_returns": "streaming", "scheduling_strategy": "SPREAD"}
        self._task = ray.remote(**options)(cluster_node.work)
        self._streams: dict[int, Any] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}

    def take(self, message: CallMessage) -> None:
        """A task to begin, or one to end."""
        ident, task = message["id"], message["task"]
        if task in ("search", cluster_node.MEASURE):
            self._tasks[ident] = asyncio.get_running_loop().create_task(self._work(ident, task, message["payload"]))
        elif ident in self._streams:
            self._ray.cancel(self._streams.pop(ident), force=True)
        elif ident in self._tasks:  # it has not begun
            self._tasks.pop(ident).cancel()

    def count(self) -> int:
        """The cluster's processors."""
        return int(self._ray.cluster_resources().get("CPU", 0))

    def nodes(self) -> list[Value]:
        """The cluster's nodes that live: name, processors, the names of the GPUs."""
        found: list[Value] = []
        for node in self._ray.nodes():
            has = node["Resources"]
            kind = next((name.removeprefix(KIND) for name in sorted(has) if name.startswith(KIND)), "GPU")
            if node["Alive"]:
                gpus = [kind] * int(has.get("GPU", 0))
                found.append({"name": node["NodeManagerHostname"], "processors": int(has.get("CPU", 0)), "gpus": gpus})
        return found

    async def _work(self, ident: int, task: str, payload: Value) -> None:
        errors, kind = self._ray.exceptions, payload.pop("gpu", "")
        on = self._task.options(num_gpus=GPU_SHARE, resources={KIND + kind: LITTLE}) if kind else self._task
        finished, error = FinishedParts(payload.get("checkpoint") or {}), MirageError("")
        try:
            for lost in range(1, LOST + 2):
                asked = worker_messages.call(ident, task, {**payload, "checkpoint": finished.parts})
                self._streams[ident] = stream = on.remote(worker_messages.encode(asked))
                try:
                    self._send(await self._last(ident, stream, finished))
                    return
                except errors.RayTaskError as e:  # our own code raised there, or is not there
                    error = ClusterFault(f"a node failed: {_first_line(e)}")
                    break
                except errors.RayError as e:
                    error = WorkerDied(f"the cluster lost the job: {_first_line(e)}")
                    if ident not in self._streams:  # because nobody wants it any more
                        break
                    self._send(worker_messages.event(ident, {"counts": {"retries": lost}}))
            self._send(worker_messages.answer(ident, None, error.to_dict()))
        except MirageError as e:  # what the node sent is no message
            self._send(worker_messages.answer(ident, None, e.to_dict()))
        finally:
            self._streams.pop(ident, None)
            self._tasks.pop(ident, None)

    async def _last(self, ident: int, stream: Any, finished: FinishedParts) -> FromWorker:
        """The node's answer, after its events."""
        async for reference in stream:
            message = _checked(await reference)
            if message["type"] == "answer":
                return worker_messages.answer(ident, message["value"], message["error"])
            if message["type"] == "event":
                finished.note(message["event"])
                self._send(worker_messages.event(ident, message["event"]))
        raise ProtocolError("a node ended its work without an answer")


def _checked(data: object) -> CallMessage | FromWorker:
    """A node's message. Ray has unpickled it; what it is, is looked at here."""
    if type(data) is not bytes or len(data) > WITH_ONE_OF_MANY.size:
        raise ProtocolError("a node sent something that is no message")
    messages = worker_messages.Frames(WITH_ONE_OF_MANY).feed(data)
    if len(messages) != 1:
        raise ProtocolError("a node sent something that is not one message")
    return messages[0]


def _first_line(error: BaseException) -> str:
    lines = [line for line in str(error).strip().splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[-1].strip()[:200]}" if lines else type(error).__name__


async def serve(driver: ClusterDriver, requests: asyncio.StreamReader, send: Send) -> None:
    """Until the daemon's end of the pipe."""
    counting = asyncio.create_task(_count(driver, send))
    try:
        while True:
            size = struct.unpack(">I", await requests.readexactly(worker_messages.HEADER))[0]
            message = worker_messages.decode(await requests.readexactly(size))
            if message["type"] == "call":
                driver.take(message)
    except asyncio.IncompleteReadError:
        return
    finally:
        counting.cancel()


async def _count(driver: ClusterDriver, send: Send) -> None:
    last, had = -1, list[Value]()
    while True:
        found, nodes = await asyncio.to_thread(lambda: (driver.count(), driver.nodes()))
        if nodes != had:  # first: with the processors it is used
            send(worker_messages.event(0, {"nodes": nodes}))
            had = nodes
        if found != last:
            send(worker_messages.event(0, {"processors": found}))
            last = found
        await asyncio.sleep(COUNT_EVERY_S)


async def _run(address: str, descriptor: int) -> None:
    def send(message: FromWorker) -> None:
        left = memoryview(worker_messages.encode(message))
        while left:
            left = left[os.write(descriptor, left) :]

    try:
        driver = ClusterDriver(connected(address), send)
    except ClusterFault as e:
        send(worker_messages.answer(0, None, e.to_dict()))
        return
    requests = asyncio.StreamReader(limit=worker_messages.MAX_CALL)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(requests), os.fdopen(0, "rb"))
    await serve(driver, requests, send)


def main(address: str) -> None:
    """Serves until the standard input ends. What Ray prints is nobody's: the standard output is for messages."""
    answers = os.dup(1)
    os.dup2(2, 1)
    try:
        asyncio.run(_run(address, answers))
    except (BrokenPipeError, ProtocolError):  # the daemon is gone
        pass
    finally:
        os._exit(0)  # Ray's own end waits for the cluster
