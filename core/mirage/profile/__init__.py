"""Costs of kernels: the roofline model, the compiler's figures, and tuning and timing on this machine's GPU."""
