"""Functions that ask something of their tensors or of PyTorch and take one of two branches; the other function has one alone."""

from __future__ import annotations

from hostile.pair import Pair

SQUARE = "x fp32 8 8, y fp32 8 8"
TRANSPOSED, PLAIN = "x = x.t()", ""
STRIDED = "x = torch.cat([x, x], 1)[:, ::2]"
SPREAD = "x = x[:1].expand(8, 8)"
OFFSET = "x = torch.cat([x, x])[8:]"
MISALIGNED = "x = torch.cat([x.flatten(), x.new_zeros(1)])[1:].reshape(8, 8)"
GRADIENT = "x.requires_grad_()"
NO_GRAD, GRAD, INFERENCE = "torch.no_grad()", "torch.enable_grad()", "torch.inference_mode()"
AUTOCAST = "torch.autocast('cpu', torch.bfloat16)"
DOUBLE = "calling('get_default_dtype', 'set_default_dtype', torch.float64)"
MEDIUM = "calling('get_float32_matmul_precision', 'set_float32_matmul_precision', 'medium')"
DETERMINISTIC = "calling('are_deterministic_algorithms_enabled', 'use_deterministic_algorithms', True)"
TF32 = "setting(torch.backends.cuda.matmul, 'allow_tf32', {})"
THREADS = "calling('get_num_threads', 'set_num_threads', {})"
ALWAYS = "nullcontext()"
Setting = tuple[str, str] | None  # the witness's code and the context manager

# What is asked, the condition, and where it holds and where it does not on a CPU (None where no input there shows it).
QUESTIONS: tuple[tuple[str, str, str, Setting, Setting], ...] = (
    ("contiguity", "contiguous", "x.is_contiguous()", (PLAIN, ALWAYS), (TRANSPOSED, ALWAYS)),
    ("contiguity_of_the_transposed", "contiguous", "x.t().is_contiguous()", (TRANSPOSED, ALWAYS), (PLAIN, ALWAYS)),
    ("contiguity_of_a_gap", "contiguous", "not x.is_contiguous()", (STRIDED, ALWAYS), (PLAIN, ALWAYS)),
    (
        "both_contiguous",
        "contiguous",
        "x.is_contiguous() and y.is_contiguous()",
        (PLAIN, ALWAYS),
        ("y = y.t()", ALWAYS),
    ),
    ("stride_of_rows", "stride", "x.stride(0) == 8", (PLAIN, ALWAYS), (STRIDED, ALWAYS)),
    ("stride_of_columns", "stride", "x.stride(1) == 1", (PLAIN, ALWAYS), (TRANSPOSED, ALWAYS)),
    ("strides_in_order", "stride", "x.stride()[0] > x.stride()[1]", (PLAIN, ALWAYS), (TRANSPOSED, ALWAYS)),
    ("stride_of_nothing", "stride", "0 in x.stride()", (SPREAD, ALWAYS), (PLAIN, ALWAYS)),
    ("strides_alike", "stride", "x.stride() == y.stride()", (PLAIN, ALWAYS), (TRANSPOSED, ALWAYS)),
    ("offset", "offset", "x.storage_offset() > 0", (OFFSET, ALWAYS), (PLAIN, ALWAYS)),
    ("storage_size", "storage", "x.untyped_storage().nbytes() > 256", (OFFSET, ALWAYS), (PLAIN, ALWAYS)),
    ("alignment", "address", "x.data_ptr() % 16 == 0", (PLAIN, ALWAYS), (MISALIGNED, ALWAYS)),
    ("one_storage", "alias", "x.data_ptr() == y.data_ptr()", ("y = x", ALWAYS), (PLAIN, ALWAYS)),
    ("one_object", "alias", "x is y", ("y = x", ALWAYS), (PLAIN, ALWAYS)),
    ("one_set_to", "alias", "x.is_set_to(y)", ("y = x", ALWAYS), (PLAIN, ALWAYS)),
    ("a_view", "view", "x._is_view()", (OFFSET, ALWAYS), (PLAIN, ALWAYS)),
    ("a_base", "view", "x._base is not None", (OFFSET, ALWAYS), (PLAIN, ALWAYS)),
    ("device_type", "device", "x.device.type == 'cuda'", None, (PLAIN, ALWAYS)),
    ("device_of_a_trace", "device", "x.device.type == 'meta'", None, (PLAIN, ALWAYS)),
    ("device_text", "device", "str(x.device) == 'cpu'", (PLAIN, ALWAYS), None),
    ("device_by_property", "device", "x.is_cuda", None, (PLAIN, ALWAYS)),
    ("device_of_the_host", "device", "x.is_cpu", (PLAIN, ALWAYS), None),
    ("device_meta", "device", "x.is_meta", None, (PLAIN, ALWAYS)),
    ("device_number", "device", "x.get_device() >= 0", None, (PLAIN, ALWAYS)),
    ("gradient_mode", "gradient", "torch.is_grad_enabled()", (PLAIN, GRAD), (PLAIN, NO_GRAD)),
    ("inference_mode", "inference", "torch.is_inference_mode_enabled()", (PLAIN, INFERENCE), (PLAIN, ALWAYS)),
    ("gradient_wanted", "gradient", "x.requires_grad", (GRADIENT, ALWAYS), (PLAIN, ALWAYS)),
    ("gradient_of_the_sum", "gradient", "(x + y).requires_grad", (GRADIENT, GRAD), (PLAIN, ALWAYS)),
    ("leaf", "gradient", "x.is_leaf", (PLAIN, ALWAYS), ("x = x.requires_grad_() * 1", ALWAYS)),
    ("gradient_function", "gradient", "x.grad_fn is None", (PLAIN, ALWAYS), ("x = x.requires_grad_() * 1", ALWAYS)),
    (
        "gradient_there",
        "gradient",
        "x.grad is not None",
        ("x.requires_grad_().sum().backward()", GRAD),
        (PLAIN, ALWAYS),
    ),
    (
        "inference_tensor",
        "inference",
        "x.is_inference()",
        ("with torch.inference_mode():\n    x = x * 1", ALWAYS),
        (PLAIN, ALWAYS),
    ),
    ("autocast", "autocast", "torch.is_autocast_enabled('cpu')", (PLAIN, AUTOCAST), (PLAIN, ALWAYS)),
    ("autocast_by_product", "autocast", "(x @ y).dtype == torch.bfloat16", (PLAIN, AUTOCAST), (PLAIN, ALWAYS)),
    ("default_dtype", "dtype", "torch.get_default_dtype() == torch.float64", (PLAIN, DOUBLE), (PLAIN, ALWAYS)),
    ("default_dtype_by_a_tensor", "dtype", "torch.ones(1).dtype == torch.float32", (PLAIN, ALWAYS), (PLAIN, DOUBLE)),
    (
        "matmul_precision",
        "precision",
        "torch.get_float32_matmul_precision() == 'medium'",
        (PLAIN, MEDIUM),
        (PLAIN, ALWAYS),
    ),
    ("tf32", "tf32", "torch.backends.cuda.matmul.allow_tf32", (PLAIN, TF32.format(True)), (PLAIN, TF32.format(False))),
    (
        "cudnn",
        "cudnn",
        "torch.backends.cudnn.enabled",
        (PLAIN, ALWAYS),
        (PLAIN, "setting(torch.backends.cudnn, 'enabled', False)"),
    ),
    (
        "deterministic",
        "deterministic",
        "torch.are_deterministic_algorithms_enabled()",
        (PLAIN, DETERMINISTIC),
        (PLAIN, ALWAYS),
    ),
    ("threads", "threads", "torch.get_num_threads() == 3", (PLAIN, THREADS.format(3)), (PLAIN, THREADS.format(1))),
    ("compiling", "compil", "torch.compiler.is_compiling()", None, (PLAIN, ALWAYS)),
    ("tracing", "trac", "torch.jit.is_tracing()", None, (PLAIN, ALWAYS)),
    ("class_of_the_tensor", "type", "type(x) is torch.Tensor", (PLAIN, ALWAYS), ("x = torch.nn.Parameter(x)", ALWAYS)),
    (
        "a_parameter",
        "type",
        "isinstance(x, torch.nn.Parameter)",
        ("x = torch.nn.Parameter(x)", ALWAYS),
        (PLAIN, ALWAYS),
    ),
    ("negated_lazily", "view", "x.is_neg()", ("x = torch._neg_view(x)", ALWAYS), (PLAIN, ALWAYS)),
    ("shared_memory", "storage", "x.is_shared()", ("x = x.share_memory_()", ALWAYS), (PLAIN, ALWAYS)),
    ("an_attribute", "attribute", "hasattr(x, 'scale')", ("x.scale = 3.0", ALWAYS), (PLAIN, ALWAYS)),
    ("seed", "seed", "torch.initial_seed() == 5", ("torch.manual_seed(5)", ALWAYS), ("torch.manual_seed(6)", ALWAYS)),
    ("version_counter", "version", "x._version == 0", ("x = x.clone()", ALWAYS), ("x.add_(1).sub_(1)", ALWAYS)),
)
BRANCHES = (
    ("x * 2 + y", "x * 3 + y"),
    ("x @ y", "x.t() @ y"),
    ("torch.exp(x) + y", "torch.log1p(x.abs()) + y"),
    ("F.relu(x - y)", "x - y"),
)
FORMS = (
    "if {q}:\n    return {a}\nreturn {b}",
    "return {a} if {q} else {b}",
    "c = {q}\nreturn ({b}, {a})[int(c)]",
)
# Sizes as numbers: at the declared shapes one branch alone is right.
SIZES = (
    ("rows_above", "if x.shape[0] > 8:\n    return x * 2\nreturn x * 3", "x * 2", "x * 3"),
    ("columns_by_128", "return x.exp() if x.size(-1) % 128 == 0 else x * 1.5", "x.exp()", "x * 1.5"),
    ("elements", "return x + 1 if x.numel() >= 2048 else x - 1", "x + 1", "x - 1"),
    ("mean_by_size", "return x.sum(-1) / x.shape[-1]", "x.sum(-1) / 128", "x.sum(-1) / 64"),
    ("scale_by_size", "return x * (1 / math.sqrt(x.shape[-1]))", "x * 128 ** -0.5", "x * 64 ** -0.5"),
    ("half_by_size", "return x[:, : x.shape[1] // 2].sum(-1)", "x[:, :64].sum(-1)", "x[:, :63].sum(-1)"),
    (
        "loop_by_size",
        "s = x[:, 0]\nfor i in range(1, x.shape[1] // 32):\n    s = s + x[:, i]\nreturn s",
        "x[:, :4].sum(-1)",
        "x[:, :3].sum(-1)",
    ),
    ("longer_than_rows", "return x.amax(-1) if x.shape[1] > len(x) else x.amin(-1)", "x.amax(-1)", "x.amin(-1)"),
)
SIZED = "x fp32 16 128"


def asked(index: int) -> list[Pair]:
    """The function that asks against its branch for yes, shown where the answer is no, and the other way round."""
    name, word, question, yes, no = QUESTIONS[index]
    then, other = BRANCHES[index % len(BRANCHES)]
    a = FORMS[index % len(FORMS)].format(q=question, a=then, b=other)
    found = []
    for label, b, place in (("yes_alone", then, no), ("no_alone", other, yes)):
        if place is not None:
            witness, under = place
            found.append(Pair(f"{name}_{label}", "trace", "differ", SQUARE, a, b, witness, under, word))
    return found


PAIRS: tuple[Pair, ...] = (
    *(pair for i in range(len(QUESTIONS)) for pair in asked(i)),
    *(Pair(f"{name}_wrong", "trace", "differ", SIZED, a, wrong) for name, a, _, wrong in SIZES),
)
EQUAL: tuple[Pair, ...] = tuple(
    Pair(f"{name}_right", "sizes as numbers", "equal", SIZED, a, right) for name, a, right, _ in SIZES
)
