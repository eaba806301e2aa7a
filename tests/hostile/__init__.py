"""Hostile pairs of functions, each confirmed by PyTorch itself: those that differ where a verifier may not look, and equal ones."""
