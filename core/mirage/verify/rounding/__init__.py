"""Rounding: rigorous bounds on the error of a kernel and of the function as written, on given inputs."""
