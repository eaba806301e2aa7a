"""What rooms, wire and cache pass on: progress, verdicts with their evidence, and the result of optimizing one function."""
