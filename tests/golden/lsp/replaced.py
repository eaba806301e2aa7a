import mirage
import torch
from jaxtyping import Float16
from torch import Tensor


NOTE = '𝔐irage 😀'  # 😀😀
# mirage:begin double sha256=b0ccc108731f076118ed2740ee6ab3c883741ee30163d77e951b3afc2461a36f kernel=c0cb924daeccc417a20b27097348f2d4c4d5534192e0f3b2ffb0f1ff7902739c
# fmt: off
# Made by Mirage from double


import math  # noqa: E402, F811


SIZES_double = {"n": 1024}
TILES_double = {"double_kernel": {"n": 64}}


def double_kernel(x, n):
    return [v + v for v in x[:n]]


# @mirage.optimize
def _original_double(x: Float16[Tensor, "16 64"]) -> Tensor:
    """Twice x."""
    return x + x


def _run_double(x, sizes=SIZES_double, tiles=TILES_double):
    return double_kernel(x, n=sizes["n"])


def double(x):
    """Twice x."""
    if math.isnan(len(x)):
        return _original_double(x)
    return _run_double(x, sizes=SIZES_double)


# mirage:original | @mirage.optimize
# mirage:original | def double(x: Float16[Tensor, "16 64"]) -> Tensor:
# mirage:original |     """Twice x."""
# mirage:original |     return x + x
# fmt: on
# mirage:end double

LAST = '😀'
