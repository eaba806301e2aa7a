"""Modules of PyTorch by someone who has not read the backend: random ones and nasty ones, each with calls that eager answers too."""
