"""The backend `torch.compile(model, backend="mirage")`: a model's graphs cut into regions, each with a kernel of its own."""
