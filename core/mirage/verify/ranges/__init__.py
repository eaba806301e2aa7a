"""The range opinion: up to which size of the inputs no intermediate overflows in its dtype."""
