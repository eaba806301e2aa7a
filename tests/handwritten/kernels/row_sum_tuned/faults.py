"""What goes wrong where kernels are tuned."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "trials_add_up",
        "The trials of the tuner add to the output too, because nothing sets it back.",
        [(', reset_to_zero=["out_ptr"]', "")],
        unseen="only a device is tuned for, and only the first call for a size runs the trials",
    ),
    Fault(
        "zeroed_by_the_tuner_alone",
        "Only the tuner sets the output to zero, which a call that finds its configuration chosen does not run.",
        [("torch.zeros(rows", "torch.empty(rows")],
    ),
    Fault(
        "grid_of_the_larger_block",
        "The grid is made for blocks of 1024 whatever block was chosen.",
        [('triton.cdiv(cols, meta["BLOCK"])', "triton.cdiv(cols, 1024)")],
    ),
)
