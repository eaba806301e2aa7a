"""The language server: thin, answers from what it has; the daemon does the work, reached through `mirage.link`."""
