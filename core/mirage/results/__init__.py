"""Data that rooms, wire and cache exchange: progress, verdicts with their evidence, and the result of optimizing one function."""
