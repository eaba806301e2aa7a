"""What µGraphs and terms mean: denotation with sizes erased, and evaluation in an arithmetic, on the real schedule."""
