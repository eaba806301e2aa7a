"""Semantics of µGraphs and terms: denotation with sizes erased, and evaluation in an arithmetic, on the real schedule."""
