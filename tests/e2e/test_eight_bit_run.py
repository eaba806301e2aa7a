"""Functions of 8-bit floats go the whole path, and their kernels with one thing wrong are rejected."""

from __future__ import annotations

import pytest
from searched_functions import SearchedFunctions, run

from mirage.errors import DtypeOfDevice, UnsupportedOperands
from mirage.pipeline.processes import Tools

E4, E5 = '"fp8e4m3"', '"fp8e5m2"'
X, W, V = '((16, 128), "fp16")', "((64, 128), {})", "((128, 64), {})"
FUNCTIONS = {  # name: (inputs, parameters, body)
    "linear": (f"{X}, {W.format(E4)}", "x, w", "return F.linear(x, w.to(x.dtype))"),
    "linear_bf16": (f'((16, 128), "bf16"), {W.format(E5)}', "x, w", "return F.linear(x, w.to(x.dtype))"),
    "linear_fp32": (f'((16, 128), "fp32"), {W.format(E4)}', "x, w", "return F.linear(x, w.to(x.dtype))"),
    "scaled": (f'{X}, {V.format(E5)}, ((64,), "fp16")', "x, w, s", "return (x @ w.to(torch.float16)) * s"),
    "normed": (f'{X}, ((128,), "fp16"), {W.format(E4)}', "x, g, w",
               "return F.linear(F.rms_norm(x, (128,), g, 1e-6), w.to(x.dtype))"),
    "both": (f"((16, 128), {E5}), {W.format(E4)}", "x, w", "return F.linear(x.to(torch.bfloat16), w.to(torch.bfloat16))"),
    "gated": (f"((64, 128), {E4}), ((64, 128), {E5})", "x, y",
              "return F.silu(x.to(torch.float32)) * y.to(torch.float32)"),
    "quantized": (f"{X}, {W.format(E4)}", "x, w", "return F.linear(x.to(torch.float8_e4m3fn).to(x.dtype), w.to(x.dtype))"),
    "rounded": ('((64, 128), "fp16")', "x", "return (2 * x).to(torch.float8_e4m3fn)"),
}  # fmt: skip


def text_of(inputs: str, parameters: str, body: str) -> str:
    decorator = f"@mirage.optimize(inputs=[{inputs}])"
    return f"import mirage\nimport torch\nimport torch.nn.functional as F\n\n\n{decorator}\ndef f({parameters}):\n    {body}\n"


@pytest.fixture(scope="module")
def found(tools: Tools) -> SearchedFunctions:
    return SearchedFunctions({name: text_of(*function) for name, function in FUNCTIONS.items()}, tools)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_they_get_a_kernel_that_is_verified_and_compiled(name: str, found: SearchedFunctions) -> None:
    result = found.of(name)
    assert result.answer == "kernel", (result.reason, result.notes)
    assert {x.name for x in result.verdict.links} == {"algebra", "schedule", "text"}
    evidence = result.verdict.evidence
    assert {"field", "memory", "float", "range"} <= {e.opinion for e in evidence}
    assert all(e.word != "REJECTED" for e in evidence)
    (rows,) = [e.details.regimes for e in evidence if e.opinion == "float"]
    assert ("every 8-bit number" in {r.regime for r in rows}) == (name != "rounded")
    assert {r.reference for r in rows} == {"eager"}
    assert all(k.registers and k.target == "sm_90" for k in result.kernels)
    assert not any("more precision than the rounding to fp8" in n for n in result.notes)


WRONG = [
    ("linear", "rounded to the other format", "w.to(x.dtype)", "w.to(tl.float8e5).to(x.dtype)"),
    ("linear", "read as the other format", "w.to(x.dtype)", "w.to(tl.float8e5, bitcast=True).to(x.dtype)"),
    ("linear", "the activations lose their precision", "tl.dot(x, ", "tl.dot(x.to(tl.float8e4nv).to(tl.float16), "),
    ("linear", "a product of 8-bit floats", "tl.dot(x, tl.trans(w.to(x.dtype))", "tl.dot(x.to(w.dtype), tl.trans(w)"),
    ("linear", "made for the other format", "((64, 128), torch.float8_e4m3fn)", "((64, 128), torch.float8_e5m2)"),
    ("scaled", "a scale that is rounded", "s[None, :]", "s.to(tl.float8e4nv).to(tl.float32)[None, :]"),
    ("scaled", "another scale", "s[None, :]", "(1.01 * s)[None, :]"),
    ("linear_bf16", "a sum in few bits", "acc_out.to(out_ptr", "acc_out.to(tl.float8e5).to(out_ptr"),
    ("quantized", "rounded to the other format", "tl.float8e4nv", "tl.float8e5"),
    ("rounded", "not doubled", "2.0 * ", "2.5 * "),
]


@pytest.mark.parametrize("name,what,old,new", WRONG, ids=[f"{w[0]}: {w[1]}" for w in WRONG])
def test_kernels_with_one_thing_wrong_are_rejected(
    name: str, what: str, old: str, new: str, found: SearchedFunctions
) -> None:
    assert found.judged(name, old, old).accepted
    verdict = found.judged(name, old, new)
    assert not verdict.accepted, what


def test_a_target_without_the_dtype_is_said(tools: Tools) -> None:
    with pytest.raises(DtypeOfDevice, match=r"sm_80 .* no float8_e4m3fn"):
        run(text_of(*FUNCTIONS["linear"]), tools, target="sm_80")
    other = text_of(f"{X}, {W.format(E5)}", "x, w", "return F.linear(x, w.to(x.dtype))")
    assert run(other, tools, target="sm_80").answer == "kernel"


REFUSED = [
    (f"((16, 128), {E4}), ((16, 128), {E4})", "x, y", "return x + y", "`add` computes in float8_e4m3fn"),
    (f"{X}, ((16, 128), {E4})", "x, y", "return x * y", "`mul` computes in float8_e4m3fn"),
    (X, "x", "return x.to(torch.float8_e5m2)", "rounds to float8_e5m2"),
    (f"((16, 128), {E5})", "x", "return x.t().contiguous()", "returns float8_e5m2"),
]


@pytest.mark.parametrize("inputs,parameters,body,said", REFUSED)
def test_what_pytorch_or_a_kernel_cannot_do_is_said(
    inputs: str, parameters: str, body: str, said: str, tools: Tools
) -> None:
    with pytest.raises(UnsupportedOperands, match=said) as caught:
        run(text_of(inputs, parameters, body), tools)
    assert caught.value.code == "MIR209"
