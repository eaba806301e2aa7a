"""What goes wrong with capped scores."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "capped_after_the_mask",
        "The cap is applied after the mask, and what was masked has the score -cap.",
        [
            (
                's = softcap(tl.dot(q, tl.trans(k), input_precision="ieee") * scale, CAP)',
                's = tl.dot(q, tl.trans(k), input_precision="ieee") * scale',
            ),
            (
                's = tl.where(j[None, :] <= i[:, None], s, float("-inf"))',
                's = softcap(tl.where(j[None, :] <= i[:, None], s, float("-inf")), CAP)',
            ),
        ],
    ),
    Fault(
        "cap_not_multiplied_back",
        "The scores are limited to one and not to the cap.",
        [("return CAP * (2.0", "return (2.0")],
    ),
    Fault(
        "diagonal_excluded",
        "A query does not see its own key, and the first one sees none.",
        [("j[None, :] <= i[:, None]", "j[None, :] < i[:, None]")],
    ),
    Fault(
        "clamped",
        "The scores are cut at the cap.",
        [("CAP * (2.0 * tl.sigmoid(2.0 * s / CAP) - 1.0)", "tl.minimum(tl.maximum(s, -CAP), CAP)")],
    ),
)
