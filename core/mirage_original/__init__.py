"""The Python API of the original Mirage: its graph builder and `superoptimize`, with its names and signatures.

Scripts written for it run here on Triton. What differs, and why, is in docs/from-mirage.md.
"""
