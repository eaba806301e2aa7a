"""Tensor programs from the text of a slice: tracing on meta tensors, and the lowering to terms over named axes."""
