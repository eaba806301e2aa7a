"""The independent checker of certificates: replays one with laws of its own; the standard library is all that it imports."""
