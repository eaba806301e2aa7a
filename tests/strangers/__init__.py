"""Cases for the verifier by someone who has not read it: pairs of functions, kernels as people write them, edited modules."""
