"""Terms: what a tensor means, their laws and normal form, and their values in a finite field."""
