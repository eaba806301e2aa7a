"""The proof opinion: normal forms, laws of algebra applied where they match, and z3."""
