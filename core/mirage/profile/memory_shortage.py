"""What to do where the GPU's memory is taken by others: release one's own, wait, and try again.

Workers that tune other functions hold memory for seconds; whoever asks meanwhile would measure nothing.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

Result = TypeVar("Result")
PAUSES = (1.0, 3.0, 8.0, 15.0)  # seconds before each further try: about as long as another's references live


def retried(
    run: Callable[[], Result],
    release: Callable[[], None],
    pauses: Sequence[float] = PAUSES,
    sleep: Callable[[float], None] = time.sleep,
) -> Result:
    """What `run` gives. After an OutOfMemoryError: `release()`, a pause, and again; the last one is raised."""
    import torch

    for pause in pauses:
        try:
            return run()
        except torch.OutOfMemoryError:
            pass  # outside of this block nothing of the failed run is held by its traceback
        release()
        gc.collect()
        torch.cuda.empty_cache()
        sleep(pause)
    return run()
