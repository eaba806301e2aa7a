"""The search: from the meaning of a program to candidate µGraphs, best first."""
