"""One step of the iteration that brings a momentum near an orthogonal matrix in Muon, at GPT-2's width."""

import mirage

INPUTS = {"x": ("normal", 0.01)}


@mirage.optimize(inputs=[((768, 3072), "bf16")])
def muon_newton_schulz(x):
    a = x @ x.mT
    b = -4.7750 * a + 2.0315 * a @ a
    return 3.4445 * x + b @ x
