"""Edits, a file for each emitted module."""
