"""The two 8-bit float formats: the value of each of their 256 codes, and the code that a number is rounded to.

float8_e4m3fn has four exponent bits, a NaN (0x7F, 0xFF) and no infinity; float8_e5m2 is the upper half of a float16. A
number becomes the nearest value, ties to the even code. Beyond the largest one e4m3 saturates, in PyTorch and on a GPU
(`cvt.rn.satfinite`); e5m2 becomes infinite in PyTorch and saturates on a GPU.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32] | NDArray[np.float64]
SIGN = 0x80
NAN = 0x7F


@dataclass(frozen=True)
class EightBit:
    """One format. `values` (256,) float32: by code; `middles`: between the neighbours among the finite numbers from
    zero on, and above the last of them, where the next power of two would be if there were one."""

    exponent: int  # bits
    mantissa: int
    last: int  # code of the largest number
    values: NDArray[np.float32] = field(init=False)
    middles: NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        codes = np.arange(SIGN)
        power, part = codes >> self.mantissa, codes & ((1 << self.mantissa) - 1)
        bias = (1 << (self.exponent - 1)) - 1
        above = np.where(power > 0, 1.0, 0.0) + part / (1 << self.mantissa)
        size = np.ldexp(above, np.maximum(power, 1) - bias)
        object.__setattr__(self, "middles", (size[: self.last + 1] + size[1 : self.last + 2]) / 2)
        size = np.where(codes <= self.last, size, np.nan)
        if part[self.last + 1] == 0:  # the power above the largest number's begins with infinity
            size[self.last + 1] = np.inf
        object.__setattr__(self, "values", np.concatenate([size, -size]).astype(np.float32))

    @property
    def largest(self) -> float:
        return float(self.values[self.last])

    def code(self, x: Floats, *, saturate: bool = True) -> NDArray[np.uint8]:
        """The codes (uint8) of numbers; without `saturate` infinity is what lies beyond the largest one."""
        with np.errstate(invalid="ignore"):  # signalling NaNs
            size = np.abs(np.asarray(x, np.float64))
        code = np.searchsorted(self.middles, size, side="left")
        tie = size == self.middles[np.minimum(code, self.last)]
        code = code + (tie & (code % 2 == 1))
        code = np.minimum(code, self.last) if saturate else code
        return np.asarray(np.where(np.isnan(x), NAN, code) | np.where(np.signbit(x), SIGN, 0)).astype(np.uint8)

    def rounded(self, x: Floats, *, saturate: bool = True) -> NDArray[np.float32]:
        """The values (float32) that the numbers become."""
        return np.asarray(self.values[self.code(x, saturate=saturate)])


FORMATS = {"fp8e4m3": EightBit(4, 3, 0x7E), "fp8e5m2": EightBit(5, 2, 0x7B)}
