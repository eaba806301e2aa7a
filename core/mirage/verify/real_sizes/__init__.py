"""A module's text at its real sizes: every launch is evaluated for all its programs at once, in numpy, without Triton."""
