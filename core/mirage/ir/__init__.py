"""What every room knows: dtypes, tensors and their index, the tensor program, PyTorch's own calls in it, the narrowing of a search."""
