"""The emitted Triton module: its text, and the tools that interpret and compile it without a GPU."""
