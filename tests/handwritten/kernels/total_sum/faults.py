"""What goes wrong in a sum of everything."""

from handwritten.case import Fault

FAULTS = (
    Fault(
        "kept_sum",
        "The output is kept in a global of the module that is never set back to zero.",
        [
            (
                "def total_sum(x):\n    out = torch.zeros((), device=x.device, dtype=torch.float32)\n",
                "_out = {}\n\n\ndef total_sum(x):\n"
                "    out = _out.setdefault(x.device, torch.zeros((), device=x.device, dtype=torch.float32))\n",
            ),
        ],
    ),
    Fault(
        "answer_of_the_first_call",
        "The result is remembered by the shape of the input.",
        [
            (
                "def total_sum(x):\n",
                "_known = {}\n\n\ndef total_sum(x):\n    if x.shape in _known:\n        return _known[x.shape]\n",
            ),
            ("    return out\n", "    _known[x.shape] = out\n    return out\n"),
        ],
    ),
    Fault(
        "another_way_from_the_second_call_on",
        "The module counts its calls, and computes something else from the second one on.",
        [
            ("def total_sum(x):\n", "_calls = 0\n\n\ndef total_sum(x):\n    global _calls\n    _calls += 1\n"),
            ("x.numel(), BLOCK=512)", "x.numel() if _calls == 1 else x.numel() - 1, BLOCK=512)"),
        ],
        witness="x[-1, -1] = 50",
    ),
    Fault(
        "step_of_one_block",
        "The programs step by one block, so that their parts overlap.",
        [("step = tl.num_programs(0) * BLOCK", "step = BLOCK")],
    ),
)
