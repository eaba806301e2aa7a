"""Ground types: dtypes, tensors and their index, the tensor program with PyTorch's own calls, JSON data, a search's narrowing."""
