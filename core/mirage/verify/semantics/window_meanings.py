"""What pooling and convolution mean: of the elements at each place of a window a sum, the largest, or a sum of products.

The places of a window are written out one by one, each a tensor as large as the result. A window that reaches over an end finds zeros
there, or -inf for a maximum. Large windows, and sizes that are none of these, stay calls.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product

from mirage.operators.protocols import Maker
from mirage.operators.type_rules import is_float
from mirage.verify.semantics.call_pieces import Given, Meaning, block, cast_to, listed, piece

MOST_PLACES = 64  # of a window, and of windows of unlike lengths


@dataclass(frozen=True)
class Windows:
    """The windows of one dim of `size`: `count` of them, one every `stride` elements, each of `length` elements `apart` from each other;
    the first begins `before` elements before the dim, which goes on for `after` beyond its end."""

    size: int
    length: int
    stride: int
    before: int
    after: int
    apart: int
    count: int

    @staticmethod
    def of(size: int, length: int, stride: int, padding: tuple[int, int], apart: int, ceil: bool) -> Windows | None:
        """None where PyTorch has none."""
        before, after = padding
        if min(length, stride, apart) < 1 or min(padding) < 0:
            return None
        room = size + before + after - apart * (length - 1) - 1
        count = (-(-room // stride) if ceil else room // stride) + 1
        if ceil and (count - 1) * stride >= size + before:
            count -= 1  # such a window would begin beyond the end
        return Windows(size, length, stride, before, after, apart, count) if count > 0 else None

    @property
    def ends(self) -> tuple[int, int]:
        """How many elements must stand before and after the dim, for every place of every window to be there."""
        last = (self.count - 1) * self.stride + self.apart * (self.length - 1) - self.before
        return self.before, max(0, last + 1 - self.size)

    def held(self, padded: bool) -> list[int]:
        """How many places of each window are in the dim, or with `padded` in what it is padded to."""
        low, high = (-self.before, self.size + self.after) if padded else (0, self.size)
        starts = (i * self.stride - self.before for i in range(self.count))
        return [sum(low <= s + k * self.apart < high for k in range(self.length)) for s in starts]


def _options(a: Given, name: str, dims: int, otherwise: Sequence[int]) -> tuple[int, ...]:
    """An attribute of so many dims: one number for all of them, or one for each."""
    given = listed(a[name]) if a.get(name) not in (None, ()) else tuple(otherwise)
    return given * dims if len(given) == 1 else given


def _padded(m: Maker, x: int, at: int, windows: Windows, value: float) -> int:
    sides = [[block(m, x, at, n, value)] if n else [] for n in windows.ends]
    parts = [*sides[0], x, *sides[1]]
    return m.op("concat", *parts, dim=at) if len(parts) > 1 else x


def _every(m: Maker, x: int, at: int, start: int, step: int, count: int) -> int:
    """Every `step`-th of a dim's elements from `start` on, as a slice with a step reads it: the step is a dim of its own, and a sum picks
    one of its elements."""
    if step == 1 or count == 1:
        return piece(m, x, at, start, count)
    first = start - start % step
    missing = max(0, first + count * step - m.type(x).shape[at])
    if missing:  # these are never picked
        x = m.op("concat", x, block(m, x, at, missing, 0.0), dim=at)
    x = piece(m, x, at, first, count * step)
    shape = m.type(x).shape
    parts = m.op("reshape", x, shape=(*shape[:at], count, step, *shape[at + 1 :]))
    places = m.op("reshape", m.op("iota", size=step), shape=(step,) + (1,) * (len(shape) - at - 1))
    here = m.op("eq", places, m.const(start % step))
    nothing = cast_to(m, m.const(0.0), m.type(x).dtype)
    return m.op("sum", m.op("where", here, parts, nothing), dim=(at + 1,), keepdim=False)


def _places(m: Maker, x: int, windows: Sequence[Windows], value: float) -> Iterator[tuple[tuple[int, ...], int]]:
    """(the place in the window, the elements there of all windows), for windows over the last dims."""
    first = len(m.type(x).shape) - len(windows)
    for i, w in enumerate(windows):
        x = _padded(m, x, first + i, w, value)
    for place in product(*(range(w.length) for w in windows)):
        picked = x
        for i, (k, w) in enumerate(zip(place, windows, strict=True)):
            picked = _every(m, picked, first + i, k * w.apart, w.stride, w.count)
        yield place, picked


def _windows(m: Maker, x: int, a: Given, dims: int, kernel: Sequence[int]) -> list[Windows] | None:
    """Those of a pool over the last dims; None where they are not covered."""
    shape = m.type(x).shape
    stride = _options(a, "stride", dims, kernel)
    padding, apart = _options(a, "padding", dims, (0,)), _options(a, "dilation", dims, (1,))
    sides = [(p, p) for p in padding]
    return _all(shape[-dims:], kernel, stride, sides, apart, bool(a.get("ceil_mode", False)))


def _all(
    sizes: Sequence[int], kernel: Sequence[int], stride: Sequence[int], sides: Sequence[tuple[int, int]], apart: Sequence[int],
    ceil: bool,
) -> list[Windows] | None:  # fmt: skip
    if len({len(x) for x in (sizes, kernel, stride, sides, apart)}) > 1 or math.prod(kernel) > MOST_PLACES:
        return None
    rows = zip(sizes, kernel, stride, sides, apart, strict=True)
    found = [w for row in rows if (w := Windows.of(*row, ceil)) is not None]
    return found if len(found) == len(sizes) else None


def _max_pool(dims: int) -> Meaning:
    def build(m: Maker, xs: Mapping[str, int], a: Given) -> int | None:
        x = xs["self"]
        windows = _windows(m, x, a, dims, _options(a, "kernel_size", dims, ()))
        if windows is None or not is_float(m.type(x).dtype):
            return None
        return reduce(lambda y, z: m.op("maximum", y, z), (y for _, y in _places(m, x, windows, -math.inf)))

    return build


def _avg_pool(dims: int) -> Meaning:
    def build(m: Maker, xs: Mapping[str, int], a: Given) -> int | None:
        x = xs["self"]
        dtype = m.type(x).dtype
        windows = _windows(m, x, a, dims, _options(a, "kernel_size", dims, ()))
        if windows is None or not is_float(dtype):
            return None
        wide = cast_to(m, x, dtype if dtype == "fp64" else "fp32")
        total = reduce(lambda y, z: m.op("add", y, z), (y for _, y in _places(m, wide, windows, 0.0)))
        divisor = a.get("divisor_override")
        if isinstance(divisor, int):
            return cast_to(m, m.op("div", total, m.const(float(divisor))), dtype)
        for i, w in enumerate(windows):
            counted = _counts(m, total, dims - i, w.held(bool(a.get("count_include_pad", True))))
            if counted is None:
                return None
            total = m.op("div", total, counted)
        return cast_to(m, total, dtype)

    return build


def _counts(m: Maker, x: int, from_end: int, counts: Sequence[int]) -> int | None:
    """How many elements each window of a dim holds; one number where all hold as many."""
    runs: list[list[int]] = []
    for n in counts:
        if runs and runs[-1][0] == n:
            runs[-1][1] += 1
        else:
            runs.append([n, 1])
    if len(runs) > MOST_PLACES or min(counts) < 1:
        return None
    dtype = m.type(x).dtype
    if len(runs) == 1:
        return cast_to(m, m.const(float(runs[0][0])), dtype)
    parts = [m.op("expand", cast_to(m, m.const(float(n)), dtype), shape=(length,)) for n, length in runs]
    return m.op("reshape", m.op("concat", *parts, dim=0), shape=(len(counts),) + (1,) * (from_end - 1))


def _adaptive(dims: int, op: str) -> Meaning:
    """The mean or the largest of as many parts of each dim as the result has places."""

    def build(m: Maker, xs: Mapping[str, int], a: Given) -> int | None:
        x = xs["self"]
        kind = m.type(x)
        outs = a["output_size"] if isinstance(a["output_size"], tuple) else (a["output_size"],)
        if not is_float(kind.dtype) or len(outs) != dims:
            return None
        x = x if op == "amax" or kind.dtype == "fp64" else cast_to(m, x, "fp32")
        for at, out in enumerate(outs, len(kind.shape) - dims):
            n = kind.shape[at]
            parts = n if out is None else int(str(out))
            if parts < 1 or (n % parts and parts > MOST_PLACES):
                return None
            x = _parted(m, x, at, parts, op)
        return cast_to(m, x, kind.dtype)

    return build


def _parted(m: Maker, x: int, at: int, parts: int, op: str) -> int:
    shape = m.type(x).shape
    n = shape[at]
    if n % parts == 0:
        split = m.op("reshape", x, shape=(*shape[:at], parts, n // parts, *shape[at + 1 :]))
        return m.op(op, split, dim=(at + 1,), keepdim=False)
    ends = [(i * n // parts, -(-(i + 1) * n // parts)) for i in range(parts)]
    means = [m.op(op, piece(m, x, at, i, j - i), dim=(at,), keepdim=True) for i, j in ends]
    return m.op("concat", *means, dim=at)


def _conv(dims: int) -> Meaning:
    """The sum over channels and over the window's places of weights times elements, plus a bias."""

    def build(m: Maker, xs: Mapping[str, int], a: Given) -> int | None:
        x, w = xs["input"], xs["weight"]
        dtype, shape, kernel = m.type(x).dtype, m.type(x).shape, m.type(w).shape[2:]
        groups = int(str(a.get("groups", 1)))
        windows = _conv_windows(shape[-dims:], kernel, a)
        if windows is None or not is_float(dtype) or len(shape) not in (dims + 1, dims + 2):
            return None
        wide = dtype if dtype == "fp64" else "fp32"
        batch = shape[0] if len(shape) == dims + 2 else 1
        out, inner = m.type(w).shape[:2]
        x = m.op("reshape", cast_to(m, x, wide), shape=(batch, groups, inner, *shape[-dims:]))
        w = m.op("reshape", cast_to(m, w, wide), shape=(groups, out // groups, inner, *kernel))
        over = "xyz"[:dims]
        total = None
        for place, picked in _places(m, x, windows, 0.0):
            one = w
            for i, k in enumerate(place):
                one = piece(m, one, 3 + i, k, 1)
            one = m.op("reshape", one, shape=(groups, out // groups, inner))
            made = m.op("einsum", one, picked, equation=f"goc,bgc{over}->bgo{over}")
            total = made if total is None else m.op("add", total, made)
        assert total is not None
        counts = tuple(w.count for w in windows)
        y = m.op("reshape", total, shape=(batch, out, *counts) if len(shape) == dims + 2 else (out, *counts))
        if "bias" in xs:
            y = m.op("add", y, m.op("reshape", cast_to(m, xs["bias"], wide), shape=(out,) + (1,) * dims))
        return cast_to(m, y, dtype)

    return build


def _conv_windows(sizes: Sequence[int], kernel: Sequence[int], a: Given) -> list[Windows] | None:
    dims = len(kernel)
    stride, apart = _options(a, "stride", dims, (1,)), _options(a, "dilation", dims, (1,))
    padding = a.get("padding")
    if padding == "same":
        more = [d * (k - 1) for d, k in zip(apart, kernel, strict=True)]
        sides = [(n // 2, n - n // 2) for n in more]
    else:
        sides = [(p, p) for p in _options({} if padding == "valid" else a, "padding", dims, (0,))]
    return _all(sizes, kernel, stride, sides, apart, False)


def instance_norm(m: Maker, xs: Mapping[str, int], a: Given) -> int | None:
    """A group norm of one channel a group, by the statistics of the input."""
    x = xs["input"]
    shape, own = m.type(x).shape, [xs[k] for k in ("weight", "bias") if k in xs]
    running = any(k in xs for k in ("running_mean", "running_var"))
    if running or not a.get("use_input_stats", True) or len(shape) < 3 or ("bias" in xs and "weight" not in xs):
        return None
    return m.op("group_norm", x, *own, groups=shape[1], eps=a["eps"])


Made = Callable[[int], Meaning]
_POOLS: dict[str, Made] = {"max_pool": _max_pool, "avg_pool": _avg_pool}
WINDOW_MEANINGS: dict[str, Meaning] = {
    **{f"aten.{name}{n}d.default": made(n) for name, made in _POOLS.items() for n in (1, 2, 3)},
    **{f"aten.max_pool{n}d_with_indices.default": _max_pool(n) for n in (1, 2, 3)},
    **{f"aten.adaptive_avg_pool{n}d.default": _adaptive(n, "mean") for n in (1, 2, 3)},
    **{f"aten.adaptive_max_pool{n}d.default": _adaptive(n, "amax") for n in (1, 2, 3)},
    **{f"aten.conv{n}d.default": _conv(n) for n in (1, 2, 3)},
    **{f"aten.conv{n}d.padding": _conv(n) for n in (1, 2, 3)},
    "aten.instance_norm.default": instance_norm,
}
