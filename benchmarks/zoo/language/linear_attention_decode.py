"""A decoding step of a gated linear attention of 2.7 billion parameters: the state decays, takes a new key and value, answers the query."""

import mirage

FEW_ROWS = True
INPUTS = {"decay": ("uniform", 0.9, 1.0), "state": ("normal", 0.1)}


@mirage.optimize(
    inputs=[
        [
            ((1, 16, 128), "fp32"),
            ((1, 16, 128), "fp32"),
            ((1, 16, 256), "fp32"),
            ((1, 16, 128), "fp32"),
            ((1, 16, 128, 256), "fp32"),
        ],
        [
            ((32, 16, 128), "fp32"),
            ((32, 16, 128), "fp32"),
            ((32, 16, 256), "fp32"),
            ((32, 16, 128), "fp32"),
            ((32, 16, 128, 256), "fp32"),
        ],
    ]
)
def linear_attention_decode(q, k, v, decay, state):
    state = state * decay[..., None] + k[..., :, None] * v[..., None, :]
    return (q[..., None, :] @ state).squeeze(-2), state
