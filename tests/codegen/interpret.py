"""Runs emitted modules in the interpreter, in a process of its own: requests on standard input, answers on standard
output, one pickled object each. `python interpret.py`"""

from __future__ import annotations

import os
import pickle
import sys
import traceback

os.environ["TRITON_INTERPRET"] = "1"


def run(request: dict) -> dict:
    import torch

    from mirage.codegen.interpreter import float_interpreter, load_module

    module = load_module(request["text"])
    tensors = []
    for array, dtype, grad in request["inputs"]:
        tensors.append(torch.tensor(array).to(getattr(torch, dtype)).requires_grad_(grad))
    with float_interpreter():
        if request["call"] == "_run":
            out = module._run(*tensors, **request["keywords"])
        else:
            called = []
            inner = module._run

            def counted(*args, **keywords):
                called.append(1)
                return inner(*args, **keywords)

            module._run = counted
            out = getattr(module, request["call"])(*tensors, **request["keywords"])
    outs = out if isinstance(out, tuple) else (out,)
    used = True if request["call"] == "_run" else bool(called)
    return {
        "out": [o.detach().double().numpy() for o in outs],
        "dtype": [str(o.dtype) for o in outs],
        "tuple": isinstance(out, tuple),
        "kernels": used,
    }


def main() -> None:
    answers = sys.stdout.buffer
    sys.stdout = sys.stderr
    while True:
        try:
            request = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answer = run(request)
        except BaseException as e:
            answer = {"error": "".join(traceback.format_exception(e))}
        pickle.dump(answer, answers)
        answers.flush()


if __name__ == "__main__":
    main()
