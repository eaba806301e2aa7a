"""The memory that kernels see: storages of tensors, every access of which is checked for its place and for its order.

Programs of a launch run in any order. So no element may be written by two of them, nor written by one and read by another; what
a program wrote it may read after a barrier only. Sums by atomic operations may meet in any order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mirage.verify.real_sizes import accumulators
from mirage.verify.real_sizes.tile_values import Array, Pointer, Precision, Tile, Unknown, Wrong

MANY = -2  # programs that read an element, where there are several


class Region:
    """One storage. `data` are its elements; `given`: an argument of the public function, which may not be written."""

    def __init__(self, name: str, data: Array, dtype: str, given: bool) -> None:
        self.name, self.data, self.dtype, self.given = name, data, dtype, given
        self.decode: Callable[[Array], Array] | None = None  # from what lies in memory, where numpy has not the dtype
        self.encode: Callable[[Array], Array] | None = None
        self.written = self.used = False  # by a kernel; by a kernel or an operator after that
        self.rounded = False  # something of more digits was stored
        self.began()

    def began(self) -> None:
        """A launch begins."""
        self.writer: Array | None = None  # of each element: the program that wrote it, plus one
        self.fresh: Array | None = None  # the same, since the program's last barrier
        self.reader: Array | None = None
        self.summed: Array | None = None  # elements that atomic operations changed
        self.stored_to = False

    def track(self) -> None:
        if self.writer is None:
            self.writer = np.zeros(self.data.size, np.int32)
            self.fresh = np.zeros(self.data.size, np.int32)


class Accesses:
    """The accesses of one batch of a launch's programs. `programs` are their numbers in the grid's order."""

    def __init__(self, precision: Precision, programs: Array) -> None:
        self.precision, self.programs = precision, programs

    def places(self, p: Pointer, mask: Array | None, verb: str, line: int) -> tuple[Array, Array | None, Array]:
        """(offsets, mask, the programs' numbers), all of one shape; the mask None where all are live."""
        shape = p.data.shape if mask is None else np.broadcast_shapes(p.data.shape, mask.shape)
        at = np.broadcast_to(p.data, shape)
        live = None if mask is None else np.broadcast_to(mask, shape)
        if live is not None and live.all():
            live = None
        used = at if live is None else at[live]
        if used.size and (int(used.min()) < 0 or int(used.max()) >= p.region.data.size):
            bad = int(used.min()) if int(used.min()) < 0 else int(used.max())
            where = (at == bad) if live is None else (at == bad) & live
            index = tuple(int(i) for i in np.argwhere(where)[0])
            program = int(self.programs[index[0] if self.programs.size > index[0] else 0])
            raise Wrong(
                f"program {program} {verb} element {bad} of {p.region.name}, which has {p.region.data.size}", line
            )
        return at, live, used

    def load(self, p: Pointer, mask: Array | None, other: Tile | None, line: int, active: Array | None) -> Tile:
        """The elements, `other` where the mask is false; what stands there without one is not defined."""
        mask = _and(mask, active, p.data.ndim)
        at, live, used = self.places(p, mask, "reads", line)
        region, how = p.region, self.precision
        self._read(region, at, live, line)
        region.used = True
        if region.summed is not None and used.size and region.summed[used].any():
            raise Unknown(f"{region.name} is read in the launch whose atomic operations change it", line)
        found = region.data[at if live is None else np.where(live, at, 0)]
        if region.decode is not None:
            found = region.decode(found)
        found = how.rounded(found, region.dtype)
        if live is not None:
            if other is None:
                garbage = how.garbage if region.dtype in ("fp64", "fp32", "fp16", "bf16") else 113
                filler = how.rounded(np.asarray(garbage), region.dtype)
            else:
                filler = how.rounded(other.data, region.dtype)
                filler = filler.reshape(filler.shape[0], *(1,) * (found.ndim - filler.ndim), *filler.shape[1:])
            found = np.where(live, found, filler)
        return Tile(found, region.dtype, rounded=line if region.rounded else 0)

    def store(self, p: Pointer, value: Tile, mask: Array | None, line: int, active: Array | None) -> None:
        mask = _and(mask, active, p.data.ndim)
        data = self.precision.rounded(value.data, p.region.dtype)
        data = data.reshape(data.shape[0], *(1,) * (p.data.ndim - data.ndim), *data.shape[1:])
        at, live, _ = self.places(p, mask, "writes", line)
        shape = np.broadcast_shapes(at.shape, data.shape)
        p.region.rounded |= p.region.dtype in ("fp16", "bf16") and (
            value.dtype in ("fp32", "fp64") or value.rounded > 0
        )
        self._write(p.region, np.broadcast_to(at, shape), live, np.broadcast_to(data, shape), line)

    def _owners(self, shape: tuple[int, ...]) -> Array:
        """Of each lane its program's number plus one. A lane that is the same in all programs is every program's."""
        own = self.programs.astype(np.int32) + 1
        rows = own if shape[0] == own.size else own[:1]
        return np.broadcast_to(rows.reshape(-1, *(1,) * (len(shape) - 1)), shape)

    def _write(self, region: Region, at: Array, live: Array | None, data: Array, line: int) -> None:
        if region.given:
            raise Wrong(f"{region.name}, an input, is written", line)
        if at.shape[0] == 1 and self.programs.size > 1:  # all programs write the same places
            if at.size and (live is None or live.any()):
                raise Wrong(f"all programs of the launch write the same elements of {region.name}", line)
            return
        region.track()
        region.written = region.stored_to = True
        assert region.writer is not None and region.fresh is not None
        owners = self._owners(at.shape)
        if live is not None:
            at, data, owners = at[live], np.broadcast_to(data, live.shape)[live], owners[live]
        if region.summed is not None and region.summed[at].any():
            raise Unknown(f"{region.name} is written in the launch whose atomic operations change it", line)
        before = region.writer[at]
        region.writer[at] = owners
        if ((before != 0) & (before != owners)).any() or (region.writer[at] != owners).any():
            raise Wrong(f"two programs of the launch write one element of {region.name}", line)
        if ((before == owners) & (region.fresh[at] == owners)).any():
            raise Unknown(f"a program writes an element of {region.name} twice without a barrier between", line)
        if region.reader is not None:
            seen = region.reader[at]
            if ((seen != 0) & (seen != owners)).any():
                raise Wrong(f"a program writes an element of {region.name} that another one reads", line)
        region.fresh[at] = owners
        stored = data if region.encode is None else region.encode(data)
        region.data[at] = stored
        back = region.data[at]
        if not (np.equal(back, stored) | ((back != back) & (stored != stored))).all():
            raise Wrong(f"one store writes unlike values to one element of {region.name}", line)

    def _read(self, region: Region, at: Array, live: Array | None, line: int) -> None:
        if region.given:
            return
        owners = self._owners(at.shape)
        if live is not None:
            at, owners = at[live], owners[live]
        shared = at.shape[0] == 1 and self.programs.size > 1 if live is None else False
        if region.writer is not None and region.fresh is not None:
            writer = region.writer[at]
            if ((writer != 0) & (writer != owners)).any() or (shared and writer.any()):
                raise Wrong(f"a program reads an element of {region.name} that another one writes", line)
            if ((region.fresh[at] == owners) & (writer != 0)).any():
                raise Unknown(f"a program reads what it wrote to {region.name} without a barrier between", line)
        if region.reader is None:
            region.reader = np.zeros(region.data.size, np.int32)
        seen = region.reader[at]
        region.reader[at] = np.where((seen == 0) | (seen == owners), owners, MANY)
        if shared:
            region.reader[at] = MANY

    def barrier(self, regions: list[Region]) -> None:
        """Every program of the batch has passed one."""
        for r in regions:
            if r.fresh is not None:
                r.fresh[:] = 0

    def atomic(self, kind: str, p: Pointer, value: Tile, mask: Array | None, line: int, active: Array | None) -> Tile:
        """Sums, maxima and minima, whose order is free; what such an operation gives back depends on it."""
        region = p.region
        if region.given:
            raise Wrong(f"{region.name}, an input, is written", line)
        mask = _and(mask, active, p.data.ndim)
        data = self.precision.rounded(value.data, region.dtype)
        data = data.reshape(data.shape[0], *(1,) * (p.data.ndim - data.ndim), *data.shape[1:])
        at, live, used = self.places(p, mask, "changes", line)
        shape = np.broadcast_shapes((self.programs.size, *at.shape[1:]), at.shape, data.shape)
        places, values = np.broadcast_to(at, shape), np.broadcast_to(data, shape)
        if live is not None:
            wide = np.broadcast_to(live, shape)
            places, values = places[wide], values[wide]
        if region.writer is not None and region.writer[used].any():
            raise Unknown(f"{region.name} is stored to and changed by atomic operations in one launch", line)
        if region.reader is not None and region.reader[used].any():
            raise Unknown(f"{region.name} is read in the launch whose atomic operations change it", line)
        if kind == "add":
            accumulators.of_atomic_sum(self.precision, line, region.dtype)
        if region.encode is not None and region.decode is not None:
            raise Unknown(f"an atomic operation in {region.dtype}", line)
        _UPDATES[kind].at(region.data, places, values)
        if region.summed is None:
            region.summed = np.zeros(region.data.size, bool)
        region.summed[places] = True
        region.written = region.stored_to = True
        return Tile(np.broadcast_to(values.flat[0] if values.size else np.zeros((), data.dtype), shape), region.dtype,
                    "what an atomic operation gives back depends on the order of the programs", line)  # fmt: skip


_UPDATES: dict[str, Any] = {
    "add": np.add,
    "max": np.maximum,
    "min": np.minimum,
    "or": np.bitwise_or,
    "and": np.bitwise_and,
}


def _and(mask: Array | None, active: Array | None, rank: int) -> Array | None:
    """A mask of the active programs alone."""
    if mask is not None:
        mask = mask.reshape(mask.shape[0], *(1,) * (rank - mask.ndim), *mask.shape[1:])
    if active is None:
        return mask
    own = active.reshape(-1, *(1,) * (rank - 1))
    return own if mask is None else mask & own
