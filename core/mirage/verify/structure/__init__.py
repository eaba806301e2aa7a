"""What can be said of an emitted module by reading it: what it may contain, and whether our emitter would write it so."""
