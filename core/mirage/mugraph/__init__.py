"""µGraphs: their grammar, validity rules, text, JSON and pictures, and the decisions that follow from them on a device."""
