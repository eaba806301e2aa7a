"""Verification: opinions on the three links program = graph = µGraph = text, and the judge that combines them."""
