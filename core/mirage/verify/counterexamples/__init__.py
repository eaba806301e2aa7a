"""Counterexamples in floats for rejected programs, and scripts that show them."""
