"""The search parameters of a caller: which grids, blocks, maps, loop ranges and clusters every custom kernel may have.

Each is a list of choices, and None leaves it free. A kernel is within them if its grid dims are among `griddims`, its
threads among `blockdims`, the map of each of its input iterators among `imaps`, of each output saver among `omaps`, the
dimension that a loop cuts of each tensor read in it among `fmaps`, and the range of each loop among `franges`. A map's
entry is the dimension of the tensor that this grid dim cuts, -1 where each block along it has the same. `clusters` are
numbers of thread blocks that share one block graph's tiles (1 where nothing is asked).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import TypeVar

from mirage.errors import BadSearchParameter

T = TypeVar("T")
Three = tuple[int, int, int]
MAX_GRID = (2**31 - 1, 65535, 65535)  # CUDA's limits of x, y, z
MAX_BLOCK = (1024, 1024, 64)
WARP, MAX_THREADS, MAX_RANK = 32, 1024, 16
CLUSTERS = (1, 2, 4, 8)


@dataclass(frozen=True)
class Narrowing:
    griddims: tuple[Three, ...] | None = None
    blockdims: tuple[Three, ...] | None = None
    imaps: tuple[Three, ...] | None = None
    omaps: tuple[Three, ...] | None = None
    fmaps: tuple[int, ...] | None = None
    franges: tuple[int, ...] | None = None
    clusters: tuple[int, ...] | None = None

    def __bool__(self) -> bool:
        return any(getattr(self, f.name) is not None for f in fields(self))

    @property
    def names(self) -> tuple[str, ...]:
        """Those that are given."""
        return tuple(f.name for f in fields(self) if getattr(self, f.name) is not None)

    @property
    def warps(self) -> tuple[int, ...] | None:
        """The numbers of warps of `blockdims`."""
        if self.blockdims is None:
            return None
        return tuple(dict.fromkeys(x * y * z // WARP for x, y, z in self.blockdims))

    @staticmethod
    def of(**given: object) -> Narrowing:
        """From lists of numbers as they were written. Raises BadSearchParameter, which names the parameter, for anything
        that no kernel can have: another name, an empty list, two numbers for a grid, a negative size."""
        for name in given:
            if name not in PARAMETERS:
                raise BadSearchParameter(f"there is no search parameter `{name}` ({', '.join(sorted(PARAMETERS))})")

        def read(name: str, reader: Callable[[str, object], tuple[T, ...]]) -> tuple[T, ...] | None:
            return None if given.get(name) is None else reader(name, given[name])

        return Narrowing(
            read("griddims", _grids), read("blockdims", _blocks), read("imaps", _maps), read("omaps", _maps),
            read("fmaps", _cuts), read("franges", _ranges), read("clusters", _clusters),
        )  # fmt: skip


PARAMETERS = tuple(f.name for f in fields(Narrowing))
FREE = Narrowing()


def _choices(name: str, value: object) -> tuple[object, ...]:
    if not isinstance(value, (list, tuple)) or not value:
        raise BadSearchParameter(f"`{name}` is not a list of choices: {value!r}")
    return tuple(value)


def _whole(name: str, value: object, least: int, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise BadSearchParameter(f"`{name}` holds {value!r}, which is no number from {least} to {most}")
    return value


def _three(name: str, value: object, least: int, most: Three) -> Three:
    if not isinstance(value, (list, tuple)) or len(value) != 3:
        raise BadSearchParameter(f"`{name}` holds {value!r}, which is not three numbers")
    x, y, z = (_whole(name, v, least, m) for v, m in zip(value, most, strict=True))
    return x, y, z


def _unique(values: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(values))


def _grids(name: str, value: object) -> tuple[Three, ...]:
    return _unique(_three(name, v, 1, MAX_GRID) for v in _choices(name, value))


def _blocks(name: str, value: object) -> tuple[Three, ...]:
    found = _unique(_three(name, v, 1, MAX_BLOCK) for v in _choices(name, value))
    for x, y, z in found:
        threads = x * y * z
        if threads % WARP or threads > MAX_THREADS or threads & (threads - 1):
            raise BadSearchParameter(
                f"`{name}` holds {(x, y, z)}: {threads} threads; a block has 32, 64, ... or {MAX_THREADS}"
            )
    return found


def _maps(name: str, value: object) -> tuple[Three, ...]:
    found = _unique(_three(name, v, -1, (MAX_RANK, MAX_RANK, MAX_RANK)) for v in _choices(name, value))
    return found


def _cuts(name: str, value: object) -> tuple[int, ...]:
    return _unique(_whole(name, v, -1, MAX_RANK) for v in _choices(name, value))


def _ranges(name: str, value: object) -> tuple[int, ...]:
    return _unique(_whole(name, v, 1, 2**31 - 1) for v in _choices(name, value))


def _clusters(name: str, value: object) -> tuple[int, ...]:
    found = _unique(_whole(name, v, 1, CLUSTERS[-1]) for v in _choices(name, value))
    for n in found:
        if n not in CLUSTERS:
            raise BadSearchParameter(f"`{name}` holds {n}, which is none of {CLUSTERS}")
    return found
