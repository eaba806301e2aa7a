"""What a traced text can ask, by the names of PyTorch's functions and properties: of which kind each question is, and what is
none."""

from __future__ import annotations

KINDS = {
    "contiguity": ("is_contiguous",),
    "strides": ("stride", "is_non_overlapping_and_dense", "is_contiguous in a format"),
    "device": ("device", "device.index", "is_cuda", "is_cpu", "is_meta", "is_xpu", "is_mps", "get_device", "is_pinned"),
    "gradient": ("requires_grad", "is_leaf", "grad", "grad_fn", "retains_grad", "is_inference", "output_nr"),
    "layout": ("layout", "is_sparse", "is_sparse_csr", "is_mkldnn", "is_quantized", "is_nested", "is_conj", "is_neg"),
    "memory": ("data_ptr", "storage_offset", "untyped_storage", "storage", "_version", "is_shared", "id", "is", "is_set_to",
               "_base", "_is_view"),
    "class": ("isinstance", "type", "__class__"),
    "attributes": ("attribute", "__dict__"),
    "exceptions": ("try",),
    "gradient mode": ("is_grad_enabled", "is_inference_mode_enabled"),
    "autocast": ("is_autocast_enabled", "is_autocast_cpu_enabled", "is_autocast_available", "get_autocast_dtype",
                 "get_autocast_gpu_dtype", "get_autocast_cpu_dtype", "is_autocast_cache_enabled"),
    "default dtype": ("get_default_dtype",),
}  # fmt: skip
KIND = {name: kind for kind, names in KINDS.items() for name in names}

# fixed by shapes and dtypes, or by PyTorch's rules about these
FIXED = {
    "dim", "ndim", "ndimension", "dtype", "element_size", "itemsize", "is_floating_point", "is_complex", "is_signed",
    "result_type", "promote_types", "can_cast", "broadcast_shapes", "is_tensor", "is_same_size", "__hash__", "is_storage",
    "has_names", "_has_compatible_shallow_copy_type",
}  # fmt: skip
SIZES = ("shape", "size", "numel", "nelement", "__len__", "nbytes")
SHAPING = {  # calls in which a number is a place or a length: the terms speak of it
    "__getitem__", "view", "reshape", "expand", "unflatten", "narrow", "split", "split_with_sizes", "chunk", "tensor_split",
    "repeat", "tile", "arange", "zeros", "ones", "empty", "new_zeros", "new_ones", "new_empty", "select", "unfold", "eye",
    "permute", "transpose", "movedim", "flatten", "unsqueeze", "squeeze", "flip", "roll", "size", "broadcast_to", "swapaxes",
    "index_select", "repeat_interleave", "pad", "normal", "linspace",
}  # fmt: skip
