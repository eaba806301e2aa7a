"""Static reading of Python text with `ast` alone: decorated functions, their shapes, and the slice of the file that each needs.

Nothing here runs or imports user code, and nothing here imports torch or triton.
"""
