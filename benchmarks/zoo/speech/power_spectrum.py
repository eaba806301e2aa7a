"""Frames of sixteen kilohertz audio windowed and brought to a power spectrum by a product with cosines and sines."""

import mirage

INPUTS = {"window": ("uniform", 0.0, 1.0), "cosines": ("weight", 0), "sines": ("weight", 0)}


@mirage.optimize(inputs=[((3000, 400), "fp32"), ((400,), "fp32"), ((400, 201), "fp32"), ((400, 201), "fp32")])
def power_spectrum(frames, window, cosines, sines):
    frames = (frames - frames.mean(-1, keepdim=True)) * window
    return (frames @ cosines).square() + (frames @ sines).square()
