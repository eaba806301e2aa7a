"""The baselines: what a user could run without a kernel of ours, and the answer that each is where it is the fastest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Answer = Literal["kernel", "keep", "compile", "library"]
EAGER = "eager"


@dataclass(frozen=True)
class Baseline:
    """One way to run the user's own function. `words`: for people; `mode`: of torch.compile; `backend`: of PyTorch's fused
    attention, by its name in torch.nn.attention.SDPBackend."""

    answer: Literal["keep", "compile", "library"]
    words: str
    mode: str = ""
    backend: str = ""


def _compile(mode: str) -> Baseline:
    return Baseline("compile", f"torch.compile ({mode})", mode=mode)


def _attention(backend: str) -> Baseline:
    return Baseline("library", f"PyTorch's attention ({backend})", backend=backend)


BASELINES = {  # by their names among the measured times (`Measurement.peers`)
    EAGER: Baseline("keep", "the function as written"),
    "compile": _compile("default"),
    "compile_max": _compile("max-autotune-no-cudagraphs"),
    "sdpa_flash": _attention("FLASH_ATTENTION"),
    "sdpa_efficient": _attention("EFFICIENT_ATTENTION"),
    "sdpa_cudnn": _attention("CUDNN_ATTENTION"),
}
TRUSTED = "PyTorch's own: trusted, not verified"
