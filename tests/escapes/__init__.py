"""A corpus of attempts to get out of a worker, and the harness that says of each whether it did."""
