"""Programs and µGraphs that tests and benchmarks share."""
