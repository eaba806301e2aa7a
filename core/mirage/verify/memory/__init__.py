"""The memory opinion: every element written once, in bounds, before it is read; proved by z3 on maps and on text."""
