"""Array types of the evaluators, named once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]  # an arithmetic's values: residues, floats, indices and flags pass through the same operators
Words = NDArray[np.uint64]  # packed residues of a field
Floats64 = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]
Selection = tuple[slice | Indices, ...]  # what picks elements of an array
