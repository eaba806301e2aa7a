"""The validity rules of µGraphs, as named functions in one table (`check.py`)."""
