"""The float opinion: emitted kernels in floating point, their error beside the function's own."""
