"""Pairs of PyTorch functions written without a look at the verifier: wrong ones by class, and equal but unusual ones."""

from strangers.pairs import (
    attention,
    casts,
    casts_more,
    constants,
    definedness,
    equal,
    equal_more,
    equal_rewrites,
    integers,
    integers_more,
    norms,
    positions,
    positions_more,
    reductions,
    shapes,
    thresholds,
    traps,
)

WRONG = {
    "thresholds": thresholds.PAIRS,
    "positions": positions.PAIRS + positions_more.PAIRS,
    "casts": casts.PAIRS + casts_more.PAIRS,
    "definedness": definedness.PAIRS,
    "reductions": reductions.PAIRS,
    "shapes": shapes.PAIRS,
    "constants": constants.PAIRS,
    "integers": integers.PAIRS + integers_more.PAIRS,
    "norms": norms.PAIRS,
    "attention": attention.PAIRS,
    "traps": traps.PAIRS,
}
EQUAL = equal.PAIRS + equal_more.PAIRS + equal_rewrites.PAIRS
