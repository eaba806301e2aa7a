"""Pairs of PyTorch functions written without a look at the verifier: wrong ones in eight classes, and equal but unusual ones."""

from strangers.pairs import (
    casts,
    constants,
    definedness,
    equal,
    equal_more,
    integers,
    positions,
    reductions,
    shapes,
    thresholds,
)

WRONG = {
    "thresholds": thresholds.PAIRS,
    "positions": positions.PAIRS,
    "casts": casts.PAIRS,
    "definedness": definedness.PAIRS,
    "reductions": reductions.PAIRS,
    "shapes": shapes.PAIRS,
    "constants": constants.PAIRS,
    "integers": integers.PAIRS,
}
EQUAL = equal.PAIRS + equal_more.PAIRS
