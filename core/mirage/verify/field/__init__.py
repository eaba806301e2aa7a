"""The field opinion: random evaluation in prime fields of terms, µGraphs and the emitted Triton text, with its error bound."""
