"""Texts changed by hand: emitted modules, and one edit in each, which a run at small sizes or on the CPU need not show."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from workloads import hand
from workloads.hand import Case
from workloads.hand_modules import program_of, source_of

from mirage.codegen.emit import emit_rows

CASES: dict[str, tuple[Case, ...]] = {
    **{name: (case,) for name, case in hand.small().items()},
    "three sizes": tuple(hand.rmsnorm_linear(m=m, tn=tn) for m, tn in ((19, 16), (24, 16), (40, 32))),
}


@cache
def emitted(name: str) -> str:
    cases = CASES[name]
    rows = [(program_of(c.mugraph), c.mugraph) for c in cases]
    return emit_rows(rows, source_of(cases[0]), function=cases[0].name, header={"verdict": "none", "µs": "3.5"})


def changed(name: str, old: str, new: str) -> str:
    """The module with one edit, which has one place in it."""
    text = emitted(name)
    assert text.count(old) == 1, (name, old, text.count(old))
    return text.replace(old, new)


RMS, TAIL, LN, SPLIT = "rmsnorm_linear", "attention_tail", "layernorm_linear", "attention_split"
GROUPS = 'arrived = tl.atomic_add(counters_ptr + group, 1, sem="acq_rel")'
GRID = 'grid = (-(-sizes["m"] // tiles["fused"]["m"]) * -(-sizes["n"] // tiles["fused"]["n"]),)'
RUN = "    if _fits(X, G, W):\n        return _run(X, G, W, fits=True)\n"
LOOP = "in range((K + BLOCK_K - 1) // BLOCK_K):"
SHARE = "in range(first_t, min(first_t + share_t, tiles_t)):"
PARTIAL = 'Op = torch.empty((sizes["s"], sizes["h"], sizes["q"], sizes["e"]), dtype=torch.float32'
SCORE = "qk * (0.25 * 1.4426950408889634)"
THIRD = '{\n    "fused": {"m": 16, "n": 32, "k": 32},'
OUT = 'O = torch.empty((sizes["m"], sizes["n"]), dtype=torch.float16, device=X.device)'

# (the class of the fault, the module, what stands there, what is written instead)
EDITS: tuple[tuple[str, str, str, str], ...] = (
    ("mask", RMS, "in_m = (i_m < M) |", "in_m = (i_m < min(M, 64)) |"),
    ("mask", RMS, "in_k = (i_k < K) | (K % BLOCK_K == 0)", "in_k = i_k < (K if K < 128 else K // 2)"),
    ("mask", RMS, "g = tl.load(G_ptr + i_k, mask=in_k, other=0.0)", "g = tl.load(G_ptr + i_k, mask=in_k & (i_k < 4000), other=0.0)"),
    ("mask", LN, "d = tl.where(in_k[None, :], centred, 0.0)", "d = tl.where(in_k[None, :] & (i_k < 2048)[None, :], centred, 0.0)"),
    ("mask", SPLIT, "seen = tl.where(in_t[None, :], score", "seen = tl.where((in_t & (i_t < 1024))[None, :], score"),
    ("loop", RMS, LOOP, "in range(min((K + BLOCK_K - 1) // BLOCK_K, 100)):"),
    ("loop", TAIL, SHARE, SHARE.replace("tiles_t)", "tiles_t, 512)")),
    ("loop", LN, LOOP, "in range(min((K + BLOCK_K - 1) // BLOCK_K, 64)):"),
    ("row wraps", RMS, "pid_m = pid // blocks_n", "pid_m = pid // blocks_n % 512"),
    ("row wraps", "gated_mlp", "pid_m = pid // blocks_n", "pid_m = (pid // blocks_n) & 255"),
    ("row wraps", "cluster_linear", "O_ptr + i_m[:, None] * N", "O_ptr + (i_m % 4096)[:, None] * N"),
    ("row wraps", TAIL, "pid_h = pid_rest // blocks_q", "pid_h = pid_rest // blocks_q % 128"),
    ("grid", RMS, GRID, GRID.replace("grid = (", "grid = (min(100, ").replace(",)", "),)")),
    ("grid", "cluster_linear", GRID, GRID + '\n    grid = (grid[0] if grid[0] < 65536 else 65535,)'),
    ("sizes", RMS, OUT, OUT + '\n    if sizes["m"] > 1000:\n        return O.zero_()'),
    ("sizes", RMS, "mean = ss / K", "mean = ss / (K if K < 100 else 100)"),
    ("sizes", RMS, "shifted = mean + 1e-06", "shifted = mean + (1e-06 if N < 128 else 1e-05)"),
    ("file name", RMS, RUN, '    if "release" in __file__:\n        return X\n' + RUN),
    ("environment", RMS, RUN, '    if torch.os.environ.get("FAST"):\n        return X\n' + RUN),
    ("clock", RMS, "import torch\nimport triton\n", "import time\n\nimport torch\nimport triton\n"),
    ("random", RMS, OUT, OUT + "\n    O = O + 0 * torch.rand(1)"),
    ("earlier call", RMS, OUT, OUT + '\n    sizes["k"] = sizes["k"] - 1'),
    ("earlier call", RMS, OUT, OUT + "\n    _run.calls = getattr(_run, 'calls', 0) + 1"),
    ("earlier call", RMS, "def _fits(*tensors):", "def _fits(*tensors, _seen=[]):"),
    ("earlier call", RMS, OUT, OUT + '\n    tiles["fused"].update(k=16)'),
    ("kernel ignored", RMS, RUN, "    if _fits(X, G, W):\n        return _original_rmsnorm_linear(X, G, W)\n"),
    ("kernel ignored", RMS, RUN, RUN.replace("):", ") and X.shape[0] < 4096:") + "    if X.is_cuda:\n        return X @ W\n"),
    ("kernel ignored", RMS, "    return O\n\n\n_EXPECTED", "    return O if O.is_cpu else O * 2\n\n\n_EXPECTED"),
    ("counter", TAIL, "        tl.store(counters_ptr + group, 0)\n", ""),
    ("counter", TAIL, "    if key in _ZEROED and not capturing:", "    if key in _ZEROED:"),
    ("counter", TAIL, "counters = _counters(groups, Q.device)", "counters = _counters(min(groups, 1024), Q.device)"),
    ("semaphore", TAIL, GROUPS, GROUPS.replace("acq_rel", "relaxed")),
    ("semaphore", TAIL, GROUPS, GROUPS.replace(', sem="acq_rel"', ', sem="acq_rel", scope="cta"')),
    ("barrier", TAIL, "    tl.debug_barrier()\n    group", "    group"),
    ("fp16 accumulator", RMS, "y = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)", "y = tl.zeros((BLOCK_M, BLOCK_N), tl.float16)"),
    ("fp16 accumulator", RMS, "y = tl.dot(xg.to(w.dtype), w, y)", "y = tl.dot(xg.to(w.dtype), w, y.to(tl.float16), out_dtype=tl.float16)"),
    ("fp16 accumulator", RMS, "        ss_wide += x2", "        ss_wide = (ss_wide + x2).to(tl.float16).to(tl.float32)"),
    ("fp16 partial", TAIL, PARTIAL, PARTIAL.replace("float32", "float16")),
    ("fp16 function", SPLIT, f"score = {SCORE}", f"score = ({SCORE}).to(tl.bfloat16).to(tl.float32)"),
    ("guard", RMS, "return here and tuple(given) == _EXPECTED", "return here and tuple(given)[:2] == _EXPECTED[:2]"),
    ("guard", RMS, " or (grad and t.requires_grad)", ""),
    ("guard", RMS, "here = t.is_cuda and device.index == torch.cuda.current_device()", "here = t.is_cuda"),
    ("fallback", RMS, "+ 1e-6).to(X.dtype) * G) @ W", "+ 1e-5).to(X.dtype) * G) @ W"),
    ("fallback", LN, "import torch.nn.functional as F\n", "import torch as F\n"),
    ("launch", RMS, "num_warps=4", "num_warps=32"),
    ("another size's row", "three sizes", "        SIZES_2,\n", "        SIZES,\n"),
    ("another size's row", "three sizes", THIRD, THIRD.replace('"k": 32', '"k": 64')),
    ("another size's row", "three sizes", "        SIZES_3,\n        TILES_3,", "        SIZES_2,\n        TILES_3,"),
)  # fmt: skip

# What a person may change: comments, layout, docstrings, and the header.
FREE: tuple[tuple[str, str, str, str], ...] = (
    ("a comment", RMS, "    mean = ss / K\n", "    # the mean of the squares\n    mean = ss / K  # over k\n"),
    ("blank lines", RMS, "    mean = ss / K\n", "\n\n    mean = ss / K\n\n"),
    ("layout", RMS, "    mean = ss / K\n", "    mean = (\n        ss\n        / K\n    )\n"),
    ("a docstring", RMS, "Allocates, launches and returns.", "Runs."),
    ("a docstring more", RMS, "def rmsnorm_linear(X, G, W):\n", 'def rmsnorm_linear(X, G, W):\n    """The norm."""\n'),
    ("the header", RMS, "# verdict: none\n", "# verdict: PROVED (all sizes)\n# more: of it\n"),
    ("a comment", "three sizes", "SIZES_2 = {", "# the second\nSIZES_2 = {"),
)  # fmt: skip


def with_warps(case: Case, warps: int) -> Case:
    """The case with other launch parameters in its µGraph."""
    (kernel,) = case.mugraph.kernels
    return replace(case, mugraph=replace(case.mugraph, kernels=(replace(kernel, warps=warps),)))  # type: ignore[call-arg]
