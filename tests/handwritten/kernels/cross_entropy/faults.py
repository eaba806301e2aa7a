"""What goes wrong in a cross entropy."""

from handwritten.case import Fault

DRAW = "labels = torch.randint(0, logits.shape[1], labels.shape); labels[3] = -100"
FAULTS = (
    Fault(
        "maximum_left_out",
        "The maximum is not added back to the logarithm.",
        [("loss = m + tl.log(d) - x_label", "loss = tl.log(d) - x_label")],
    ),
    Fault(
        "maximum_of_the_block",
        "Each block is taken relative to its own maximum, though the sum is kept relative to the running one.",
        [("tl.exp(block - m_new)", "tl.exp(block - block_max)")],
    ),
    Fault(
        "label_of_the_first_row",
        "The label is read without its row.",
        [("tl.load(labels_ptr + row)", "tl.load(labels_ptr)")],
    ),
    Fault(
        "ignored_rows_counted",
        "A row whose label says that it is to be ignored has the loss of a logit of 0.",
        [("tl.where(counted, loss, 0.0)", "loss")],
    ),
)
